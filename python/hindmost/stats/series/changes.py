"""Detection of recent changes of latency, under autocorrelation, at a stated rate of false alarms.

The unit is the block (30 s by default), long compared with a queue's memory. A block's value is the logarithm
of its quantile. A new block is compared with the baseline's blocks by Student's t, with the effective size of
the baseline and the spread of a block from their lag-1 autocorrelation. The spread within a block is not
used, because autocorrelation makes it too small: on latencies of a queue at 70 % load, the t-test on single
requests rejects three of four true nulls.

t assumes a distribution that quantiles of a busy queue do not have: at 90 % load alarms were five times as
frequent as requested. So the baseline's own tail must agree, extrapolated to the requested rate (exponential
excesses, with their predictive distribution for small samples). If blocks are still correlated, longer ones
are used (`block_multiple`).

An anomaly must not become its own baseline. From the first blocks that may be anomalous the baseline is
frozen, until latency recovers or the suspicion has not been confirmed for `SUSPECTED_BLOCKS`.

The rule "more than a standard deviation away" (TailSniping, equation 6.1, here as `paper_mode`) is not used:
two windows of the same noise are that far apart in 48 % of all comparisons.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hindmost.stats.tables import t_quantile, upper_tail

WEEK_S = 7 * 24 * 3600.0
LEAST_BLOCKS = 12
"""Fewest blocks of a baseline with a usable spread. With fewer, the t quantile at one alarm per week exceeds
8.
"""
MOST_CORRELATION = 0.9
MOST_MULTIPLE = 10.0
"""Value of a block in which nothing was answered in time, as a multiple of the slowest known block."""
SUSPECT_P = 0.2
"""One-sided p below which the baseline is frozen and the answer is not *unchanged*."""
SUSPECTED_BLOCKS = 20
"""Number of blocks after which a suspicion ends, confirmed or not."""
EPISODE_BLOCKS = 960
"""Number of blocks through which an episode is followed. A change that has lasted for eight hours is the new
normal.
"""
GAP_BLOCKS = 1
"""Blocks between baseline and now: a change that has begun must not be part of its own baseline."""
NOW_BLOCKS = 2
"""Blocks that must all be slow, because quantiles are skewed and one block's t has too heavy a tail."""
EACH = 0.75
"""Power of the level that each block must reach. Independent normal blocks would need 1/2; the rest allows
for skewed and dependent ones (tests/stats/test_changes.py: AR(1) noise of up to 0.97 per second, an M/M/1
queue at 70 %). At 90 % it does not suffice: five alarms per week instead of one.
"""
TAIL_BLOCKS = 960
"""Baseline blocks whose tail is extrapolated: eight hours of blocks of 30 s."""
TAIL_SHARE = 0.1
"""Share of these blocks that form the tail; more if that is fewer than `LEAST_TAIL`."""
LEAST_TAIL = 6
LEAST_CLUSTERS = 3
"""Fewest excursions of a baseline from which its tail is known."""
MULTIPLES = (1, 2, 4, 8)
REMEMBERED = 0.5
"""Lag-1 autocorrelation of blocks above which longer ones are used."""
RESAMPLES = 400
DAY_S = 86_400.0
RHYTHM_S = 1800.0
SURE_SLOPE = 3.0
"""Standard errors by which a baseline must grow before its trend is trusted."""

Kind = Literal["none", "anomaly", "drift", "rhythm", "undecided"]


@dataclass(frozen=True, slots=True)
class Change:
    """Result for the latest blocks.

    Attributes
    ----------
    kind : str
        ``none``; ``anomaly``: it became slow; ``drift``: it continues its trend; ``rhythm``: it was the same
        at this time on previous days; ``undecided``: more blocks are needed, see `minutes`.
    ratio : float
        The quantile now over the baseline's; with `low` and `high`, its interval at 95 %.
    p : float
        p-value of the one-sided test, uncorrected.
    needed_p : float
        An alarm needs a p below this.
    tail_p : float
        Expected frequency per block with which the baseline's own tail reaches as far. An alarm needs at most
        the requested rate.
    effective : float
        Number of independent blocks that the baseline is equivalent to.
    why : str
        One sentence.
    minutes : float or None
        Maximum time until it is decided, if undecided.
    since_s : float or None
        End of the first block of the anomaly, or of a possible one, in seconds as in `Detector.judge`.
    """

    kind: Kind
    ratio: float
    low: float
    high: float
    p: float
    needed_p: float
    tail_p: float
    effective: float
    why: str
    minutes: float | None = None
    since_s: float | None = None


@dataclass(frozen=True, slots=True)
class Detector:
    """Settings of the detection of changes.

    Attributes
    ----------
    block_s : float
        Length of a block, in seconds.
    alarms_a_week : float
        Expected false alarms per week, for one quantile that is watched all the time.
    least_ratio : float
        A smaller change is ignored, however significant.
    baseline_blocks : int
        Maximum number of baseline blocks, the last ones before the gap.
    """

    block_s: float = 30.0
    alarms_a_week: float = 1.0
    least_ratio: float = 1.2
    baseline_blocks: int = 120

    @property
    def a_block(self) -> float:
        """Alarms per block, for this number per week."""
        return min(0.05, self.alarms_a_week * self.block_s / WEEK_S)

    @property
    def needed_p(self) -> float:
        """Largest p of each block that must be slow."""
        return float(self.a_block**EACH)

    def judge(self, at_s: NDArray[np.float64], values: NDArray[np.float64]) -> Change:
        """Judge the latest blocks.

        Parameters
        ----------
        at_s : array, shape (n,)
            Seconds of the blocks' ends, ascending.
        values : array, shape (n,)
            Their quantiles, in any unit; NaN for a block without requests.

        Returns
        -------
        Change
        """
        *_, last = self._walk(at_s, values, each=False)
        return last

    def follow(self, at_s: NDArray[np.float64], values: NDArray[np.float64]) -> Iterator[Change]:
        """Judge block after block of the last eight hours, as `judge` would have at each time.

        Parameters and yields are those of `judge`.
        """
        return self._walk(at_s, values, each=True)

    def _walk(
        self, at_s: NDArray[np.float64], values: NDArray[np.float64], *, each: bool
    ) -> Iterator[Change]:
        """Go block by block.

        Blocks that are clearly not slow are compared only if `each` is set, or if they are last.
        """
        at_s, logs = _logs(at_s, values)
        first = LEAST_BLOCKS + GAP_BLOCKS + NOW_BLOCKS
        if len(logs) < first:
            yield self._few(len(logs))
            return
        begun, called = None, False
        for end in range(max(first, len(logs) - EPISODE_BLOCKS), len(logs) + 1):
            before = end - NOW_BLOCKS - GAP_BLOCKS if begun is None else begun
            if not (each or end == len(logs)) and not self._is_slower(
                logs[:before], logs[end - NOW_BLOCKS : end]
            ):
                begun, called = None, False
                continue
            found = self._compare(at_s[:end], logs[:end], before, called=called)
            if found.kind in ("anomaly", "undecided"):
                begun, called = before, called or found.kind == "anomaly"
                if not called and end - begun > SUSPECTED_BLOCKS:
                    begun = None
                    found = _as(found, "none", "temporarily slower, within the normal range of this series")
            else:
                begun, called = None, False
            yield found

    def _is_slower(self, before: NDArray[np.float64], now: NDArray[np.float64]) -> bool:
        baseline = before[-self.baseline_blocks :]
        return float(now.min()) - float(baseline.sum()) / len(baseline) >= math.log(self.least_ratio)

    def _compare(
        self, at_s: NDArray[np.float64], logs: NDArray[np.float64], before: int, *, called: bool
    ) -> Change:
        """Compare the latest blocks with the baseline that ends at `before`."""
        baseline = logs[:before][-self.baseline_blocks :]
        # Use the least slow of the latest blocks, because all must be slow.
        at = len(logs) - NOW_BLOCKS + int(np.argmin(logs[-NOW_BLOCKS:]))
        now, when = float(logs[at]), float(at_s[at])
        step = _against(baseline, now)
        pairs = _least_of_pairs(logs[:before][-TAIL_BLOCKS:])
        slow_enough = step.shift >= math.log(self.least_ratio)
        found = Change(
            "none",
            math.exp(step.shift),
            math.exp(step.shift - step.half),
            math.exp(step.shift + step.half),
            step.p,
            self.needed_p,
            tail_p(pairs, now) if slow_enough else 1.0,
            step.effective,
            "unchanged",
        )
        if step.p > SUSPECT_P or not slow_enough:
            return found
        slow = f"{found.ratio:.2f} times the baseline's"
        ago = when - at_s
        of_day = np.minimum(ago % DAY_S, DAY_S - ago % DAY_S)
        same_time = logs[(of_day <= RHYTHM_S) & (ago > DAY_S / 2)]
        if len(same_time) >= LEAST_BLOCKS and _against(same_time, now).p > self.needed_p:
            return _as(found, "rhythm", f"{slow}, as at this time on previous days")
        # The trend includes suspected blocks. Only a certain event is kept out of it.
        growing = slice(-GAP_BLOCKS - NOW_BLOCKS - self.baseline_blocks, -GAP_BLOCKS - NOW_BLOCKS)
        times, grown = at_s[growing], logs[growing]
        trend = _against(*_detrend(times, grown, when, now))
        if not called and trend.p > self.needed_p and _slope_is_sure(times, grown):
            return _as(found, "drift", f"{slow}, in line with its trend: slow growth, not an event")
        since_s = float(at_s[before + GAP_BLOCKS])
        sure = step.p <= self.needed_p and found.tail_p <= self.a_block
        often = len(_excursions(pairs, now))
        if often >= LEAST_CLUSTERS and not (sure or called):
            return _as(found, "none", f"{slow}, as {often} times before")
        fresh = logs[before + GAP_BLOCKS + NOW_BLOCKS :]
        if not (sure or called or _lasts(baseline, fresh, self.needed_p)):
            left = self._left(baseline, fresh, now)
            text = f"{slow}, possibly by chance; {left:g} more min will decide"
            return replace(_as(found, "undecided", text), minutes=left, since_s=since_s)
        return replace(_as(found, "anomaly", slow), since_s=since_s)

    def _left(self, baseline: NDArray[np.float64], fresh: NDArray[np.float64], now: float) -> float:
        """Return the minutes until a suspicion is confirmed, if latency stays as now, or ends."""
        most = SUSPECTED_BLOCKS - NOW_BLOCKS - len(fresh)
        goes_on = np.concatenate([fresh, np.full(max(1, most), now)])
        enough = range(1, max(1, most))
        more = next(
            (n for n in enough if _lasts(baseline, goes_on[: len(fresh) + n], self.needed_p)), max(1, most)
        )
        return more * self.block_s / 60

    def _few(self, blocks: int) -> Change:
        nan = math.nan
        need = LEAST_BLOCKS + GAP_BLOCKS + NOW_BLOCKS
        minutes = (need - blocks) * self.block_s / 60
        why = f"{blocks} blocks of {self.block_s:g} s; {need} are needed, in {minutes:g} min"
        return Change("undecided", nan, nan, nan, nan, self.needed_p, nan, 0.0, why, minutes)


def _logs(
    at_s: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return known blocks as logarithms. A block without an answer in time is slower than all others."""
    known = values > 0  # NaN is not
    finite = known & np.isfinite(values)
    most = MOST_MULTIPLE * float(values[finite].max(initial=0.0))
    return at_s[known], np.log(np.where(finite, values, most)[known]) if most else np.empty(0)


@dataclass(frozen=True, slots=True)
class _Step:
    shift: float
    half: float
    p: float
    effective: float


def _against(baseline: NDArray[np.float64], now: float) -> _Step:
    """Compare one value with earlier ones: Student's t with their effective number."""
    effective = effective_size(baseline)
    error = max(_spread(baseline, effective), 1e-9) * math.sqrt(1 + 1 / effective)
    freedom = max(2.0, effective - 1)
    shift = now - float(baseline.mean())
    return _Step(
        shift,
        t_quantile(freedom, 0.975) * error,
        float(upper_tail(np.array(shift / error), freedom)),
        effective,
    )


def _lasts(baseline: NDArray[np.float64], fresh: NDArray[np.float64], needed_p: float) -> bool:
    """Return whether the blocks after the suspected ones confirm them by their mean (Student's t)."""
    if len(fresh) < NOW_BLOCKS:
        return False
    n, r = len(fresh), correlation(baseline)
    of_base, of_fresh = effective_size(baseline), max(1.0, n * (1 - r) / (1 + r))
    error = max(_spread(baseline, of_base), 1e-9) * math.sqrt(1 / of_base + 1 / of_fresh)
    shift = float(fresh.mean() - baseline.mean())
    return float(upper_tail(np.array(shift / error), max(2.0, of_base - 1))) <= needed_p


def _spread(baseline: NDArray[np.float64], effective: float) -> float:
    """Return the standard deviation of a block.

    The sample's is too small for correlated values: E[s^2] = var (1 - 1/effective) n / (n - 1).
    """
    n = len(baseline)
    return float(baseline.std(ddof=1)) / math.sqrt(max(0.2, (1 - 1 / effective) * n / (n - 1)))


def _least_of_pairs(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the decisive value at each position of the baseline: the minimum of `NOW_BLOCKS` neighbours."""
    return np.asarray(np.min(np.lib.stride_tricks.sliding_window_view(logs, NOW_BLOCKS), axis=1))


def tail_p(values: NDArray[np.float64], now: float) -> float:
    """Return the expected frequency of a value as high as `now` in a series, for exponential excesses.

    The predictive distribution of the next excess after k with mean e is Pareto's, ``(1 + z / (k e)) ** -k``:
    with few excesses the tail is not trusted far. Neighbours above the threshold count once, by their
    maximum. The logarithms of latencies have a tail that falls faster than exponentially, so this errs
    towards silence.

    Examples
    --------
    >>> quiet = np.sin(np.arange(500.0))
    >>> tail_p(quiet, 0.5), tail_p(quiet, 1.2) < 1e-3
    (1.0, True)
    """
    share = max(TAIL_SHARE, LEAST_TAIL / len(values))
    if share > 0.5:
        return 1.0
    threshold = float(np.quantile(values, 1 - share))
    if now <= threshold:
        return 1.0
    tops = _excursions(values, threshold)
    k = len(tops)
    if k < LEAST_CLUSTERS:
        return 1.0
    excess = float(np.mean(tops - threshold))
    return float(k / len(values) * (1 + (now - threshold) / max(k * excess, 1e-12)) ** -k)


def _excursions(values: NDArray[np.float64], threshold: float) -> NDArray[np.float64]:
    """Return the maximum of each excursion of a series above a threshold. Neighbours form one excursion."""
    above = np.flatnonzero(values > threshold)
    clusters = np.split(above, np.flatnonzero(np.diff(above) > NOW_BLOCKS) + 1)
    return np.array([values[one].max() for one in clusters if len(one)])


def block_multiple(values: NDArray[np.float64]) -> int | None:
    """Return how many blocks to merge so that they are hardly correlated: 1, 2, 4 or 8.

    None if even 8 are not enough, or too few blocks would be left to know.

    Examples
    --------
    >>> block_multiple(np.random.default_rng(1).lognormal(size=300))
    1
    """
    logs = np.log(values[np.isfinite(values) & (values > 0)])
    for multiple in MULTIPLES:
        whole = len(logs) // multiple
        if whole < LEAST_BLOCKS:
            # The series is too short to know more, so it is used as it is, with its effective size.
            return multiple if multiple == 1 else None
        if correlation(logs[: whole * multiple].reshape(whole, multiple).mean(axis=1)) <= REMEMBERED:
            return multiple
    return None


def interval_by_blocks(
    values: NDArray[np.float64], confidence: float = 0.95, seed: int = 1
) -> tuple[float, float]:
    """Compute the interval of the latest ratio to the baseline by a block bootstrap (Künsch 1989).

    It uses the blocks of `Detector.judge`'s t interval, assumes no distribution, and undercovers slightly for
    a short baseline. The ends are NaN for a baseline of fewer than 12 blocks.

    Parameters
    ----------
    values : array, shape (n,)
        Quantiles of blocks, in any unit, the oldest first.
    """
    logs = np.log(values[np.isfinite(values) & (values > 0)])
    baseline, now = logs[: -NOW_BLOCKS - GAP_BLOCKS], logs[-NOW_BLOCKS:]
    n = len(baseline)
    if n < LEAST_BLOCKS:
        return math.nan, math.nan
    r = correlation(baseline)
    length = min(n // 2, math.ceil(1.5 * (1 + r) / (1 - r)))
    rng = np.random.default_rng(seed)
    begins = rng.integers(0, n - length + 1, (RESAMPLES, math.ceil(n / length)))
    means = baseline[begins[:, :, None] + np.arange(length)].mean(axis=(1, 2))
    # The latest blocks scatter like neighbours of the baseline.
    of_now = np.lib.stride_tricks.sliding_window_view(baseline, NOW_BLOCKS).mean(axis=1) - baseline.mean()
    shifts = now.mean() + rng.choice(of_now, RESAMPLES) - means
    low, high = np.quantile(shifts, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(np.exp(low)), float(np.exp(high))


def paper_mode(before: NDArray[np.float64], now: NDArray[np.float64]) -> bool:
    """Return the result of the dissertation's equation 6.1 as printed, for comparison.

    Examples
    --------
    >>> paper_mode(np.array([1.0, 2.0, 3.0]), np.array([3.5]))
    True
    """
    return bool(abs(float(now.mean()) - float(before.mean())) > float(before.std(ddof=1)))


def correlation(values: NDArray[np.float64]) -> float:
    """Return the lag-1 autocorrelation, from 0 to 0.9, corrected for bias in short series (Kendall 1954).

    Examples
    --------
    >>> round(correlation(np.array([1.0, -1.0] * 10)), 2)
    0.0
    """
    centred = values - values.mean()
    power = float(centred @ centred)
    if power <= 0:
        return 0.0
    raw = float(centred[1:] @ centred[:-1]) / power
    n = len(values)
    return min(MOST_CORRELATION, max(0.0, raw + (1 + 3 * raw) / n))


def effective_size(values: NDArray[np.float64]) -> float:
    """Return the equivalent number of independent values: ``n (1 - r) / (1 + r)``, at least 2."""
    r = correlation(values)
    return max(2.0, len(values) * (1 - r) / (1 + r))


def _detrend(
    times: NDArray[np.float64], baseline: NDArray[np.float64], when: float, now: float
) -> tuple[NDArray[np.float64], float]:
    slope, level = np.polyfit(times - when, baseline, 1)
    return baseline - slope * (times - when) - level, now - float(level)


def _slope_is_sure(times: NDArray[np.float64], baseline: NDArray[np.float64]) -> bool:
    """Return whether the baseline grows by more than its autocorrelation explains."""
    span = times - times.mean()
    slope = float(span @ baseline) / float(span @ span)
    rest = baseline - baseline.mean() - slope * span
    effective = max(3.0, effective_size(rest))
    spread = math.sqrt(float(rest @ rest) / len(rest) * effective / (effective - 2))
    return slope * float(span.std()) * math.sqrt(effective) > SURE_SLOPE * spread


def _as(change: Change, kind: Kind, why: str) -> Change:
    return replace(change, kind=kind, why=why)
