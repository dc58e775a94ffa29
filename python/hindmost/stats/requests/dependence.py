"""Test whether interruptions follow the server's own work, which makes isolated latency impossible.

A quota on the server's cgroup, a hypervisor's credit scheduler and thermal limits take the processor
*because* the server used it. Their interruptions begin after the server was busy for long. A neighbour's
begin at any time.

Each quiet period ends with an interruption, at some age. Under independence, any period that reached that age
was equally likely to end then. So the server's state at the onset is ranked among its states, at the same
age, in other periods that were still quiet then (Cox's partial likelihood, with ranks; within each such set
the rank is uniform, so mean and variance are exact). The test uses two states: the share of the last 10 ms
with a request in flight, and the number of requests in flight, if any. False alarms: 1 % together.

It means nothing that interruptions begin while the server works rather than while it idles, because a
hypervisor can take a processor only from a guest that uses it. It is also harmless. If interruptions begin
*only* then, isolated quantiles are as accurate as for independent ones (.3 to .7 busy, 5 and 15 % taken). If
the hazard grows with the queue, they are 1 % low at .3 busy and 5 % at .7. So only a large dependence is
refused: an onset busier than `MATERIAL` of other quiet times. Under a quota it is busier than 75 to 99 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hindmost.stats.requests.interruptions import Interruptions, Nanos, Service, quiet_again
from hindmost.stats.tables import Floats, upper_tail

FALSE_ALARM = 0.01
WINDOW_NS = 10_000_000
MATERIAL = 0.65
"""Concordance above which a dependence is more than a hypervisor's normal behaviour. Steal time of 1 to 7 %
of a virtual machine gives .53 and .54, significant after 730 onsets.
"""
OTHERS = 20
"""Periods to compare each onset with. More add little power, and cost time."""


@dataclass(frozen=True, slots=True)
class Onsets:
    """State of the server at onsets of interruptions, and at the same age of other quiet periods.

    Attributes
    ----------
    flying : ndarray, shape (onsets, 1 + OTHERS)
        Requests in flight just before: first at the onset, then in the others; NaN if there are fewer.
    busy : ndarray, same shape
        Share of the last 10 ms, or of the period if shorter, with any request in flight.
    """

    flying: Floats
    busy: Floats

    @classmethod
    def from_requests(
        cls,
        scheduled: Nanos,
        completed: Nanos,
        interruptions: Interruptions,
        service: Service,
        *,
        alike_ns: float = 0.0,
        seed: int = 1,
    ) -> Onsets:
        """Compute the state from scheduled and completed times in ns.

        A uniform sample of requests has less power.

        Only interruptions of at least `alike_ns` are onsets. Otherwise the many short ones of a client alone
        would hide those that follow the server's work. Shorter interruptions still end periods.
        """
        nothing = cls(np.empty((0, 1 + OTHERS)), np.empty((0, 1 + OTHERS)))
        if len(interruptions) < 3:
            return nothing
        start = interruptions.on[0] + quiet_again(interruptions, service, 1.0)[:-1]
        length = interruptions.on[1:] - start
        onset = (interruptions.off - interruptions.on)[1:] >= alike_ns
        isolated = length > 0.0
        start, length, onset = start[isolated], length[isolated], onset[isolated]
        order = np.argsort(length)
        start, length, onset = start[order], length[order], onset[order]
        # Only periods at least as long are at risk. The longest has none to compare with.
        at_risk = np.arange(length.size)[::-1]
        # A shorter, unseen interruption may have begun with it on another processor: look before that time.
        keep = np.flatnonzero((at_risk >= 1) & onset & (length > interruptions.seen_ns))
        random = np.random.default_rng(seed)
        # Spread over the periods at risk without repetition. If there are fewer, use all of them.
        some = np.minimum(at_risk[keep], OTHERS)[:, None]
        place = np.arange(OTHERS)[None, :]
        others = (
            keep[:, None]
            + 1
            + ((random.random((keep.size, 1)) + place) * at_risk[keep, None] / some).astype(np.int64)
        )
        spell = np.column_stack([keep, np.where(place < some, others, keep[:, None])])
        age = length[keep, None] - interruptions.seen_ns
        at = start[spell] + age
        state = _State(scheduled, completed)
        window = np.minimum(age, WINDOW_NS)
        unknown = np.where(np.column_stack([np.ones_like(some), place < some]), 0.0, math.nan)
        busy = (state.busy_until(at) - state.busy_until(at - window)) / window
        return cls(state.flying(at) + unknown, busy + unknown)


class _State:
    """Number of requests in flight at any time, and the total time with any in flight."""

    def __init__(self, scheduled: Nanos, completed: Nanos) -> None:
        self._zero = int(scheduled.min()) if scheduled.size else 0
        self._scheduled = np.sort(scheduled - self._zero).astype(np.float64)
        self._done = np.sort(completed - self._zero).astype(np.float64)
        ends = np.maximum.accumulate((completed - self._zero)[np.argsort(scheduled, kind="stable")]).astype(
            np.float64
        )
        fresh = np.ones(ends.size, dtype=bool)
        fresh[1:] = self._scheduled[1:] > ends[:-1]
        self._begin = self._scheduled[fresh]
        self._end = ends[np.append(fresh[1:], True)[: ends.size]]
        self._before = np.concatenate([[0.0], np.cumsum(self._end - self._begin)])

    def flying(self, at: Floats) -> Floats:
        at = at - self._zero
        scheduled, completed = (
            np.searchsorted(times, at, side="left") for times in (self._scheduled, self._done)
        )
        return np.asarray(scheduled - completed, dtype=np.float64)

    def busy_until(self, at: Floats) -> Floats:
        at = at - self._zero
        k = np.searchsorted(self._begin, at, side="right")
        last = np.maximum(k - 1, 0)
        inside = np.where(k > 0, np.minimum(at, self._end[last]) - self._begin[last], 0.0)
        return np.asarray(self._before[last] + inside, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Dependence:
    """Result of the test whether interruptions depend on the server's work.

    ``depends``: whether the dependence is significant and large enough to refuse isolated latency. ``p``: of
    independence, for both states together. ``concordance``: probability that the server was busier at an
    onset than at another quiet time, with ties counted half (Mann and Whitney): .5 under independence; for
    the state with the smaller p. ``onsets``: number of compared onsets.
    """

    depends: bool
    p: float
    concordance: float
    onsets: int
    text: str


def interruption_dependence(runs: Iterable[Onsets]) -> Dependence:
    """Test whether interruptions depend on the server's work, over all runs together.

    Examples
    --------
    >>> random = np.random.default_rng(1)
    >>> alike = Onsets(random.poisson(1.0, (40, 21)).astype(float), random.random((40, 21)))
    >>> interruption_dependence([alike]).depends
    False
    >>> alike.busy[:, 0] += 0.4
    >>> print(interruption_dependence([alike]).text.partition(": ")[2])
    the 10 ms before 40 onsets were busier than 82% of other quiet times
    """
    tables = list(runs)
    flying = np.vstack([table.flying for table in tables]) if tables else np.empty((0, 1 + OTHERS))
    busy = np.vstack([table.busy for table in tables]) if tables else flying
    queue = np.where(flying > 0.0, flying, math.nan)[flying[:, 0] > 0.0]
    found = [(*_rank_test(table), len(table)) for table in (queue, busy)]
    which = int(found[1][0] <= found[0][0])
    p, concordance, n = found[which]
    p = min(1.0, 2.0 * p)
    if p > FALSE_ALARM:
        text = f"no sign that interruptions follow the server's work, in {n} onsets (p = {p:.2g})"
        return Dependence(False, p, concordance, n, text)
    depends = abs(concordance - 0.5) >= MATERIAL - 0.5
    little = "" if depends else " slightly"
    above = concordance > 0.5
    follow, busier, more = ("follow", "busier", "more") if above else ("avoid", "idler", "fewer")
    share = concordance if above else 1.0 - concordance
    what = (
        f"the 10 ms before {n} onsets were {busier} than {share:.0%} of other quiet times"
        if which
        else f"{more} requests were in flight at {n} onsets than at {share:.0%} of other quiet times"
    )
    return Dependence(
        depends, p, concordance, n, f"interruptions {follow} the server's own work{little}: {what}"
    )


def _rank_test(table: Floats) -> tuple[float, float]:
    """Return two-sided p of the first column's ranks within rows, and its concordance with the others."""
    if not len(table):
        return 1.0, math.nan
    known = ~np.isnan(table)
    # Centred mid-ranks: number of others below minus number above. Unknown ones count nothing.
    every = np.stack([np.nansum(np.sign(table[:, [i]] - table), axis=1) for i in range(table.shape[1])])
    pairs = int(known[:, 1:].sum())
    concordance = 0.5 + 0.5 * float(every[0].sum()) / pairs if pairs else math.nan
    variance = float(((every**2).sum(axis=0) / known.sum(axis=1)).sum())
    if variance == 0.0:
        return 1.0, concordance
    return 2.0 * float(upper_tail(np.array(abs(every[0].sum()) / math.sqrt(variance)))), concordance
