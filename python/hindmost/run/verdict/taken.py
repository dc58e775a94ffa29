"""CPU interference: how much CPU time others took, and whether that explains late sends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hindmost.run import instrument, limits
from hindmost.run.instrument import Neighbour
from hindmost.run.text import listed, percent
from hindmost.run.verdict.reason import Evidence


@dataclass(frozen=True, slots=True)
class Taken:
    """Interference on the busiest CPU in use, averaged over runs.

    ``hypervisor`` and ``programs`` are fractions of wall time; ``quota``: fraction of cgroup quota periods in
    which a client was stopped. ``top``: the process or kernel thread that took most.
    """

    hypervisor: float
    programs: float
    quota: float
    top: Neighbour | None = None

    @property
    def most(self) -> float:
        """The larger of both shares of wall time."""
        return max(self.hypervisor, self.programs)

    @property
    def text(self) -> str:
        """Who used how much, the largest first; empty where nothing exceeds its limit."""
        who = f" ({self.top.name}, pid {self.top.pid})" if self.top else ""
        others = "kernel threads" if self.top and self.top.kernel else "other processes"
        parts = [
            (self.hypervisor, f"the hypervisor used {percent(self.hypervisor)}"),
            (self.programs, f"{others}{who} used {percent(self.programs)}"),
        ]
        found = [text for share, text in sorted(parts, reverse=True) if share > limits.STEAL_MIND]
        text = f"{listed(found)} of a CPU in use" if found else ""
        if self.quota > limits.THROTTLED_MIND:
            stops = f"a CPU quota stopped clients in {percent(self.quota)} of its periods"
            text = f"{text}; {stops}" if text else stops
        return text

    def values(self) -> dict[str, Any]:
        """The same for programs."""
        found: dict[str, Any] = {
            "hypervisor": self.hypervisor,
            "programs": self.programs,
            "quota": self.quota,
        }
        return found | ({"name": self.top.name, "pid": self.top.pid} if self.top else {})


def taken(e: Evidence, *, whole: bool = True) -> Taken:
    """Measure interference in all runs that were made, or (not `whole`) in the runs that count."""
    runs = (e.made or e.runs) if whole else e.runs
    others = [one for one in instrument.list_neighbours(runs) if not (one.server or one.tracer)]
    return Taken(
        instrument.mean_over_runs(runs, instrument.steal_share) or 0.0,
        instrument.mean_over_runs(runs, instrument.interference_share) or 0.0,
        instrument.mean_over_runs(runs, instrument.throttled_share) or 0.0,
        others[0] if others else None,
    )


def explains(e: Evidence, name: str) -> bool:
    """Whether late sends at a quantile come from interference rather than from an overloaded client.

    Where interruptions were seen, undisturbed requests decide: what is late there, too, is the client's own
    doing. Elsewhere the kernel's counters decide: a client that is not busy, and as much interference as
    reaches the quantile, or other runs excluded for interference.
    """
    if e.parted is not None and not e.parted.believed:
        return True
    seen = [run.calm for run in e.runs if run.calm is not None and run.calm.refused is None]
    if any(one.thefts for one in seen):
        return 2 * sum(name in one.late for one in seen) <= len(seen)
    level = e.plan.quantiles[e.plan.labels.index(name)]
    disturbed = e.parted is not None and len(e.parted.aside) > 0
    return _idle(e) and (disturbed or taken(e, whole=False).most > limits.TAIL_MIND * (1.0 - level))


def bends(e: Evidence) -> bool:
    """Whether gaps between sends deviate because of interference."""
    if e.parted is not None and not e.parted.believed:
        return True
    return _idle(e) and taken(e, whole=False).most > limits.STEAL_INCONCLUSIVE


def _idle(e: Evidence) -> bool:
    """Whether clients spun and had time to spare: then they were not late by themselves."""
    busy = max(one.busy_share for run in e.runs for one in run.instances)
    return busy <= limits.BUSY_MIND and e.plan.pacing == "spin"
