"""Whom a pause hits: a thread by the clock, whatever it is at, or a request, which waits by itself.

A neighbour, a garbage collector, an interrupt stop a thread that serves as well as one that waits; a disk, a
lock or another server stops the request that asked for it. In service times the two are alike. They differ
in what happens to an idle thread: if pauses come by the clock, some arrivals find one running (`idle`).

Of pauses longer than d, H were seen in services that lasted for E. Whoever arrives after the thread was idle
for G is delayed by more than d by a pause that came in the last min(G, L - d), L its length. If a share f of
the pauses is by the clock, so many are expected: f H M / E, where M is the sum of min(G, L - d) over
arrivals, its mean over lengths. Pauses in services and pauses at idle threads are counts of one process, so
that of H + K in all the K at idle threads are binomial, and the interval of f is exact (Clopper and Pearson,
1934). Of several threads, one that stands still is passed over and so found idle more often: shares come out
too high there, never too low, and are cut at 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from hindmost.models.fit.bins import Floats
from hindmost.models.fit.pauses.idle import IdleArrivals
from hindmost.notes import Note

ERROR = 0.005
"""How often pauses by the clock are taken for waits of requests, of those longer than one length; two lengths
are tried at most (`pauses.WEIGHTS`), so 1 % in all."""

LEAST_SHARE = 0.1
"""Share by the clock that must be sure, before a clone gets pauses of both kinds."""

LEAST_DELAYED = 10
"""Delayed arrivals without which pauses of both kinds are not told apart."""

VISIBLE = 0.5
"""Share of arrivals that are stamped while a service stands still, below which late starts cannot be seen."""

Whom = Literal["clock", "request", "both", "untold"]


@dataclass(frozen=True)
class Scope:
    """What arrivals at idle threads say of pauses longer than some length.

    Parameters
    ----------
    whom : {"clock", "request", "both", "untold"}
        The verdict.
    longer_us : float
        The shortest pause and the shortest delay that count.
    hits : int
        Pauses in services.
    delayed : int
        Arrivals at an idle thread that were delayed.
    expected : float
        As many would have been if all pauses came by the clock.
    clock : tuple of float
        Share by the clock, and its 99 % interval: each end is wrong in `ERROR` of all logs.
    why : Note or None
        Why it is unknown.
    """

    whom: Whom
    longer_us: float = 0.0
    hits: int = 0
    delayed: int = 0
    expected: float = 0.0
    clock: tuple[float, float, float] = (1.0, 0.0, 1.0)
    why: Note | None = None


def scope_of(
    lengths_us: Floats,
    exposed_us: float,
    arrivals: IdleArrivals,
    *,
    longer_us: float,
    up_to_us: float = np.inf,
    visible: float = 1.0,
) -> Scope:
    """Judge pauses by the arrivals at idle threads.

    Parameters
    ----------
    lengths_us : array of shape (hits,)
        Pauses in services.
    exposed_us : float
        Time of services in which they could be seen.
    arrivals : IdleArrivals
        Who found a thread idle.
    longer_us, up_to_us : float
        Pauses and delays that count.
    visible : float
        Share of the delays that the log can show.

    Examples
    --------
    A pause of 10 ms in each second of service, and one at an idle thread in each second of idleness:

    >>> idle = IdleArrivals(np.full(20_000, 500.0), np.zeros(20_000), np.full(20_000, np.inf))
    >>> idle.delay_us[:10] = 7_000.0
    >>> scope_of(np.full(10, 1e4), 1e7, idle, longer_us=5_000.0).whom
    'clock'
    >>> idle.delay_us[:] = 0.0
    >>> scope_of(np.full(10, 1e4), 1e7, idle, longer_us=5_000.0).whom
    'request'
    """
    taken = arrivals.cover_us > longer_us
    idle, delay = arrivals.idle_us[taken], arrivals.delay_us[taken]
    lengths = lengths_us[(lengths_us > longer_us) & (lengths_us <= up_to_us)]
    delayed = int(((delay > longer_us) & (delay <= up_to_us)).sum())
    hits = int(lengths.size)
    ratio = _seen_us(idle, lengths - longer_us) * visible / exposed_us if hits else 0.0
    expected = hits * ratio
    if ratio == 0.0:
        why = Note("no-idle-arrivals", "no request arrived at an idle thread")
        return Scope("untold", longer_us, hits, delayed, 0.0, why=why)

    def clock(chance: float) -> float:
        return chance / max(1.0 - chance, 1e-12) / ratio

    low = clock(float(special.betaincinv(delayed, hits + 1, ERROR))) if delayed else 0.0
    high = clock(float(special.betaincinv(delayed + 1, hits, 1.0 - ERROR)))
    share = (min(1.0, delayed / hits / ratio), min(1.0, low), high)
    found = Scope("clock", longer_us, hits, delayed, expected, share)
    if high < 1.0:
        both = delayed >= LEAST_DELAYED and low > LEAST_SHARE
        return Scope("both" if both else "request", *_counts(found))
    if delayed == 0:
        why = Note(
            "few-arrivals-in-pauses",
            f"pauses by the clock would have delayed {expected:.2g} arrivals, and none was: too few to tell",
            {"expected": expected, "delayed": 0},
        )
        return Scope("untold", *_counts(found), why=why)
    return found


def _counts(one: Scope) -> tuple[float, int, int, float, tuple[float, float, float]]:
    return one.longer_us, one.hits, one.delayed, one.expected, one.clock


def _seen_us(idle_us: Floats, beyond_us: Floats) -> float:
    """Sum over arrivals of min(idle, beyond), in the mean over pauses."""
    beyond = np.sort(beyond_us)
    below = np.concatenate([[0.0], np.cumsum(beyond)])
    place = np.searchsorted(beyond, idle_us)
    return float((below[place] + idle_us * (beyond.size - place)).sum()) / beyond.size
