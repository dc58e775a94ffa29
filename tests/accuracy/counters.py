"""What the host took while something was done: by its counters, and by spinning; never by anything that was measured."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from hindmost import _engine
from tests.accuracy import limits

TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Process:
    """CPU time of a process with all its ended children."""

    parent: int
    cpu_s: float


@dataclass(frozen=True)
class Reading:
    """All counters at one moment; `pressure_s` is None where the kernel keeps none."""

    at_s: float
    steal_s: dict[int, float]
    processes: dict[int, Process]
    pressure_s: float | None
    switches: int


@dataclass(frozen=True)
class Isolated:
    """What happened between two readings, as shares of the time between them.

    Attributes
    ----------
    steal
        The largest of the processors in use.
    foreign
        CPU seconds a second of all processes that are neither ours nor descend from us.
    pressure
        Share of the time in which somebody waited for a processor (PSI, ``some``); None where the kernel does not say.
    switches
        Involuntary context switches of our ended children a second. This and pressure are told and not judged: the
        claims' own programs, which start and end beside spinning ones, make most of both.
    gaps
        Share of the time that a thread missed that only spun, on the worse of the processors: interrupts, others, and
        the hypervisor, whether or not it counts what it takes. None while an attempt has the processors.
    """

    seconds: float
    steal: float
    foreign: float
    pressure: float | None
    switches: float
    gaps: float | None = None

    def disturbances(self, bears: float = limits.BEARS) -> list[str]:
        """What is beyond the share that may be taken; nothing on a calm host."""
        allowed = bears + limits.COUNTED_TICKS * TICK_S / self.seconds
        beyond = []
        if self.steal + self.foreign > allowed:
            beyond.append(f"steal {self.steal:.1%} and others {self.foreign:.1%} > {bears:.0%}")
        if self.gaps is not None and self.gaps > bears + limits.OWN_GAPS:
            beyond.append(f"gaps of a spin {self.gaps:.1%} > {bears + limits.OWN_GAPS:.0%}")
        return beyond

    def record(self) -> dict[str, float | None]:
        """For the history."""
        return {name: None if v is None else round(v, 5) for name, v in asdict(self).items()}


def spin(seconds: float) -> float:
    """Spin on the processors in use, and give the share of the time that the worse of them missed."""
    floors = json.loads(_engine.doctor("/", seconds))["noise"]["floors"]
    return max((float(one["gaps"]["stolen_share"]) for one in floors), default=0.0)


def read() -> Reading:
    """All counters now; two milliseconds of work."""
    steal = {one["cpu"]: one["steal"] * TICK_S for one in json.loads(_engine.cpu_counters())["cpus"]}
    switches = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nivcsw
    return Reading(time.monotonic(), steal, processes(), pressure(), switches)


def pressure() -> float | None:
    """Seconds since the start of the host in which somebody waited for a processor."""
    try:
        some = Path("/proc/pressure/cpu").read_text().splitlines()[0]
    except OSError:
        return None
    return int(some.rpartition("total=")[2]) / 1e6


def processes() -> dict[int, Process]:
    """Every process there is."""
    found = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208 (half the system calls of Path.iterdir)
        if entry.isdigit():
            with contextlib.suppress(OSError, ValueError):
                # After the last ')' state and parent; times are fields 14 to 17 (proc(5)).
                fields = Path(f"/proc/{entry}/stat").read_bytes().rpartition(b")")[2].split()
                found[int(entry)] = Process(int(fields[1]), sum(map(int, fields[11:15])) * TICK_S)
    return found


def ours(found: dict[int, Process], root: int) -> set[int]:
    """`root` and all that descends from it."""
    own = {root}
    size = 0
    while len(own) > size:
        size = len(own)
        own |= {pid for pid, one in found.items() if one.parent in own}
    return own


def between(before: Reading, after: Reading, cpus: Iterable[int], root: int) -> Isolated:
    """What the host did from one reading to the next; steal on the processors `cpus`, all else anywhere.

    A foreign process that ended in between is found in its parent's time, so only sums over all of them say something.
    """
    seconds = max(after.at_s - before.at_s, 1e-9)
    own = ours(before.processes, root) | ours(after.processes, root)
    foreign = foreign_s(after, own) - foreign_s(before, own)
    steal = [after.steal_s.get(cpu, 0.0) - before.steal_s.get(cpu, 0.0) for cpu in cpus]
    waited = None
    if before.pressure_s is not None and after.pressure_s is not None:
        waited = (after.pressure_s - before.pressure_s) / seconds
    switches = (after.switches - before.switches) / seconds
    return Isolated(seconds, max(steal, default=0.0) / seconds, max(0.0, foreign) / seconds, waited, switches)


def foreign_s(reading: Reading, own: set[int]) -> float:
    """CPU time of all others so far, the kernel's threads among them."""
    return sum(one.cpu_s for pid, one in reading.processes.items() if pid not in own)
