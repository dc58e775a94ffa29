"""The time a request keeps its thread busy besides its service: reading it, writing the reply, the next read.

A server's log ends a service when the result is ready, but the thread is free only later. If another thread
on the same processor reads requests, each arrival also interrupts a running service. ::

    request i     start ──── service ─╌╌╌─ service ──── end
    its thread                       read j             ──write, next──
    request i+1   arrival ──── waits ─────────────────────────────────── start ──── service ── ...

If request i+1 had arrived before the previous one on the same thread ended, the thread was busy without a
pause from one start to the next: for the CPU time of the service, plus something per request, plus something
per interruption. A request that arrives while another is being read is read with it, and stamped within a few
microseconds of it. An interruption delays requests in service or in the queue, but not the one that arrives
alone: counting 30 us of it as service time makes a clone of SQLite 10 to 17 % too fast at half load.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hindmost.commands.clone.fit.bins import Floats, Ints
from hindmost.commands.clone.fit.reading import Log
from hindmost.core.notes import Note
from hindmost.stats import Estimate, section_interval

LEAST = 200
"""Fewest waiting requests for an estimate."""

LEAST_MET = 100
"""Fewest services with arrivals for estimating the cost of an arrival."""

FAR = 10.0
"""Multiple of the median above which times are stalls of the thread, not writes."""

NEAR = 3.0
"""The same for services with arrivals: arrivals cost similar times, and such services are long enough to
include other delays."""

MOST = 4
"""Most arrivals during one service; more come from bursts and stalls."""

TOGETHER = 0.5
"""Requests stamped within this share of an arrival's cost are read together. In our servers, stamps are
either 2 to 4 us or more than 25 us apart."""

SECTIONS = 20

NOTHING = 1e-3
"""Share of the mean service below which a turnaround is only rounding of time stamps."""


@dataclass(frozen=True)
class Turnaround:
    """Time besides the services in microseconds, with 95 % intervals.

    Parameters
    ----------
    between : Estimate
        Mean time from the end of a service to the next start, if the next request waited.
    arrival : Estimate or None
        Time for which an arrival interrupts a busy thread (`arrival_us` of a document); None if the log
        has no CPU times, which are needed to see it, or if nothing was seen.
    apart_us : float
        Requests stamped closer together are read together.
    seen : int
        Number of requests that waited.
    """

    between: Estimate
    arrival: Estimate | None
    apart_us: float
    seen: int

    def __str__(self) -> str:
        return self.note().text

    def note(self) -> Note:
        """Describe the turnaround as a note."""
        between, arrival = self.between, self.arrival
        values: dict[str, Any] = {"seen": self.seen, "between_us": between.value}
        if not between.value:
            text = f"a thread is busy between services for less than {100 * NOTHING:g} % of a service time"
        else:
            values |= {"between_low_us": between.low, "between_high_us": between.high}
            text = (
                f"a thread is busy between services for {between.value:.3g} µs"
                f" [{between.low:.3g}, {between.high:.3g}], to write the reply and take the next request"
            )
        if arrival is not None:
            values |= {
                "arrival_us": arrival.value,
                "arrival_low_us": arrival.low,
                "arrival_high_us": arrival.high,
            }
            text += (
                f"; each arrival interrupts a busy thread for {arrival.value:.3g} µs"
                f" [{arrival.low:.3g}, {arrival.high:.3g}]"
            )
        return Note("turnaround", f"{text} ({self.seen:,} requests that waited show it)", values)


@dataclass(frozen=True)
class _Busy:
    """Intervals from one start to the next, in order, in which the thread was always busy."""

    beside_us: Floats
    between_us: Floats
    stops: Ints
    """Number of times requests were read meanwhile."""

    def parts(self) -> list[_Busy]:
        columns = (self.beside_us, self.between_us, self.stops)
        return [_Busy(*part) for part in zip(*(np.array_split(c, SECTIONS) for c in columns), strict=True)]


def find_turnaround(log: Log, cpu_us: Floats | None = None) -> Turnaround | Note:
    """Estimate the turnaround, or say why it is unknown.

    Parameters
    ----------
    log : Log
        A log of any number of threads with arrival times.
    cpu_us : array of shape (n,), optional
        CPU time of each service, if the clone is fitted to it.

    Examples
    --------
    >>> import numpy as np
    >>> start = np.arange(1_000) * 110.0
    >>> log = Log("x", "", "", np.full(1_000, 100.0), start_us=start, arrival_us=start - 50.0)
    >>> print(round(find_turnaround(log).between.value, 6))
    10.0
    """
    service_us = log.wall_us if cpu_us is None else cpu_us
    busy = _busy(log, service_us, 0.0)
    if busy.between_us.size < LEAST:
        return Note(
            "unknown-turnaround",
            "how long a thread is busy between services (writing the reply):"
            f" {busy.between_us.size:,} requests of the log had to wait, but {LEAST:,} are needed; log at"
            " half of the capacity",
            {"have": int(busy.between_us.size), "need": LEAST},
        )
    met = cpu_us is not None and int((busy.stops > 0).sum()) >= LEAST_MET
    between, arrival = _costs(busy, log.threads, met=met)
    apart = 0.0
    if met:
        apart = TOGETHER * arrival
        busy = _busy(log, service_us, apart)
        between, arrival = _costs(busy, log.threads, met=met)
    sections = [_costs(part, log.threads, met=met) for part in busy.parts()]
    least = NOTHING * float(service_us.mean())
    if between < least:
        found = Estimate(0.0, 0.0, 0.0, SECTIONS, 0.95)
    else:
        found = section_interval(between, [one[0] for one in sections])
    return Turnaround(
        found,
        section_interval(arrival, [one[1] for one in sections]) if met and arrival > least else None,
        apart,
        int(busy.between_us.size),
    )


def without_arrivals(log: Log, excess_us: Floats, found: Turnaround) -> Floats:
    """Return the excess of wall time over demand without the time that arrivals took."""
    if found.arrival is None or log.start_us is None:
        return excess_us
    own = found.arrival.value * _stops(log, log.start_us, log.start_us + log.wall_us, found.apart_us)
    return np.asarray(np.where(excess_us > 2.0 * own, excess_us - own, 0.0))


def stopped_us(log: Log, found: Turnaround) -> float:
    """Return the total time for which arrivals interrupted services."""
    if found.arrival is None or log.start_us is None:
        return 0.0
    stops = _stops(log, log.start_us, log.start_us + log.wall_us, found.apart_us)
    return float(found.arrival.value * stops.sum()) / log.threads


def _busy(log: Log, service_us: Floats, apart_us: float) -> _Busy:
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
        _stops(log, start[before], start[after], apart_us),
    )


def _stops(log: Log, low_us: Floats, high_us: Floats, apart_us: float) -> Ints:
    """Count reads of requests between two times; requests that arrive close together count once."""
    assert log.arrival_us is not None
    arrivals = np.sort(log.arrival_us)
    arrivals = arrivals[np.diff(arrivals, prepend=-np.inf) > apart_us]
    until, before = (np.searchsorted(arrivals, moments, side="right") for moments in (high_us, low_us))
    return np.asarray(until - before)


def _costs(busy: _Busy, threads: int, *, met: bool) -> tuple[float, float]:
    """Return the time per request and per arrival, without stalls."""
    if not met:
        return _trimmed_mean(busy.between_us), 0.0
    between = _trimmed_mean(busy.beside_us[busy.stops == 0])
    taken, arrived = 0.0, 0
    for number in range(1, MOST + 1):
        beside = busy.beside_us[busy.stops == number]
        if beside.size:
            taken += beside.size * max(0.0, _trimmed_mean(beside, NEAR) - between)
            arrived += number * beside.size
    return between, threads * taken / arrived if arrived else 0.0


def _trimmed_mean(us: Floats, far: float = FAR) -> float:
    """Return the mean without values far above the median; 0 for no values."""
    if not us.size:
        return 0.0
    return float(us[us <= far * max(float(np.median(us)), 1e-3)].mean())
