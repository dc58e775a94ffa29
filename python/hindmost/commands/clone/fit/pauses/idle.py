"""Arrivals that found one thread idle and all others busy: its idle time before, and their delay.

A request that finds a thread idle is served at once unless that thread is stalled. Such arrivals therefore
show what happens to idle threads, which service times cannot. If several threads were idle, the stalled one
would be passed over; so exactly one may be idle. ::

    thread 1   ── service ──|        idle        |    arrival: finds it idle
    thread 2   ────────────── service ──────────────────────|
                            |-- cover --|

A log shows a late start only if arrivals are stamped by someone other than the stalled thread. Long stalls of
services show whether that is so: requests that arrive meanwhile are stamped, or not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hindmost.commands.clone.fit.bins import Floats, Ints
from hindmost.commands.clone.fit.reading import Log

LEAST_MET = 0.2
"""Smallest ratio of observed to expected arrivals at busy threads; below, threads stamp arrivals."""


@dataclass(frozen=True)
class IdleArrivals:
    """Arrivals that found one thread idle, no request waiting, and all other threads busy.

    Parameters
    ----------
    idle_us : array of shape (n,)
        How long that thread had been idle.
    delay_us : array of shape (n,)
        Time from the arrival to the start of the service.
    cover_us : array of shape (n,)
        Time from the arrival until another thread was free.
    """

    idle_us: Floats
    delay_us: Floats
    cover_us: Floats


def idle_arrivals(log: Log) -> IdleArrivals | None:
    """Find such arrivals; None if the log has no arrival times."""
    if log.start_us is None or log.arrival_us is None:
        return None
    arrival, start, end = log.arrival_us, log.start_us, log.start_us + log.wall_us
    waiting = np.searchsorted(np.sort(arrival), arrival) - np.searchsorted(start, arrival)
    free, place = np.zeros(log.n, dtype=np.int64), np.zeros(log.n, dtype=np.int64)
    since, cover = np.full(log.n, np.nan), np.full(log.n, np.inf)
    for number in range(log.threads):
        own = slice(None) if log.thread is None else log.thread == number
        starts, ends = start[own], end[own]
        begun, done = np.searchsorted(starts, arrival), np.searchsorted(ends, arrival, side="right")
        idle = begun == done
        free += idle
        place = np.where(idle, number, place)
        since = np.where(idle & (done > 0), ends[np.maximum(done - 1, 0)], since)
        until = ends[np.minimum(done, ends.size - 1)]
        cover = np.where(idle, cover, np.minimum(cover, until - arrival))
    alone = np.flatnonzero((free == 1) & (waiting == 0) & ~np.isnan(since))
    # Keep only the first of those that found the same thread in the same idle time: one pause is one event.
    spell = np.lexsort((arrival[alone], since[alone], place[alone]))
    ordered = alone[spell]
    again = (np.diff(since[ordered], prepend=np.nan) == 0.0) & (np.diff(place[ordered], prepend=-1) == 0)
    taken = ordered[~again]
    return IdleArrivals((arrival - since)[taken], (start - arrival)[taken], cover[taken])


def stamped_share(log: Log, demand_us: Floats, paused: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    """Return observed over expected arrivals during stalls of services; NaN if there are too few.

    Parameters
    ----------
    demand_us : array of shape (n,)
        Service times without pauses: parts of a service farther than that from both ends are pauses.
    paused : array of shape (n,)
        Whether each service was paused.
    """
    if log.start_us is None or log.arrival_us is None or not log.span_us:
        return float("nan")
    low = (log.start_us + demand_us)[paused]
    high = (log.start_us + log.wall_us - demand_us)[paused]
    low, high = low[high > low], high[high > low]
    arrivals = np.sort(log.arrival_us)
    seen = np.searchsorted(arrivals, high) - np.searchsorted(arrivals, low)
    expected = float((high - low).sum()) * log.n / log.span_us
    return float(seen.sum()) / expected if expected >= LEAST_EXPECTED else float("nan")


LEAST_EXPECTED = 5.0
"""Fewest expected arrivals during stalls from which their stamping is judged."""


def stamped_by_others(log: Log) -> bool:
    """Return whether arrivals are stamped while all threads are busy; if not, the log has no waits."""
    if log.start_us is None or log.arrival_us is None or not log.span_us:
        return False
    start, end = log.start_us, np.sort(log.start_us + log.wall_us)
    moments = np.concatenate([start, end])
    change = np.concatenate([np.ones(log.n), -np.ones(log.n)])
    order = np.argsort(moments, kind="stable")
    busy: Ints = np.cumsum(change[order]).astype(np.int64)
    length = np.diff(moments[order], append=moments.max())
    expected = float(length[busy >= log.threads].sum()) / log.span_us
    now = np.searchsorted(start, log.arrival_us) - np.searchsorted(end, log.arrival_us, side="right")
    met = float((now >= log.threads).mean())
    return expected * log.n < LEAST_EXPECTED or met > LEAST_MET * expected
