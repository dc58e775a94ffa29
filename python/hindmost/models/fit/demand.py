"""What a request asks of its thread, told from what the host took while it was served.

Wall time mixes the program with its neighbours: of one search engine here the wall p99 was 8.6 ms and the CPU
p99 0.7 ms (research note, finding 7). Where the log has CPU times, and they are long enough for the CPU
clock, the demand is CPU time plus what every request spends off it; the rest, now and then, is a disturbance
by the clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from hindmost.errors import Inconclusive
from hindmost.models.fit.bins import Floats
from hindmost.models.fit.reading import Log
from hindmost.notes import Note

LEAST_CPU_US = 20.0
"""Median below which CPU time is not trusted: two reads of the CPU clock cost up to 3 us (research note,
finding 8), unless the log took them off, which it cannot say."""

COARSE = 0.02
"""A clock whose steps are more than this share of the median tells little of the shape."""

ROUNDING_US = 2.0
"""What wall and CPU clock may differ by without anything having happened."""

CONTAMINATED = 1.25
"""Ratio of the wall p99 to the CPU p99 above which a fit to wall times would be one to the neighbours."""

LOST = 0.5
"""Share of the CPU below which the log is one of the neighbours, and is refused."""


@dataclass(frozen=True)
class Demand:
    """Service times without disturbances, and what was taken away.

    Parameters
    ----------
    us : array of shape (n,)
        Demand of each request.
    of : str
        What it was taken from: ``cpu`` or ``wall``.
    excess_us : array of shape (n,), optional
        Wall time less demand, 0 where they agree; None where there is no CPU time to tell.
    cpu_share : float or None
        CPU time over wall time of all requests.
    wall_over_cpu : float or None
        Ratio of their p99.
    notes : tuple of Note
        What the choice leaves unknown.
    """

    us: Floats = field(repr=False)
    of: Literal["cpu", "wall"]
    excess_us: Floats | None = field(default=None, repr=False)
    cpu_share: float | None = None
    wall_over_cpu: float | None = None
    notes: tuple[Note, ...] = ()

    @property
    def contaminated(self) -> bool:
        """Whether neighbours are in the tail of the wall times."""
        return self.wall_over_cpu is not None and self.wall_over_cpu > CONTAMINATED


def demand(log: Log, of: Literal["auto", "cpu", "wall"] = "auto") -> Demand:
    """Split wall time in demand and disturbance.

    Parameters
    ----------
    log : Log
        What was read.
    of : {"auto", "cpu", "wall"}
        ``cpu`` and ``wall`` are taken as said.

    Raises
    ------
    Inconclusive
        The server had less than half of a CPU while it served, and nobody said which time to take.
    """
    wall, cpu = log.wall_us, log.cpu_us
    if cpu is None:
        return Demand(wall, "wall", notes=_coarse(wall, "wall"))
    share = float(cpu.sum() / wall.sum())
    ratio = float(np.quantile(wall, 0.99) / np.quantile(cpu, 0.99))
    off = np.maximum(wall - cpu, 0.0)
    usual = float(np.median(off))
    if of == "wall" or (of == "auto" and float(np.median(cpu)) < LEAST_CPU_US):
        notes = [*_coarse(wall, "wall")]
        if of == "auto":
            notes.append(
                Note(
                    "short-cpu-times",
                    f"interference: CPU times (median {np.median(cpu):.3g} µs) are too short for their clock,"
                    " so wall times were fitted",
                    {"median_us": float(np.median(cpu)), "least_us": LEAST_CPU_US},
                )
            )
        if ratio > CONTAMINATED:
            notes.append(
                Note(
                    "contaminated-tail",
                    f"the server's own tail: the p99 of wall times is {ratio:.3g} times that of CPU times, so"
                    " the tail includes interference",
                    {"wall_over_cpu": ratio},
                )
            )
        return Demand(wall, "wall", cpu_share=share, wall_over_cpu=ratio, notes=tuple(notes))
    if of == "auto" and share < LOST:
        raise Inconclusive(
            "mostly-waiting",
            f"{log.source}: the server was on the CPU for only {share:.0%} of its service times (wall p99"
            f" {ratio:.3g} times the CPU p99): most of them is interference, or waiting for disks, locks or"
            " other servers",
            hint="measure on a quiet host; or say which time is meant: --demand cpu, or --demand wall if the"
            " server itself waits",
            path=log.source,
            value=share,
            least=LOST,
        )
    # What nearly every request spends off its CPU clock (a lock, a system call that sleeps) is its own.
    us = cpu + usual if usual > ROUNDING_US else cpu
    excess = np.where(wall - us > ROUNDING_US, wall - us, 0.0)
    return Demand(us, "cpu", excess, share, ratio, _coarse(us, "CPU"))


def _coarse(us: Floats, name: str) -> tuple[Note, ...]:
    different = np.unique(us[: 1 << 16])
    if different.size < 2:
        return ()
    step, middle = float(np.diff(different).min()), float(np.median(us))
    if step <= COARSE * middle:
        return ()
    return (
        Note(
            "coarse-clock",
            f"shapes finer than {step:.3g} µs: the {name} clock moves in such steps, at a median of"
            f" {middle:.3g} µs",
            {"clock": name, "step_us": step, "median_us": middle},
        ),
    )
