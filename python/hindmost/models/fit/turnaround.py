"""What a request takes from its thread beside its service: taking it in, writing the reply, turning on.

A server's log ends a service when the result is there; its thread is free only later. And where another
thread takes requests in, on the same processor, each one that comes takes it away from a service. ::

    request i     start ──── service ─╌╌╌─ service ──── end
    its thread                       take in j           ──write, turn──
    request i+1   arrival ──── waits ─────────────────────────────────── start ──── service ── ...

Where request i+1 had arrived when the one before it on the same thread ended, the thread was busy without a
pause from one start to the next: CPU time of the service, plus something for each request, plus something for
each arrival meanwhile. Every request pays both: its arrival stops somebody's service, or comes before its
own. Forgotten, 25 us beside 90 us are half of the waiting time at 70 % load.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hindmost.models.fit.bins import Floats, Ints
from hindmost.models.fit.reading import Log
from hindmost.stats import section_interval

LEAST = 200
"""Requests that waited, below which nothing is told."""

LEAST_MET = 100
"""Requests that others arrived beside, below which what an arrival takes is not told."""

FAR = 10.0
"""Times the median: longer ones are threads that stood still, not writes."""

NEAR = 3.0
"""Times the median, for services that others arrived beside: arrivals cost alike, and such services are long
enough to be hit by more than arrivals."""

MOST = 4
"""More arrivals beside one service tell of bursts and stops, not of one arrival's cost."""

SECTIONS = 20


@dataclass(frozen=True)
class Turnaround:
    """Time beside the services, in microseconds a request.

    Parameters
    ----------
    between_us : float
        Mean from the end of a service to the next start, where the next had waited.
    arrival_us : float
        What an arrival takes from the threads; 0 where the log has no CPU times, which alone show it.
    low_us, high_us : float
        95 % interval of both together.
    seen : int
        Requests that waited.
    """

    between_us: float
    arrival_us: float
    low_us: float
    high_us: float
    seen: int

    @property
    def us(self) -> float:
        """Both together."""
        return self.between_us + self.arrival_us

    def __str__(self) -> str:
        parts = "the reply is written, the next one taken"
        if self.arrival_us:
            parts = f"{self.arrival_us:.3g} us to take one in, {self.between_us:.3g} us until the next starts"
        return (
            f"{self.us:.3g} us [{self.low_us:.3g}, {self.high_us:.3g}] of each service time lie beside the"
            f" service ({parts}; {self.seen:,} requests that waited show it)"
        )


@dataclass(frozen=True)
class _Busy:
    """Stretches from one start to the next, the thread busy all the while, in order."""

    beside_us: Floats
    between_us: Floats
    arrivals: Ints

    def parts(self) -> list[_Busy]:
        columns = (self.beside_us, self.between_us, self.arrivals)
        return [_Busy(*part) for part in zip(*(np.array_split(c, SECTIONS) for c in columns), strict=True)]


def find_turnaround(log: Log, cpu_us: Floats | None = None) -> Turnaround | str:
    """Find it; or say why it cannot be told.

    Parameters
    ----------
    log : Log
        Of one or several threads; it needs moments of arrival.
    cpu_us : array of shape (n,), optional
        CPU time of each service, where the clone is fitted to it.

    Examples
    --------
    >>> import numpy as np
    >>> start = np.arange(1_000) * 110.0
    >>> log = Log("x", "", "", np.full(1_000, 100.0), start_us=start, arrival_us=start - 50.0)
    >>> print(round(find_turnaround(log).us, 6))
    10.0
    """
    busy = _busy(log, log.wall_us if cpu_us is None else cpu_us)
    if busy.between_us.size < LEAST:
        return (
            "what a request takes from its thread beside its service (writing the reply):"
            f" {busy.between_us.size:,} requests of the log had to wait, at least {LEAST:,} would tell; take"
            " the log at half of the capacity"
        )
    met = cpu_us is not None and int((busy.arrivals > 0).sum()) >= LEAST_MET
    between, arrival = _costs(busy, log.threads, met=met)
    sections = [sum(_costs(part, log.threads, met=met)) for part in busy.parts()]
    found = section_interval(between + arrival, sections)
    return Turnaround(between, arrival, found.low, found.high, int(busy.between_us.size))


def without_arrivals(log: Log, excess_us: Floats, found: Turnaround) -> Floats:
    """Wall time less demand, without what arrivals took: the rest is somebody else's doing."""
    if not found.arrival_us or log.start_us is None:
        return excess_us
    own = found.arrival_us * _arrivals(log, log.start_us, log.start_us + log.wall_us)
    return np.asarray(np.where(excess_us > 2.0 * own, excess_us - own, 0.0))


def _busy(log: Log, service_us: Floats) -> _Busy:
    if log.start_us is None or log.arrival_us is None:
        return _Busy(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64))
    start, end = log.start_us, log.start_us + log.wall_us
    thread = np.zeros(log.n, dtype=np.int64) if log.thread is None else log.thread
    order = np.lexsort((start, thread))
    before, after = order[:-1], order[1:]
    waited = (thread[before] == thread[after]) & (log.arrival_us[after] < end[before])
    before, after = before[waited], after[waited]
    return _Busy(
        np.asarray(start[after] - start[before] - service_us[before]),
        np.asarray(np.maximum(start[after] - end[before], 0.0)),
        _arrivals(log, start[before], start[after]),
    )


def _arrivals(log: Log, low_us: Floats, high_us: Floats) -> Ints:
    """How many requests arrived after one moment and up to another."""
    assert log.arrival_us is not None
    arrivals = np.sort(log.arrival_us)
    until, before = (np.searchsorted(arrivals, moments, side="right") for moments in (high_us, low_us))
    return np.asarray(until - before)


def _costs(busy: _Busy, threads: int, *, met: bool) -> tuple[float, float]:
    """What a request and what an arrival takes, without stand-stills."""
    if not met:
        return _trimmed(busy.between_us), 0.0
    between = _trimmed(busy.beside_us[busy.arrivals == 0])
    taken, arrived = 0.0, 0
    for number in range(1, MOST + 1):
        beside = busy.beside_us[busy.arrivals == number]
        if beside.size:
            taken += beside.size * max(0.0, _trimmed(beside, NEAR) - between)
            arrived += number * beside.size
    return between, threads * taken / arrived if arrived else 0.0


def _trimmed(us: Floats, far: float = FAR) -> float:
    """Mean without what lies far beyond the median; 0 of nothing."""
    if not us.size:
        return 0.0
    return float(us[us <= far * max(float(np.median(us)), 1e-3)].mean())
