"""How much CPU time interference took, from the host's counters and from spinning, never from the measured result."""

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
    """CPU time of a process, including its children that have exited."""

    parent: int
    cpu_s: float


@dataclass(frozen=True)
class Reading:
    """All counters at one moment; `pressure_s` is None where the kernel does not report it."""

    at_s: float
    steal_s: dict[int, float]
    processes: dict[int, Process]
    pressure_s: float | None
    switches: int


@dataclass(frozen=True)
class HostActivity:
    """What the host did between two readings, as shares of the time between them.

    Attributes
    ----------
    steal
        The largest steal time of the CPUs in use.
    foreign
        CPU seconds per second of all processes that are neither this one nor its descendants.
    pressure
        Share of the time in which a task waited for a CPU (PSI, ``some``); None where the kernel does not report it.
    switches
        Involuntary context switches per second of our children that have exited. This and `pressure` are reported but
        exclude no attempt: the claims' own programs cause most of both.
    gaps
        Share of the time that a spinning thread lost, on the worse of the CPUs: to interrupts, to other processes, and
        to the hypervisor, whether or not steal time counts it. None while an attempt uses the CPUs.
    """

    seconds: float
    steal: float
    foreign: float
    pressure: float | None
    switches: float
    gaps: float | None = None

    def disturbances(self, max_interference: float = limits.MAX_INTERFERENCE) -> list[str]:
        """Describe everything above the tolerated share; empty on a quiet host."""
        allowed = max_interference + limits.COUNTED_TICKS * TICK_S / self.seconds
        excesses = []
        if self.steal + self.foreign > allowed:
            excesses.append(
                f"steal {self.steal:.1%} and other processes {self.foreign:.1%} > {max_interference:.0%}"
            )
        if self.gaps is not None and self.gaps > max_interference + limits.OWN_GAPS:
            excesses.append(f"gaps of a spin {self.gaps:.1%} > {max_interference + limits.OWN_GAPS:.0%}")
        return excesses

    def record(self) -> dict[str, float | None]:
        """Round the values for the history."""
        return {name: None if v is None else round(v, 5) for name, v in asdict(self).items()}


def spin(seconds: float) -> float:
    """Spin on the CPUs in use, and return the share of the time that the worse of them lost."""
    floors = json.loads(_engine.doctor("/", seconds))["noise"]["floors"]
    return max((float(floor["gaps"]["stolen_share"]) for floor in floors), default=0.0)


def read() -> Reading:
    """Read all counters; this takes two milliseconds of CPU time."""
    steal = {cpu["cpu"]: cpu["steal"] * TICK_S for cpu in json.loads(_engine.cpu_counters())["cpus"]}
    switches = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nivcsw
    return Reading(time.monotonic(), steal, read_processes(), read_pressure(), switches)


def read_pressure() -> float | None:
    """Seconds since boot in which a task waited for a CPU."""
    try:
        some = Path("/proc/pressure/cpu").read_text().splitlines()[0]
    except OSError:
        return None
    return int(some.rpartition("total=")[2]) / 1e6


def read_processes() -> dict[int, Process]:
    """Read the CPU time of every process."""
    processes = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208 (half the system calls of Path.iterdir)
        if entry.isdigit():
            with contextlib.suppress(OSError, ValueError):
                # After the last ')' state and parent; times are fields 14 to 17 (proc(5)).
                fields = Path(f"/proc/{entry}/stat").read_bytes().rpartition(b")")[2].split()
                processes[int(entry)] = Process(int(fields[1]), sum(map(int, fields[11:15])) * TICK_S)
    return processes


def descendants(processes: dict[int, Process], root: int) -> set[int]:
    """`root` and all its descendants."""
    own = {root}
    size = 0
    while len(own) > size:
        size = len(own)
        own |= {pid for pid, process in processes.items() if process.parent in own}
    return own


def compare(before: Reading, after: Reading, cpus: Iterable[int], root: int) -> HostActivity:
    """What the host did between two readings: steal time on `cpus`, everything else on any CPU.

    The CPU time of a foreign process that exited in between is added to its parent's, so only sums are meaningful.
    """
    seconds = max(after.at_s - before.at_s, 1e-9)
    own = descendants(before.processes, root) | descendants(after.processes, root)
    foreign = foreign_s(after, own) - foreign_s(before, own)
    steal = [after.steal_s.get(cpu, 0.0) - before.steal_s.get(cpu, 0.0) for cpu in cpus]
    pressure = None
    if before.pressure_s is not None and after.pressure_s is not None:
        pressure = (after.pressure_s - before.pressure_s) / seconds
    switches = (after.switches - before.switches) / seconds
    return HostActivity(
        seconds, max(steal, default=0.0) / seconds, max(0.0, foreign) / seconds, pressure, switches
    )


def foreign_s(reading: Reading, own: set[int]) -> float:
    """CPU time so far of all processes outside `own`, kernel threads included."""
    return sum(process.cpu_s for pid, process in reading.processes.items() if pid not in own)
