"""The service demand of each request, estimated from wall and CPU times.

Wall times include interference from neighbours: for one search engine here, the wall p99 was 8.6 ms and the
CPU p99 0.7 ms (research note, finding 7). If the log has CPU times that are long enough for the CPU clock,
the demand is the CPU time plus what every request spends off the CPU. The occasional rest is treated as a
disturbance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from hindmost.commands.clone.fit.bins import Floats
from hindmost.commands.clone.fit.reading import Log
from hindmost.core.notes import Note
from hindmost.errors import Inconclusive

LEAST_CPU_US = 20.0
"""Smallest median of usable CPU times: two reads of the CPU clock cost up to 3 us (research note,
finding 8)."""

COARSE = 0.02
"""A clock whose resolution exceeds this share of the median reveals little about the distribution."""

ROUNDING_US = 2.0
"""Normal difference between wall and CPU clock."""

CONTAMINATED = 1.25
"""Ratio of wall p99 to CPU p99 above which the tail of wall times mainly shows interference."""

LOST = 0.5
"""CPU share below which the log mainly shows interference and is refused."""


@dataclass(frozen=True)
class Demand:
    """Service times without disturbances, and the excess that was removed.

    Parameters
    ----------
    us : array of shape (n,)
        Demand of each request.
    of : str
        The times it is based on: ``cpu`` or ``wall``.
    excess_us : array of shape (n,), optional
        Wall time minus demand, 0 where they agree; None without CPU times.
    cpu_share : float or None
        Total CPU time divided by total wall time.
    wall_over_cpu : float or None
        Ratio of the wall p99 to the CPU p99.
    notes : tuple of Note
        What remains unknown after this choice.
    """

    us: Floats = field(repr=False)
    of: Literal["cpu", "wall"]
    excess_us: Floats | None = field(default=None, repr=False)
    cpu_share: float | None = None
    wall_over_cpu: float | None = None
    notes: tuple[Note, ...] = ()

    @property
    def contaminated(self) -> bool:
        """Whether the tail of the wall times includes interference."""
        return self.wall_over_cpu is not None and self.wall_over_cpu > CONTAMINATED


def demand(log: Log, of: Literal["auto", "cpu", "wall"] = "auto") -> Demand:
    """Split wall time into demand and disturbance.

    Parameters
    ----------
    log : Log
        The log.
    of : {"auto", "cpu", "wall"}
        Which times to use; ``auto`` decides by the quality of the CPU times.

    Raises
    ------
    Inconclusive
        The server had less than half a CPU while serving, and `of` is ``auto``.
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
    # Time that nearly every request spends off the CPU (a lock, a blocking system call) belongs to it.
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
