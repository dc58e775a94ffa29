"""What others took of the server's processors meanwhile: the hypervisor, other programs."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from hindmost import _engine
from hindmost.notes import Note
from hindmost.targets import cpu_affinity, process_tree
from hindmost.targets.cpus import format_cpus
from hindmost.trace.advice import is_ours, share_of

if TYPE_CHECKING:
    from hindmost.store.trace import CpuUseByOthers, OtherPrograms

WHOLE = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""All the time of a processor (proc(5), /proc/stat; guests' is in user's)."""
MOST_STOLEN = 0.01
"""Of the processors' time: from there on the hypervisor's other guests make a tail of their own."""
MOST_OTHERS = 0.05
"""Of the variance of latency."""


@dataclass(frozen=True, slots=True)
class Look:
    """The counters of some processors at one moment, in ticks of 10 ms: stolen, of all."""

    cpus: tuple[int, ...]
    stolen: int
    ticks: int

    @classmethod
    def at(cls, pid: int | None) -> Self:
        """Of those on which a process and its descendants may run; of all where that is not known."""
        all_of_them = json.loads(_engine.cpu_counters())["cpus"]
        cpus: set[int] = set()
        for one in [] if pid is None else process_tree(pid):
            with contextlib.suppress(OSError):  # it has ended
                cpus |= set(cpu_affinity(one))
        cpus = cpus or {one["cpu"] for one in all_of_them}
        mine = [one for one in all_of_them if one["cpu"] in cpus]
        return cls(
            tuple(sorted(cpus)),
            sum(one["steal"] for one in mine),
            sum(one[name] for one in mine for name in WHOLE),
        )

    def share_since(self, before: Look) -> float | None:
        """The stolen share; None where the processors are others now, or no tick has passed."""
        ticks = self.ticks - before.ticks
        return (self.stolen - before.stolen) / ticks if ticks > 0 and self.cpus == before.cpus else None


def taken_of(before: Look, after: Look, who: Mapping[str, Any] | None) -> CpuUseByOthers:
    """What a trace's document says of it.

    Parameters
    ----------
    who : dict or None
        Who held requests up, where that was followed; the trace's own thread is none of them.
    """
    others: OtherPrograms | None = None
    stolen = after.share_since(before)
    if who is not None:
        culprits = [
            one for one in who["culprits"] if one["who"]["relation"] == "other" and not is_ours(one["who"])
        ]
        others = {
            "mean_us": sum(one["mean_us"]["value"] or 0.0 for one in culprits),
            "share_of_variance": sum(map(share_of, culprits)),
        }
    return {
        "cpus": format_cpus(after.cpus),
        "hypervisor_share": stolen,
        "other_programs": others,
        "calm": not _reasons_of(stolen, others, format_cpus(after.cpus)),
    }


def _reasons_of(stolen: float | None, others: OtherPrograms | None, cpus: str) -> list[str]:
    """Name the interference that is too great to ignore."""
    why = []
    if stolen is not None and stolen >= MOST_STOLEN:
        why.append(f"the hypervisor used {stolen:.1%} of CPUs {cpus}")
    if others is not None and others["share_of_variance"] >= MOST_OTHERS:
        why.append(f"other programs cause {others['share_of_variance']:.0%} of the variance")
    return why


def not_calm(taken: CpuUseByOthers) -> list[Note]:
    """Report interference on the server's CPUs."""
    stolen, others = taken["hypervisor_share"], taken["other_programs"]
    why = _reasons_of(stolen, others, taken["cpus"])
    if not why:
        return []
    return [
        Note(
            "host-interference",
            f"Interference: {', and '.join(why)}. On a quiet machine the server's own shares are greater.",
            {
                "cpus": taken["cpus"],
                "hypervisor_share": stolen,
                "other_programs_share": None if others is None else others["share_of_variance"],
            },
        )
    ]
