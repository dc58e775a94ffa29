"""CPU interference: how much CPU time others used, and whether that explains late sends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hindmost.core.run import instrument, limits
from hindmost.core.run.instrument import Neighbour
from hindmost.core.run.text import join_names, percent
from hindmost.core.run.verdict.reason import Evidence


@dataclass(frozen=True, slots=True)
class CpuInterference:
    """Interference on the busiest CPU in use, averaged over runs.

    ``hypervisor`` and ``programs`` are fractions of wall time; ``quota``: fraction of cgroup quota periods in
    which a client was throttled. ``top``: the process or kernel thread with the largest share.
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
        """The sources and their shares in words, the largest first; empty if none exceeds its limit."""
        process = f" ({self.top.name}, pid {self.top.pid})" if self.top else ""
        others = "kernel threads" if self.top and self.top.kernel else "other processes"
        parts = [
            (self.hypervisor, f"the hypervisor used {percent(self.hypervisor)}"),
            (self.programs, f"{others}{process} used {percent(self.programs)}"),
        ]
        named = [text for share, text in sorted(parts, reverse=True) if share > limits.STEAL_MIND]
        text = f"{join_names(named)} of a CPU in use" if named else ""
        if self.quota > limits.THROTTLED_MIND:
            stops = f"a CPU quota throttled clients in {percent(self.quota)} of its periods"
            text = f"{text}; {stops}" if text else stops
        return text

    def values(self) -> dict[str, Any]:
        """Return the same as values of a message."""
        values: dict[str, Any] = {
            "hypervisor": self.hypervisor,
            "programs": self.programs,
            "quota": self.quota,
        }
        return values | ({"name": self.top.name, "pid": self.top.pid} if self.top else {})


def measure_interference(e: Evidence, *, whole: bool = True) -> CpuInterference:
    """Measure interference in all runs, or, if not `whole`, only in the runs that count."""
    runs = (e.made or e.runs) if whole else e.runs
    others = [other for other in instrument.list_neighbours(runs) if not (other.server or other.tracer)]
    return CpuInterference(
        instrument.mean_over_runs(runs, instrument.steal_share) or 0.0,
        instrument.mean_over_runs(runs, instrument.interference_share) or 0.0,
        instrument.mean_over_runs(runs, instrument.throttled_share) or 0.0,
        others[0] if others else None,
    )


def explains_late_sends(e: Evidence, name: str) -> bool:
    """Whether late sends at a quantile come from interference rather than from an overloaded client.

    If interruptions were observed, requests without interference decide: if these are late too, the client is
    the cause. Otherwise the kernel's counters decide: a client that is not busy, and interference that
    reaches the quantile, or other runs excluded for interference.
    """
    if e.partition is not None and not e.partition.any_counts:
        return True
    estimates = [run.isolated for run in e.runs if run.isolated is not None and run.isolated.refused is None]
    if any(isolated.interruptions for isolated in estimates):
        return 2 * sum(name in isolated.late for isolated in estimates) <= len(estimates)
    level = e.plan.quantiles[e.plan.labels.index(name)]
    disturbed = e.partition is not None and len(e.partition.excluded) > 0
    return _idle(e) and (
        disturbed or measure_interference(e, whole=False).most > limits.TAIL_MIND * (1.0 - level)
    )


def explains_gaps(e: Evidence) -> bool:
    """Whether gaps between sends deviate because of interference."""
    if e.partition is not None and not e.partition.any_counts:
        return True
    return _idle(e) and measure_interference(e, whole=False).most > limits.STEAL_INCONCLUSIVE


def _idle(e: Evidence) -> bool:
    """Whether clients spun and were not busy: then they did not cause their lateness."""
    busy = max(client.busy_share for run in e.runs for client in run.clients)
    return busy <= limits.BUSY_MIND and e.plan.pacing == "spin"
