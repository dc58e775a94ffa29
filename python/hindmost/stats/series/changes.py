"""Whether a latency percentile has just changed, under autocorrelation, at a stated rate of false alarms.

The unit is the block (30 s by default), long against the time for which a queue remembers. A block's value
is the logarithm of its quantile; a new block is compared with those of the baseline by Student's t, where
the baseline's effective size and the spread of a block follow from their own lag-1 autocorrelation. Nothing
is taken from the spread inside a block, which autocorrelation makes too small: on latencies of a queue at
70 % load the t-test on single requests rejects three of four true nulls.

t asks for a law that quantiles of a busy queue do not have: at 90 % load alarms came five times as often as
was asked for. So the baseline's own tail must agree, extrapolated to the rate that was asked for (exponential
excesses, the predictive law of few of them), and where blocks still remember each other, longer ones are
taken (`block_multiple`).

An anomaly must not become its own baseline: from the first blocks that may be one the baseline is frozen,
until latency is back or the suspicion has not been confirmed for `SUSPECTED_BLOCKS`.

Never "more than a standard deviation away" (TailSniping, equation 6.1, here as `paper_mode`): two windows of
the same noise are that far apart in 48 % of all comparisons.
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
"""A baseline of fewer has no usable spread: its t quantile at one alarm a week is beyond 8."""
MOST_CORRELATION = 0.9
MOST_MULTIPLE = 10.0
"""Of the slowest known block: what a block counts as in which nothing was answered in time."""
SUSPECT_P = 0.2
"""Of the one-sided test, below which the baseline is frozen and the answer is not *unchanged*."""
SUSPECTED_BLOCKS = 20
"""After so many the suspicion ends: confirmed, or without ground."""
EPISODE_BLOCKS = 960
"""Blocks through which an episode is followed: what has lasted for eight hours of them is the new normal."""
GAP_BLOCKS = 1
"""Between baseline and now: what has begun already must not be its own baseline."""
NOW_BLOCKS = 2
"""Blocks that must all be slow: quantiles are skewed, and one block's t has too heavy a tail."""
EACH = 0.75
"""Power of the level that each must reach. Independent normal blocks would need 1/2; the rest pays for
skewed and dependent ones (tests/stats/test_changes.py: AR(1) noise of up to 0.97 a second, an M/M/1 queue at
70 %). At 90 % it is not enough: five alarms a week where one is asked for."""
TAIL_BLOCKS = 960
"""Of the baseline whose tail is extrapolated: eight hours of blocks of 30 s."""
TAIL_SHARE = 0.1
"""Of them that make the tail; more where that would be fewer than `LEAST_TAIL`."""
LEAST_TAIL = 6
LEAST_CLUSTERS = 3
"""Excursions of a baseline below which its tail is not known."""
MULTIPLES = (1, 2, 4, 8)
REMEMBERED = 0.5
"""Lag-1 autocorrelation of blocks beyond which longer ones are taken."""
RESAMPLES = 400
DAY_S = 86_400.0
RHYTHM_S = 1800.0
SURE_SLOPE = 3.0
"""Standard errors by which a baseline must grow before its trend is believed."""

Kind = Literal["none", "anomaly", "drift", "rhythm", "undecided"]


@dataclass(frozen=True, slots=True)
class Change:
    """What was found of the last blocks.

    Attributes
    ----------
    kind : str
        ``none``; ``anomaly``: it became slow; ``drift``: it goes on as it went; ``rhythm``: it was so at
        this time of the days before; ``undecided``: it takes more blocks to tell, see `minutes`.
    ratio : float
        Of the quantile now and in the baseline; with `low` and `high`, its interval at 95 %.
    p : float
        Of the one-sided test, uncorrected.
    needed_p : float
        Below which it must be for an alarm.
    tail_p : float
        How often the baseline's own tail reaches as far, a block; an alarm needs at most the rate asked for.
    effective : float
        Independent blocks that the baseline is worth.
    why : str
        In a sentence.
    minutes : float or None
        After which it can be told, at the latest, where it is undecided.
    since_s : float or None
        End of the first block of the anomaly, or of what may be one, in seconds as `Detector.judge` has them.
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
    """Settings of a watch for changes.

    Attributes
    ----------
    block_s : float
        Length of a block.
    alarms_a_week : float
        False ones, in expectation, of one quantile watched all the time.
    least_ratio : float
        A smaller change is none, however sure.
    baseline_blocks : int
        Most of them, the last before the gap.
    """

    block_s: float = 30.0
    alarms_a_week: float = 1.0
    least_ratio: float = 1.2
    baseline_blocks: int = 120

    @property
    def a_block(self) -> float:
        """Alarms a block, of as many a week."""
        return min(0.05, self.alarms_a_week * self.block_s / WEEK_S)

    @property
    def needed_p(self) -> float:
        """Of each block that must be slow."""
        return float(self.a_block**EACH)

    def judge(self, at_s: NDArray[np.float64], values: NDArray[np.float64]) -> Change:
        """Judge the last blocks.

        Parameters
        ----------
        at_s : array, shape (n,)
            Seconds of the blocks' ends, ascending.
        values : array, shape (n,)
            Their quantiles, in any unit; NaN where a block had no request.

        Returns
        -------
        Change
        """
        *_, last = self._walk(at_s, values, each=False)
        return last

    def follow(self, at_s: NDArray[np.float64], values: NDArray[np.float64]) -> Iterator[Change]:
        """Judge block after block, as `judge` would have at each: those of the last eight hours.

        Parameters and yields are those of `judge`.
        """
        return self._walk(at_s, values, each=True)

    def _walk(
        self, at_s: NDArray[np.float64], values: NDArray[np.float64], *, each: bool
    ) -> Iterator[Change]:
        """Block after block; those that are plainly not slow are compared only where `each` is, or last."""
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
                    found = _as(found, "none", "slower for a while, and no more than this series may be")
            else:
                begun, called = None, False
            yield found

    def _is_slower(self, before: NDArray[np.float64], now: NDArray[np.float64]) -> bool:
        baseline = before[-self.baseline_blocks :]
        return float(now.min()) - float(baseline.sum()) / len(baseline) >= math.log(self.least_ratio)

    def _compare(
        self, at_s: NDArray[np.float64], logs: NDArray[np.float64], before: int, *, called: bool
    ) -> Change:
        """Compare the last blocks with the baseline that ends at `before`."""
        baseline = logs[:before][-self.baseline_blocks :]
        # The least slow of the last blocks: all must be.
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
            "as before",
        )
        if step.p > SUSPECT_P or not slow_enough:
            return found
        slow = f"{found.ratio:.2f} times the baseline's"
        ago = when - at_s
        of_day = np.minimum(ago % DAY_S, DAY_S - ago % DAY_S)
        same_time = logs[(of_day <= RHYTHM_S) & (ago > DAY_S / 2)]
        if len(same_time) >= LEAST_BLOCKS and _against(same_time, now).p > self.needed_p:
            return _as(found, "rhythm", f"{slow}, as at this time of the days before")
        # Growth goes on through what is suspected: only an event that is sure is kept out of its trend.
        growing = slice(-GAP_BLOCKS - NOW_BLOCKS - self.baseline_blocks, -GAP_BLOCKS - NOW_BLOCKS)
        times, grown = at_s[growing], logs[growing]
        trend = _against(*_detrended(times, grown, when, now))
        if not called and trend.p > self.needed_p and _slope_is_sure(times, grown):
            return _as(found, "drift", f"{slow}, where its trend leads: slow growth, no event")
        since_s = float(at_s[before + GAP_BLOCKS])
        sure = step.p <= self.needed_p and found.tail_p <= self.a_block
        often = len(_excursions(pairs, now))
        if often >= LEAST_CLUSTERS and not (sure or called):
            return _as(found, "none", f"{slow}, as {often} times before")
        fresh = logs[before + GAP_BLOCKS + NOW_BLOCKS :]
        if not (sure or called or _lasts(baseline, fresh, self.needed_p)):
            left = self._left(baseline, fresh, now)
            text = f"{slow}, which this series may be by chance; it takes {left:g} min more to tell"
            return replace(_as(found, "undecided", text), minutes=left, since_s=since_s)
        return replace(_as(found, "anomaly", slow), since_s=since_s)

    def _left(self, baseline: NDArray[np.float64], fresh: NDArray[np.float64], now: float) -> float:
        """Minutes until a suspicion is confirmed, if it goes on as now, or ends."""
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
        why = f"{blocks} blocks of {self.block_s:g} s; it takes {need}: {minutes:g} min more"
        return Change("undecided", nan, nan, nan, nan, self.needed_p, nan, 0.0, why, minutes)


def _logs(
    at_s: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Blocks that are known, as logarithms; what was not answered in time is slower than all that was."""
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
    """One value against earlier ones: Student's t with their effective number."""
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
    """Whether the blocks after those that raised the suspicion confirm it by their mean: Student's t."""
    if len(fresh) < NOW_BLOCKS:
        return False
    n, r = len(fresh), correlation(baseline)
    of_base, of_fresh = effective_size(baseline), max(1.0, n * (1 - r) / (1 + r))
    error = max(_spread(baseline, of_base), 1e-9) * math.sqrt(1 / of_base + 1 / of_fresh)
    shift = float(fresh.mean() - baseline.mean())
    return float(upper_tail(np.array(shift / error), max(2.0, of_base - 1))) <= needed_p


def _spread(baseline: NDArray[np.float64], effective: float) -> float:
    """Standard deviation of a block.

    That of the sample is too small where values go together: E[s^2] = var (1 - 1/effective) n / (n - 1).
    """
    n = len(baseline)
    return float(baseline.std(ddof=1)) / math.sqrt(max(0.2, (1 - 1 / effective) * n / (n - 1)))


def _least_of_pairs(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """What is judged, of each place in the baseline: the least slow of `NOW_BLOCKS` neighbours."""
    return np.asarray(np.min(np.lib.stride_tricks.sliding_window_view(logs, NOW_BLOCKS), axis=1))


def tail_p(values: NDArray[np.float64], now: float) -> float:
    """How often a value as high as `now` is to be expected of a series: excesses are taken for exponential.

    The predictive law of the next excess after k with mean e is Pareto's, ``(1 + z / (k e)) ** -k``: with few
    of them the tail is not trusted far. Neighbours above the threshold count once, by the highest of them.
    Logarithms of latencies have a tail that falls faster than exponentially, so this errs to silence.

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
    """The highest value of each time at which a series is above a threshold; neighbours are one."""
    above = np.flatnonzero(values > threshold)
    clusters = np.split(above, np.flatnonzero(np.diff(above) > NOW_BLOCKS) + 1)
    return np.array([values[one].max() for one in clusters if len(one)])


def block_multiple(values: NDArray[np.float64]) -> int | None:
    """How many blocks must be taken together so that they hardly remember each other: 1, 2, 4 or 8.

    None where not even 8 do, or too few blocks would be left to tell.

    Examples
    --------
    >>> block_multiple(np.random.default_rng(1).lognormal(size=300))
    1
    """
    logs = np.log(values[np.isfinite(values) & (values > 0)])
    for multiple in MULTIPLES:
        whole = len(logs) // multiple
        if whole < LEAST_BLOCKS:
            # Too short to say more: what there is is judged as it is, by its effective size.
            return multiple if multiple == 1 else None
        if correlation(logs[: whole * multiple].reshape(whole, multiple).mean(axis=1)) <= REMEMBERED:
            return multiple
    return None


def interval_by_blocks(
    values: NDArray[np.float64], confidence: float = 0.95, seed: int = 1
) -> tuple[float, float]:
    """Interval of the last blocks' ratio to the baseline by a moving-block bootstrap (Künsch 1989).

    It uses the blocks of `Detector.judge`'s t interval, assumes no law, and covers a little less where the
    baseline is short. NaN ends where that has fewer than 12 blocks.

    Parameters
    ----------
    values : array, shape (n,)
        Quantiles of blocks, any unit, the oldest first.
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
    # The last blocks scatter as neighbours of the baseline do.
    of_now = np.lib.stride_tricks.sliding_window_view(baseline, NOW_BLOCKS).mean(axis=1) - baseline.mean()
    shifts = now.mean() + rng.choice(of_now, RESAMPLES) - means
    low, high = np.quantile(shifts, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(np.exp(low)), float(np.exp(high))


def paper_mode(before: NDArray[np.float64], now: NDArray[np.float64]) -> bool:
    """Equation 6.1 of the dissertation as printed, for comparison: further apart than one standard deviation.

    Examples
    --------
    >>> paper_mode(np.array([1.0, 2.0, 3.0]), np.array([3.5]))
    True
    """
    return bool(abs(float(now.mean()) - float(before.mean())) > float(before.std(ddof=1)))


def correlation(values: NDArray[np.float64]) -> float:
    """Lag-1 autocorrelation, between 0 and 0.9, mended for its bias in short series (Kendall 1954).

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
    """How many independent values a series is worth: ``n (1 - r) / (1 + r)``, at least 2."""
    r = correlation(values)
    return max(2.0, len(values) * (1 - r) / (1 + r))


def _detrended(
    times: NDArray[np.float64], baseline: NDArray[np.float64], when: float, now: float
) -> tuple[NDArray[np.float64], float]:
    slope, level = np.polyfit(times - when, baseline, 1)
    return baseline - slope * (times - when) - level, now - float(level)


def _slope_is_sure(times: NDArray[np.float64], baseline: NDArray[np.float64]) -> bool:
    """Whether the baseline itself grows, beyond what its autocorrelation makes of noise."""
    span = times - times.mean()
    slope = float(span @ baseline) / float(span @ span)
    rest = baseline - baseline.mean() - slope * span
    effective = max(3.0, effective_size(rest))
    spread = math.sqrt(float(rest @ rest) / len(rest) * effective / (effective - 2))
    return slope * float(span.std()) * math.sqrt(effective) > SURE_SLOPE * spread


def _as(change: Change, kind: Kind, why: str) -> Change:
    return replace(change, kind=kind, why=why)
