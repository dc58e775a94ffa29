"""The classification of pauses: by the clock (whatever the thread does), or inside requests, which wait.

A neighbour, a garbage collector or an interrupt stops a busy thread as well as an idle one. A disk, a lock or
another server stops the request that uses it. Service times do not distinguish the two, but idle threads do:
if pauses come by the clock, some arrivals find an idle thread in a pause (`idle`).

Suppose that H pauses longer than d were seen in services of total length E. A request that arrives after the
thread was idle for G is delayed by more than d by a pause of length L that began in the last min(G, L - d).
If a share f of the pauses comes by the clock, the expected number of delayed arrivals is f H M / E, where M
is the sum over arrivals of the mean of min(G, L - d) over lengths. Pauses in services and at idle threads are
counts of one process. So of H + K in all, the K at idle threads are binomial, and the interval of f is exact
(Clopper and Pearson, 1934). With several threads, a stalled thread is passed over and therefore found idle
more often. Shares are then too high, never too low, and are limited to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from hindmost.commands.clone.fit.bins import Floats
from hindmost.commands.clone.fit.pauses.idle import IdleArrivals
from hindmost.core.notes import Note

ERROR = 0.005
"""Probability of mistaking pauses by the clock for waits of requests, for one length. At most two lengths are
tried (`pauses.WEIGHTS`), so it is 1 % in all."""

LEAST_SHARE = 0.1
"""Smallest lower bound of the share by the clock for a clone to get pauses of both types."""

LEAST_DELAYED = 10
"""Fewest delayed arrivals for separating pauses of both types."""

VISIBLE = 0.5
"""Smallest share of arrivals stamped during stalls for late starts to be visible."""

Whom = Literal["clock", "request", "both", "untold"]


@dataclass(frozen=True)
class Scope:
    """The evidence from arrivals at idle threads on pauses longer than some length.

    Parameters
    ----------
    whom : {"clock", "request", "both", "untold"}
        The classification.
    longer_us : float
        Pauses and delays count if they are longer.
    hits : int
        Number of pauses in services.
    delayed : int
        Number of delayed arrivals at idle threads.
    expected : float
        Expected number of delayed arrivals if all pauses came by the clock.
    clock : tuple of float
        Share by the clock and its 99 % interval: each end is wrong in `ERROR` of all logs.
    why : Note or None
        Why the classification is unknown.
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
    """Classify pauses by the arrivals at idle threads.

    Parameters
    ----------
    lengths_us : array of shape (hits,)
        Lengths of the pauses in services.
    exposed_us : float
        Service time in which they could be seen.
    arrivals : IdleArrivals
        Arrivals that found a thread idle.
    longer_us, up_to_us : float
        Range of the pauses and delays that count.
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
    ratio = _visible_us(idle, lengths - longer_us) * visible / exposed_us if hits else 0.0
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


def _visible_us(idle_us: Floats, beyond_us: Floats) -> float:
    """Return the sum over arrivals of min(idle, beyond), averaged over pauses."""
    beyond = np.sort(beyond_us)
    below = np.concatenate([[0.0], np.cumsum(beyond)])
    place = np.searchsorted(beyond, idle_us)
    return float((below[place] + idle_us * (beyond.size - place)).sum()) / beyond.size
