"""Corrections: applied through the journal, measured, and kept or undone."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import structs

from hindmost.commands.diagnose.document import Correction
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
) -> Correction:
    """Apply corrections, gentlest first, until one restores the percentile. Undo all others."""
    leader = result.decision.leader
    assert leader is not None
    arm = next(arm for arm in result.decision.arms if arm.name == leader)
    wanted = max(CAME_BACK * arm.effect.log, math.log(Gates().least_ratio))
    missing = Note("no-correction", "no permitted lasting change removes the cause", {"name": leader})
    correction = Correction(refused=[], kept=False, why=missing.text, why_note=missing.document())
    refused: list[str] = []
    for one in result.suspects.corrections.get(leader, [result.suspects.tried[leader]]):
        say(f"correcting: {one.description}")
        correction = _try_correction(session, windows, one, wanted, leader)
        correction = structs.replace(correction, about=one.description, refused=refused)
        if correction.kept:
            break
        refused = [*refused, one.description]
    return correction


def _try_correction(
    session: Session, windows: Windows, one: Intervention, wanted: float, leader: str
) -> Correction:
    """Apply a correction, and keep it if its effect is at least `wanted`."""
    failed = Note("correction-failed", "the percentile did not come back, so it was undone", {"name": leader})
    correction = Correction(kept=False, why=failed.text, why_note=failed.document())
    with session.journal(one):
        trial = Trial(one, session, windows, "correction")
        with contextlib.suppress(NoMoreRuns):
            for number in range(1, PAIRS + 1):
                trial.make(number)
        if trial.dropped is not None:
            return correction
        correction = structs.replace(
            correction, before_us=_mean(trial.there), after_us=_mean(trial.gone), measured=trial.pairs
        )
        if trial.effect.log < wanted or trial.effect.p > ALPHA:
            return correction
        session.keep(one)
    kept = Note("correction-kept", "the percentile came back", {"name": leader})
    return structs.replace(
        correction, kept=True, why=kept.text, why_note=kept.document(), undo="hindmost host knobs restore"
    )


def _mean(values: dict[int, float]) -> float:
    return math.exp(sum(map(math.log, values.values())) / len(values))
