"""A correction: applied through the journal, looked at, and kept or undone."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hindmost.notes import Note
from hindmost.stats.causes import Gates
from hindmost.studies.diagnosis.experiment import Trial
from hindmost.studies.pairs import GivenUp

if TYPE_CHECKING:
    from hindmost.interventions.changes import Intervention
    from hindmost.interventions.session import Session
    from hindmost.studies.diagnosis.asked import Found
    from hindmost.studies.diagnosis.windows import Windows

CAME_BACK = 0.5
"""Of what it did to take the cause away, on the logarithm: a correction that brings back less is undone."""
PAIRS = 8
"""With and without the correction, in turns: an anomaly may end by itself while one looks once."""
ALPHA = 0.05


def correct(session: Session, windows: Windows, found: Found, say: Callable[[str], None]) -> dict[str, Any]:
    """Apply corrections, the gentlest first, until one brings the percentile back; all others are undone."""
    leader = found.decision.leader
    assert leader is not None
    offered = found.suspects.corrections.get(leader, [found.suspects.tried[leader]])
    if not offered:
        none = Note(
            "no-correction", "nothing that may stay in force here removes the cause", {"name": leader}
        )
        return {"kept": False, **_why(none), "refused": []}
    arm = next(arm for arm in found.decision.arms if arm.name == leader)
    wanted = max(CAME_BACK * arm.effect.log, math.log(Gates().least_ratio))
    refused: list[str] = []
    said: dict[str, Any] = {}
    for one in offered:
        say(f"correcting: {one.about}")
        said = {"about": one.about, "refused": refused}
        if _tried(session, windows, one, wanted, said):
            kept = Note("correction-kept", "the percentile came back", {"name": leader})
            return {**said, "kept": True, **_why(kept), "undo": "hindmost host knobs restore"}
        refused = [*refused, one.about]
    failed = Note("correction-failed", "the percentile did not come back, so it was undone", {"name": leader})
    return {**said, "kept": False, **_why(failed)}


def _why(note: Note) -> dict[str, Any]:
    return {"why": note.text, "why_note": note.document()}


def _tried(
    session: Session, windows: Windows, one: Intervention, wanted: float, said: dict[str, Any]
) -> bool:
    with session.journal(one):
        trial = Trial(one, session, windows, "correction")
        with contextlib.suppress(GivenUp):
            for number in range(1, PAIRS + 1):
                trial.make(number)
        if trial.dropped is not None:
            return False
        said["before_us"], said["after_us"] = _mean(trial.there), _mean(trial.gone)
        said["measured"] = trial.measured
        if trial.effect.log < wanted or trial.effect.p > ALPHA:
            return False
        session.keep(one)
    return True


def _mean(values: dict[int, float]) -> float:
    return math.exp(sum(map(math.log, values.values())) / len(values))
