"""Arrivals that found one thread idle and all others busy: for how long it had been idle, and their delay.

Whoever finds a thread idle is served at once, unless that thread stands still. So these arrivals tell what
happens to a thread that has nothing to do, which no service time can. Of several idle threads the one that
stands still would be passed over; therefore the one that is free must be the only one. ::

    thread 1   ── service ──|        idle        |    arrival: who finds it so
    thread 2   ────────────── service ──────────────────────|
                                                 |-- cover --|

A log sees a late start only where somebody else than the thread that stands still stamps the arrivals.
Whether that is so is told by services that stood still for long: requests arrive meanwhile, and are stamped,
or not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hindmost.models.fit.bins import Floats, Ints
from hindmost.models.fit.reading import Log

LEAST_MET = 0.2
"""Arrivals that met all threads busy, over those that should have: below, each thread stamps its own."""


@dataclass(frozen=True)
class IdleArrivals:
    """Arrivals that found one thread idle, nobody waiting, and all other threads busy.

    Parameters
    ----------
    idle_us : array of shape (n,)
        For how long that thread had had nothing to do.
    delay_us : array of shape (n,)
        From the arrival to the start of the service.
    cover_us : array of shape (n,)
        For how long from the arrival on no other thread was free.
    """

    idle_us: Floats
    delay_us: Floats
    cover_us: Floats


def idle_arrivals(log: Log) -> IdleArrivals | None:
    """Find them; None where the log has no moments of arrival."""
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
    # Of those that found the same thread in the same idle time, the first: one pause is one event.
    spell = np.lexsort((arrival[alone], since[alone], place[alone]))
    ordered = alone[spell]
    again = (np.diff(since[ordered], prepend=np.nan) == 0.0) & (np.diff(place[ordered], prepend=-1) == 0)
    taken = ordered[~again]
    return IdleArrivals((arrival - since)[taken], (start - arrival)[taken], cover[taken])


def stamped_share(log: Log, demand_us: Floats, paused: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    """Arrivals stamped while services stood still, over those that should have been; NaN of too few.

    Parameters
    ----------
    demand_us : array of shape (n,)
        Service times without pauses: whatever lies more than that from both ends of a service is pause.
    paused : array of shape (n,)
        Which services stood still.
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
"""Arrivals while services stand still, below which they tell nothing of who stamps."""


def stamped_by_others(log: Log) -> bool:
    """Whether arrivals are stamped while all threads are busy: if not, nobody waits in the log."""
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
