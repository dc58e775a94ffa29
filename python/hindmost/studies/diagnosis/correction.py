"""A correction: applied through the journal, looked at, and kept or undone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hindmost.stats.causes import Gates
from hindmost.studies.diagnosis.interventions import Gone, Intervention

if TYPE_CHECKING:
    from hindmost.studies.diagnosis.held import Surgeon
    from hindmost.studies.diagnosis.procedure import Found
    from hindmost.studies.diagnosis.windows import Windows

CAME_BACK = 0.5
"""Of what it did to take the cause away, on the logarithm: a correction that brings back less is undone."""
WINDOWS = 8
"""Before, and after: an anomaly may have ended by itself while the cause was looked for."""


def correct(surgeon: Surgeon, windows: Windows, found: Found, say: Callable[[str], None]) -> dict[str, Any]:
    """Apply corrections, the gentlest first, until one brings the percentile back; all others are undone."""
    leader = found.decision.leader
    assert leader is not None
    offered = found.suspects.corrections.get(leader, [found.suspects.tried[leader]])
    if not offered:
        return {"kept": False, "why": "nothing that may stay in force here takes it away", "refused": []}
    arm = next(arm for arm in found.decision.arms if arm.name == leader)
    wanted = max(CAME_BACK * arm.effect.log, math.log(Gates().least_ratio))
    refused: list[str] = []
    said: dict[str, Any] = {}
    for one in offered:
        say(f"correcting: {one.about}")
        said = {"about": one.about, "before_us": _mean(windows), "refused": refused}
        kept = _tried(surgeon, windows, one, wanted, said)
        if kept:
            return {**said, "kept": True, "why": "the percentile came back", "undo": "hindmost knobs restore"}
        refused = [*refused, one.about]
    return {**said, "kept": False, "why": "the percentile did not come back: it was undone"}


def _tried(
    surgeon: Surgeon, windows: Windows, one: Intervention, wanted: float, said: dict[str, Any]
) -> bool:
    undo = one.undo
    with surgeon.holding(one):
        try:
            one.remove()
            said["after_us"] = _mean(windows)
            if math.log(said["before_us"] / said["after_us"]) < wanted or not one.arrived():
                one.give_back()
                return False
        except (Gone, OSError):
            one.give_back()
            return False
        surgeon.keep(one, undo)
    # The undo of `holding` has just put it back; once more, for good.
    one.remove()
    return True


def _mean(windows: Windows) -> float:
    return math.exp(sum(math.log(windows.measure()) for _ in range(WINDOWS)) / WINDOWS)
