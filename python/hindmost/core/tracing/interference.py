"""Interference on the server's CPUs during a trace: from the hypervisor and from other programs."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from typing import Self

from hindmost import _engine
from hindmost.core.notes import Note
from hindmost.core.targets import cpu_affinity, process_tree
from hindmost.core.targets.cpus import format_cpus
from hindmost.core.tracing.advice import is_ours, share_of
from hindmost.core.tracing.document import CpuUseByOthers, DelaySources, OtherPrograms

WHOLE = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""Fields that sum to all time of a CPU (proc(5), /proc/stat; guest time is part of user)."""
MOST_STOLEN = 0.01
"""Share of CPU time used by the hypervisor from which it affects the tail."""
MOST_OTHERS = 0.05
"""Share of the variance of latency caused by other programs from which it is reported."""


@dataclass(frozen=True, slots=True)
class CpuCounters:
    """Counters of some CPUs at one moment, in ticks of 10 ms: stolen time, and all time."""

    cpus: tuple[int, ...]
    stolen: int
    ticks: int

    @classmethod
    def read(cls, pid: int | None) -> Self:
        """Read the CPUs on which a process and its descendants may run; all CPUs if these are unknown."""
        every = json.loads(_engine.cpu_counters())["cpus"]
        cpus: set[int] = set()
        for one in [] if pid is None else process_tree(pid):
            with contextlib.suppress(OSError):  # it has ended
                cpus |= set(cpu_affinity(one))
        cpus = cpus or {one["cpu"] for one in every}
        mine = [one for one in every if one["cpu"] in cpus]
        return cls(
            tuple(sorted(cpus)),
            sum(one["steal"] for one in mine),
            sum(one[name] for one in mine for name in WHOLE),
        )

    def share_since(self, before: CpuCounters) -> float | None:
        """Return the stolen share of time since `before`; None if the CPUs changed or no tick has passed."""
        ticks = self.ticks - before.ticks
        return (self.stolen - before.stolen) / ticks if ticks > 0 and self.cpus == before.cpus else None


def summarize_interference(
    before: CpuCounters, after: CpuCounters, who: DelaySources | None
) -> CpuUseByOthers:
    """Summarise the interference; the trace's own thread is left out."""
    others = None
    stolen = after.share_since(before)
    if who is not None:
        culprits = [one for one in who.culprits if one.who.relation == "other" and not is_ours(one.who)]
        others = OtherPrograms(
            mean_us=sum(one.mean_us.value for one in culprits),
            share_of_variance=sum(map(share_of, culprits)),
        )
    return CpuUseByOthers(
        cpus=format_cpus(after.cpus),
        hypervisor_share=stolen,
        other_programs=others,
        isolated=not _describe_interference(stolen, others, format_cpus(after.cpus)),
    )


def _describe_interference(stolen: float | None, others: OtherPrograms | None, cpus: str) -> list[str]:
    """Describe the interference that is too large to ignore."""
    why = []
    if stolen is not None and stolen >= MOST_STOLEN:
        why.append(f"the hypervisor used {stolen:.1%} of CPUs {cpus}")
    if others is not None and others.share_of_variance >= MOST_OTHERS:
        why.append(f"other programs cause {others.share_of_variance:.0%} of the variance")
    return why


def interference_notes(taken: CpuUseByOthers | None) -> list[Note]:
    """Return a note on interference on the server's CPUs, if it is too large to ignore."""
    if taken is None or taken.isolated:
        return []
    stolen, others = taken.hypervisor_share, taken.other_programs
    why = _describe_interference(stolen, others, taken.cpus)
    return [
        Note(
            "host-interference",
            f"Interference: {', and '.join(why)}. On a quiet machine the server's own shares are larger.",
            {
                "cpus": taken.cpus,
                "hypervisor_share": stolen,
                "other_programs_share": None if others is None else others.share_of_variance,
            },
        )
    ]
