"""Corrections: applied through the journal, measured, and kept or undone."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hindmost.commands.diagnose.experiment import Trial
from hindmost.core.notes import Note
from hindmost.core.study.pairs import NoMoreRuns
from hindmost.stats.causes import Gates

if TYPE_CHECKING:
    from hindmost.commands.diagnose.request import DiagnosisResult
    from hindmost.commands.diagnose.windows import Windows
    from hindmost.core.interventions.changes import Intervention
    from hindmost.core.interventions.session import Session

CAME_BACK = 0.5
"""Smallest share of the removal's effect (in log latency) that a correction must have to be kept."""
PAIRS = 8
"""Pairs with and without the correction, alternating: a single look cannot tell it from an anomaly that
ends."""
ALPHA = 0.05


def correct(
    session: Session, windows: Windows, result: DiagnosisResult, say: Callable[[str], None]
) -> dict[str, Any]:
    """Apply corrections, gentlest first, until one restores the percentile. Undo all others."""
    leader = result.decision.leader
    assert leader is not None
    offered = result.suspects.corrections.get(leader, [result.suspects.tried[leader]])
    if not offered:
        missing = Note("no-correction", "no permitted lasting change removes the cause", {"name": leader})
        return {"kept": False, **_why(missing), "refused": []}
    arm = next(arm for arm in result.decision.arms if arm.name == leader)
    wanted = max(CAME_BACK * arm.effect.log, math.log(Gates().least_ratio))
    refused: list[str] = []
    summary: dict[str, Any] = {}
    for one in offered:
        say(f"correcting: {one.description}")
        summary = {"about": one.description, "refused": refused}
        if _try_correction(session, windows, one, wanted, summary):
            kept = Note("correction-kept", "the percentile came back", {"name": leader})
            return {**summary, "kept": True, **_why(kept), "undo": "hindmost host knobs restore"}
        refused = [*refused, one.description]
    failed = Note("correction-failed", "the percentile did not come back, so it was undone", {"name": leader})
    return {**summary, "kept": False, **_why(failed)}


def _why(note: Note) -> dict[str, Any]:
    return {"why": note.text, "why_note": note.document()}


def _try_correction(
    session: Session, windows: Windows, one: Intervention, wanted: float, summary: dict[str, Any]
) -> bool:
    """Apply a correction, and keep it if its effect is at least `wanted`. Return whether it was kept."""
    with session.journal(one):
        trial = Trial(one, session, windows, "correction")
        with contextlib.suppress(NoMoreRuns):
            for number in range(1, PAIRS + 1):
                trial.make(number)
        if trial.dropped is not None:
            return False
        summary["before_us"], summary["after_us"] = _mean(trial.there), _mean(trial.gone)
        summary["measured"] = trial.pairs
        if trial.effect.log < wanted or trial.effect.p > ALPHA:
            return False
        session.keep(one)
    return True


def _mean(values: dict[int, float]) -> float:
    return math.exp(sum(map(math.log, values.values())) / len(values))
