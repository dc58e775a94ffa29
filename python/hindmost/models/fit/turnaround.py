"""What keeps a thread busy between two requests: writing the reply, taking the next one.

A server's log ends a service when the result is there; its thread is free only later. ::

    request i     start ──── service ──── end
    its thread                             ──write, take──
    request i+1   arrival ──── waits ─────────────────────  start ──── service ── ...

Where a request had already arrived when the one before it on the same thread ended, ``start - end`` is that
time. At 70 % load, 8 us that are forgotten beside 80 us are more than a quarter of the waiting time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hindmost.models.fit.bins import Floats
from hindmost.models.fit.reading import Log
from hindmost.stats import section_interval

LEAST = 200
"""Requests that waited, below which the mean is not told."""

FAR = 10.0
"""Times the median: longer ones are threads that stood still, not writes."""

SECTIONS = 20


@dataclass(frozen=True)
class Turnaround:
    """Time between services.

    Parameters
    ----------
    us : float
        Its mean.
    low_us, high_us : float
        95 % interval.
    seen : int
        Requests that waited.
    """

    us: float
    low_us: float
    high_us: float
    seen: int

    def __str__(self) -> str:
        return (
            f"{self.us:.3g} us [{self.low_us:.3g}, {self.high_us:.3g}] between two requests (the reply is"
            f" written, the next one taken; {self.seen:,} that waited show it) are part of each service time"
        )


def find_turnaround(log: Log) -> Turnaround | str:
    """Find it; or say why it cannot be told.

    Examples
    --------
    >>> import numpy as np
    >>> start = np.arange(1_000) * 110.0
    >>> log = Log("x", "", "", np.full(1_000, 100.0), start_us=start, arrival_us=start - 50.0)
    >>> print(round(find_turnaround(log).us, 6))
    10.0
    """
    gaps = _gaps(log)
    if gaps.size:
        gaps = gaps[gaps <= FAR * max(float(np.median(gaps)), 1e-3)]
    if gaps.size < LEAST:
        return (
            f"what keeps a thread busy between two requests (writing the reply): {gaps.size:,} requests of"
            f" the log had to wait, at least {LEAST:,} would tell; take the log at half of the capacity"
        )
    mean = float(gaps.mean())
    found = section_interval(mean, [float(part.mean()) for part in np.array_split(gaps, SECTIONS)])
    return Turnaround(mean, found.low, found.high, int(gaps.size))


def _gaps(log: Log) -> Floats:
    """From one end to the next start on a thread, of requests that had arrived before that end, in order."""
    if log.start_us is None or log.arrival_us is None:
        return np.zeros(0)
    end = log.start_us + log.wall_us
    thread = np.zeros(log.n, dtype=np.int64) if log.thread is None else log.thread
    order = np.lexsort((log.start_us, thread))
    before, after = order[:-1], order[1:]
    waited = (thread[before] == thread[after]) & (log.arrival_us[after] < end[before])
    return np.asarray(np.maximum(log.start_us[after] - end[before], 0.0)[waited])
