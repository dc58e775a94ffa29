"""Isolated latency: a server's latency with its CPUs to itself, from a run with interference.

On a virtual machine the hypervisor takes the processor for milliseconds. At 70 % load, with 5 % of the time
stolen in interruptions of 3 ms, the p99 of 20-us services is 27 times too high, and more runs do not cure
that. But interruptions begin at *known times that the server did not choose*, which is the textbook case of
independent censoring:

1. Requests **scheduled** before the backlog of an interruption has drained and the queue has relaxed are left
   out (`interruptions`). Their scheduled time does not depend on their latency.
2. A request in flight when the next interruption begins is censored at its age at that time.
3. The Kaplan-Meier estimator applies to the rest (`survival`). Without interference it is the raw quantile,
   bit for bit.

The unit of the interval within a run is the quiet period, cut at every tenth of the run, because requests of
one period meet the same queue. The periods' influences on the survival at the quantile give the *dispersion*:
the ratio of its variance to that of independent requests. The band of shares above the quantile is then that
of `series.within_run`, which also refuses runs that are too short. Without interference it is that interval,
too. (A bootstrap over periods would cost a thousand sorts, and its percentile interval is too short in the
tail.)

The method checks itself by waiting twice as long: the isolated quantile at 2 m uses fewer requests and
contains less of the interruptions. `settled` is false if the two differ by more than their paired error
allows, and by more than the interval or 5 %.

The method cannot see interruptions shorter than `Interruptions.seen_ns`. It also cannot handle interruptions
that follow the server's own work (a quota, a credit scheduler). The latter are tested for (`dependence`), and
refused.

Measured: 20-us services at one server, exponential gaps and lengths of interruptions, 1.5 million requests;
ratio of isolated to true latency, and in brackets of raw to true latency (the nightly suite regenerates this
table):

===============================  =======  ============  ============  ============  ============
service, load, interruptions     counted  p50           p95           p99           p99.9
===============================  =======  ============  ============  ============  ============
exponential 0.3, 5% in 3 ms      92%      1.001 (1.1)   1.001 (13)    0.996 (44)    1.004 (58)
exponential 0.7, 5% in 3 ms      74%      1.003 (1.3)   1.004 (21)    1.006 (28)    1.012 (36)
exponential 0.7, 5% in 0.3 ms    53%      1.006 (1.3)   1.011 (2.9)   1.012 (3.7)   1.046 (4)
exponential 0.7, 15% in 3 ms     27%      1.005 (5.3)   1.010 (57)    1.008 (61)    1.027 (63)
lognormal 0.7, 5% in 3 ms        73%      1.008 (1.4)   1.006 (23)    0.994 (34)    1.019 (47)
lognormal 0.3, 15% in 3 ms       75%      1.004 (1.4)   1.002 (60)    1.005 (73)    1.024 (79)
bimodal 0.7, 5% in 3 ms          66%      0.966 (4.2)   1.006 (5.4)   1.025 (7.3)   1.060 (7.1)
bimodal 0.7, 5% in 0.3 ms        22%      0.977 (3.8)   0.975 (1.5)   1.009 (1.5)   1.181 (1.5)
===============================  =======  ============  ============  ============  ============

Coverage of nominal 95 % within runs of 200,000 requests (100 runs per scenario, one standard error is .02);
"-": too short for an interval. Three of the 500 runs were refused because their interruptions seemed to
follow the server.

===============================  =====  =====  =====  =====
service, load, interruptions     p50    p95    p99    p99.9
===============================  =====  =====  =====  =====
exponential 0.3, 5% in 3 ms      .97    .97    .97    .95
exponential 0.7, 5% in 0.3 ms    .94    .98    .96    -
exponential 0.7, 5% in 3 ms      .95    .96    1.0    -
lognormal 0.3, 15% in 3 ms       .97    .91    .93    .95
bimodal 0.3, 5% in 0.3 ms        1.0    .95    .93    .95
===============================  =====  =====  =====  =====
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from hindmost.errors import ArgumentError
from hindmost.stats.estimate import Estimate
from hindmost.stats.requests.dependence import Dependence, Onsets, interruption_dependence
from hindmost.stats.requests.interruptions import Interruptions, Nanos, Service, quiet_again
from hindmost.stats.requests.survival import Survival
from hindmost.stats.series.within_run import LEAST_SHARE_OF_D, MIN_EFFECTIVE, STRETCH, wider
from hindmost.stats.tables import Floats, t_quantile, upper_tail

NEVER = int(np.iinfo(np.int64).max)
"""Completion time of a request that was never answered."""

RELAXATIONS = 3.0
"""Relaxation times to wait after a drain. Without waiting, p99 is 1 to 14 % too high; 10 cost half of the
requests at high load and are within 1 %.
"""

MOST_UTILISATION = 0.9
LEAST_COUNTED = 0.2
LEAST_SPELLS = 30
SECTIONS = 10
SURE = 0.01
"""False-alarm rate of `settled`, over all quantiles together."""
MATERIAL = 0.05
"""Relative difference that matters even within a wide interval."""


@dataclass(frozen=True, slots=True)
class IsolatedQuantile:
    """One isolated quantile.

    ``estimate``: in ns, n = 1 run. Its ends are NaN if the run is `too_short`. It is None if too many
    requests were censored, and infinite if the quantile is known to be infinite. ``longer``: the quantile
    after waiting twice as long, NaN if no request is left then. ``settled``: whether that lies within the
    interval, or differs by chance; None without an interval. ``effective``: number of independent requests
    with the same information in the tail. ``need``: factor by which the run must be longer to get an
    interval.
    """

    level: float
    estimate: Estimate | None
    longer: float
    settled: bool | None
    too_short: bool
    effective: float
    need: float
    text: str


@dataclass(frozen=True, slots=True)
class IsolatedLatency:
    """Isolated latency of a run.

    ``taken``: share of time lost to interference. ``counted``: share of requests that count. ``seen_ns``: the
    shortest interruption that would be seen. ``spells``: number of quiet periods with requests.
    """

    quantiles: tuple[IsolatedQuantile, ...]
    requests: int
    counted: float
    taken: float
    interruptions: int
    spells: int
    seen_ns: float


@dataclass(frozen=True, slots=True)
class IsolationRefusal:
    """Why there is no isolated latency, and what it needs.

    ``need``: the required change, as text. The figures are those known at the time of the refusal.
    """

    reason: Literal["empty", "utilisation", "counted", "spells", "dependence"]
    text: str
    need: str
    counted: float
    taken: float
    interruptions: int
    spells: int


@dataclass(frozen=True, slots=True)
class CensoredRequests:
    """Requests that count, their censored times, and the quiet period of each.

    ``counted``: their indices among all requests.
    """

    counted: npt.NDArray[np.int64]
    times: Floats
    censored: npt.NDArray[np.bool_]
    spell: npt.NDArray[np.int64]


def censor(
    scheduled: Nanos,
    completed: Nanos,
    interruptions: Interruptions,
    service: Service,
    relaxations: float = RELAXATIONS,
) -> CensoredRequests:
    """Leave out requests scheduled too early, and censor those in flight when the next interruption began."""
    latency = np.where(completed == NEVER, math.inf, (completed - scheduled).astype(np.float64))
    if not len(interruptions):
        everyone = np.arange(scheduled.size)
        return CensoredRequests(
            everyone, latency, np.zeros(scheduled.size, dtype=bool), np.zeros(scheduled.size, dtype=np.int64)
        )
    again = quiet_again(interruptions, service, relaxations)
    spell = np.searchsorted(interruptions.on, scheduled, side="right")
    waiting = np.concatenate([[-math.inf], again])[spell]
    counted = np.flatnonzero((scheduled - interruptions.on[0]) >= waiting)
    spell = spell[counted]
    following = np.append(interruptions.on, NEVER)[spell]
    censored = completed[counted] > following
    times = np.where(censored, (following - scheduled[counted]).astype(np.float64), latency[counted])
    return CensoredRequests(counted, times, censored, spell)


def isolated_latency(
    scheduled: npt.ArrayLike,
    completed: npt.ArrayLike,
    interruptions: Interruptions,
    service: Service,
    levels: Sequence[float] = (0.5, 0.95, 0.99, 0.999),
    *,
    relaxations: float = RELAXATIONS,
    least_spells: int = LEAST_SPELLS,
    dependence: Dependence | None = None,
    confidence: float = 0.95,
) -> IsolatedLatency | IsolationRefusal:
    """Estimate quantiles of latency without interference.

    Parameters
    ----------
    scheduled, completed : array_like of int, shape (n,)
        Scheduled and completed times in ns on one clock, of all requests of one run or a uniform sample of
        them; `NEVER` for an unanswered request.
    interruptions : Interruptions
        The interruptions of the server's and the client's processors.
    service : Service
        The server's load during quiet periods.
    levels : sequence of float
        In (0, 1).
    relaxations : float
        Relaxation times to wait after each drain.
    least_spells : int
        Fewest quiet periods, if there was interference: fewer cannot show whether interruptions follow the
        server's work. Pass 1 if several runs are tested together, with their `dependence`.
    dependence : Dependence, optional
        Result of that test over all runs. Default: from this run alone.
    confidence : float
        Nominal level.

    Raises
    ------
    ValueError
        If shapes differ, a request was completed before it was scheduled, or a level is not in (0, 1).

    Examples
    --------
    >>> random = np.random.default_rng(1)
    >>> scheduled = np.cumsum(random.exponential(40_000.0, 50_000)).astype(np.int64)
    >>> completed = scheduled + random.exponential(20_000.0, scheduled.size).astype(np.int64)
    >>> none = Interruptions.from_times([], [])
    >>> p99 = isolated_latency(scheduled, completed, none, Service(0.5, 2e4), [0.99]).quantiles[0].estimate
    >>> bool(p99.value == np.sort(completed - scheduled)[49_499])
    True
    """
    begin, end = np.asarray(scheduled, dtype=np.int64), np.asarray(completed, dtype=np.int64)
    if begin.ndim != 1 or begin.shape != end.shape or (end < begin).any():
        raise ArgumentError(
            "bad-argument",
            "expected one scheduled and one completed time per request, none completed before it was"
            " scheduled",
            argument="completed",
        )
    if not all(0.0 < level < 1.0 for level in levels):
        raise ArgumentError(
            "bad-argument",
            f"quantiles lie in (0, 1), got {list(levels)}",
            argument="levels",
            value=list(levels),
        )
    if not begin.size:
        return IsolationRefusal(
            "empty", "no requests", "a run with requests", 0.0, 0.0, len(interruptions), 0
        )
    span = int(begin.min()), int(begin.max()) + 1
    taken = interruptions.taken(*span)
    near = censor(begin, end, interruptions, service, relaxations)
    counted, spells = near.times.size / begin.size, int(np.unique(near.spell).size)
    refused = _refusal(service, counted, taken, len(interruptions), spells, least_spells)
    if refused:
        return refused
    if dependence is None:
        dependence = interruption_dependence([Onsets.from_requests(begin, end, interruptions, service)])
    if dependence.depends:
        need = "remove its quota; under a quota, raw latency is what the server does"
        return IsolationRefusal(
            "dependence", dependence.text, need, counted, taken, len(interruptions), spells
        )
    far = censor(begin, end, interruptions, service, 2.0 * relaxations)
    section = ((begin - span[0]) * SECTIONS) // (span[1] - span[0])
    parts = [_Part.from_requests(one, section) for one in ((near, far) if len(interruptions) else (near,))]
    quantiles = tuple(_quantile(level, parts, begin.size, len(levels), confidence) for level in levels)
    return IsolatedLatency(
        quantiles, begin.size, counted, taken, len(interruptions), spells, interruptions.seen_ns
    )


def _refusal(
    service: Service, counted: float, taken: float, interruptions: int, spells: int, least_spells: int
) -> IsolationRefusal | None:
    def refused(
        reason: Literal["utilisation", "counted", "spells"], text: str, need: str
    ) -> IsolationRefusal:
        return IsolationRefusal(reason, text, need, counted, taken, interruptions, spells)

    if not interruptions:
        return None
    if service.utilisation > MOST_UTILISATION:
        busy = f"the server is {service.utilisation:.0%} busy without interference, so backlogs hardly drain"
        return refused("utilisation", busy, f"a rate at which it is at most {MOST_UTILISATION:.0%} busy")
    if counted < LEAST_COUNTED:
        left = f"{counted:.1%} of requests were scheduled in quiet periods, {LEAST_COUNTED:.0%} are needed"
        why = f"{taken:.1%} of time was lost in {interruptions} interruptions"
        return refused("counted", f"{left}: {why}", "a lower rate, or a quieter host")
    if spells < least_spells:
        few = f"{spells} quiet periods; {least_spells} are needed to tell interference from the server's work"
        need = f"a run {math.ceil(least_spells / max(spells, 1))} times as long, or several runs together"
        return refused("spells", few, need)
    return None


@dataclass(frozen=True)
class _Part:
    """The distribution of the counted requests, and the independent periods of time."""

    law: Survival
    watched: CensoredRequests
    piece: npt.NDArray[np.int64]
    worth: float

    @classmethod
    def from_requests(cls, watched: CensoredRequests, section: npt.NDArray[np.int64]) -> _Part | None:
        if not watched.times.size:
            return None
        piece = watched.spell * SECTIONS + section[watched.counted]
        sizes = np.unique_counts(piece).counts.astype(np.float64)
        worth = float(sizes.sum() ** 2 / (sizes @ sizes))
        return cls(Survival(watched.times, watched.censored), watched, piece, worth)

    def scatter(self, level: float) -> Floats | None:
        """Return the influence of each counted request on the share above the quantile."""
        place = self.law.place(level)
        return self.law.influence(place) if place < self.law.n - 1 else None

    def dispersion(self, level: float) -> float:
        """Return the variance of the share above a quantile, relative to as many independent requests."""
        influence = self.scatter(level)
        if influence is None or self.worth <= 1.0:
            return 0.0
        independent = level * (1.0 - level) / self.law.n
        return _variance(influence, self.piece) / independent


def _variance(influence: Floats, piece: npt.NDArray[np.int64]) -> float:
    """Return the variance of a sum of influences over periods, with k - 1 degrees of freedom."""
    pieces, place = np.unique(piece, return_inverse=True)
    sums = np.bincount(place, influence)
    k = pieces.size
    return float(sums @ sums) * k / (k - 1) if k > 1 else math.nan


def _quantile(
    level: float, parts: Sequence[_Part | None], requests: int, questions: int, confidence: float
) -> IsolatedQuantile:
    near = parts[0]
    assert near is not None  # checked by `isolated_latency`
    law, rare, name = near.law, min(level, 1.0 - level), f"p{100 * level:.6g}"
    value = law.quantile(level)
    longer, same = _wait_twice(level, parts, questions)
    own = near.dispersion(level)
    dispersion = max(1.0, own, near.dispersion(wider(level)))
    effective = rare * law.n / dispersion
    t = t_quantile(max(near.worth - 1.0, 1.0), 0.5 + confidence / 2.0)
    short = t * math.sqrt(max(own, LEAST_SHARE_OF_D * dispersion) * rare * (1.0 - rare) / law.n)
    long = short * (1.0 + STRETCH / effective)
    worth = f"{rare * law.n:.0f} counted requests beyond {name} equal {effective:.1f} independent ones"
    if effective < MIN_EFFECTIVE or long >= rare or not math.isfinite(value):
        need = max(2.0 * MIN_EFFECTIVE / effective, 2.0)
        nothing = None if math.isnan(value) else Estimate(value, math.nan, math.nan, 1, confidence)
        text = f"{worth}, {MIN_EFFECTIVE} are needed: make the run {need:.1f} times as long"
        return IsolatedQuantile(level, nothing, longer, None, True, effective, need, text)
    below, beyond = (short, long) if level >= 0.5 else (long, short)
    low, high = law.quantile(level - below), law.quantile(level + beyond)
    high = math.inf if math.isnan(high) else high  # too few uncensored requests: no upper end
    found = Estimate(value, min(value, low), max(value, high), 1, confidence)
    near_enough = found.low <= longer <= found.high and abs(longer - value) <= MATERIAL * value
    settled = same or math.isnan(longer) or near_enough
    return IsolatedQuantile(level, found, longer, settled, False, effective, 1.0, worth)


def _wait_twice(level: float, parts: Sequence[_Part | None], questions: int) -> tuple[float, bool]:
    """Return the quantile after waiting twice as long, and whether the difference is within chance.

    Requests that count then also count at the shorter wait, so the difference has its own paired error,
    period by period.
    """
    near = parts[0]
    assert near is not None
    if len(parts) == 1:
        return near.law.quantile(level), True
    far = parts[1]
    if far is None:
        return math.nan, True
    longer = far.law.quantile(level)
    place = near.law.place(level)
    a = near.scatter(level)
    if a is None or not math.isfinite(longer):
        return longer, True
    time = float(near.law.times[place])
    at = int(np.searchsorted(far.law.times, time, side="right")) - 1
    if not 0 <= at < far.law.n - 1:
        return longer, True
    difference = a.copy()
    # Requests that count at the longer wait are a subset of those at the shorter wait.
    difference[np.searchsorted(near.watched.counted, far.watched.counted)] -= far.law.influence(at)
    error = math.sqrt(_variance(difference, near.piece))
    gap = abs(float(near.law.survival[place]) - float(far.law.survival[at]))
    if error == 0.0:
        return longer, gap == 0.0
    p = 2.0 * float(upper_tail(np.array(gap / error), max(near.worth - 1.0, 1.0)))
    return longer, p * questions > SURE
