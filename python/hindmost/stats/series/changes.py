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

Never "more than a standard deviation away" (TailSniping, equation 6.1, here as `paper_mode`): two windows of
the same noise are that far apart in 48 % of all comparisons.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hindmost.stats.tables import t_quantile, upper_tail

WEEK_S = 7 * 24 * 3600.0
LEAST_BLOCKS = 12
"""A baseline of fewer has no usable spread: its t quantile at one alarm a week is beyond 8."""
MOST_CORRELATION = 0.9
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
"""Of them that make the tail."""
LEAST_TAIL = 6
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
        this time of the days before; ``undecided``: the baseline cannot carry it, see `why`.
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
        fine = np.isfinite(values) & (values > 0)
        at_s, logs = at_s[fine], np.log(values[fine])
        before = -NOW_BLOCKS - GAP_BLOCKS
        baseline = logs[:before][-self.baseline_blocks :]
        times = at_s[:before][-self.baseline_blocks :]
        if len(baseline) < LEAST_BLOCKS:
            return self._undecided(
                f"{len(baseline)} blocks of {self.block_s:g} s before this one; it takes {LEAST_BLOCKS}"
            )
        # The least slow of the last blocks: all must be.
        at = len(logs) - NOW_BLOCKS + int(np.argmin(logs[-NOW_BLOCKS:]))
        now, when = float(logs[at]), float(at_s[at])
        step = _against(baseline, now)
        tail = tail_p(_least_of_pairs(logs[:before][-TAIL_BLOCKS:]), now)
        found = Change(
            "none",
            math.exp(step.shift),
            math.exp(step.shift - step.half),
            math.exp(step.shift + step.half),
            step.p,
            self.needed_p,
            tail,
            step.effective,
            "as before",
        )
        if step.p > self.needed_p or found.ratio < self.least_ratio:
            return found
        if tail > self.a_block:
            rate = tail * WEEK_S / self.block_s
            return _as(
                found,
                "none",
                f"{found.ratio:.2f} times the baseline's, which this series does {rate:.1f} times a week",
            )
        slow = f"{found.ratio:.2f} times the baseline's"
        ago = when - at_s
        of_day = np.minimum(ago % DAY_S, DAY_S - ago % DAY_S)
        same_time = logs[(of_day <= RHYTHM_S) & (ago > DAY_S / 2)]
        if len(same_time) >= LEAST_BLOCKS and _against(same_time, now).p > self.needed_p:
            return _as(found, "rhythm", f"{slow}, as at this time of the days before")
        trend = _against(*_detrended(times, baseline, when, now))
        if trend.p > self.needed_p and _slope_is_sure(times, baseline):
            return _as(found, "drift", f"{slow}, where its trend leads: slow growth, no event")
        return _as(found, "anomaly", slow)

    def _undecided(self, why: str) -> Change:
        nan = math.nan
        return Change("undecided", nan, nan, nan, nan, self.needed_p, nan, 0.0, why)


@dataclass(frozen=True, slots=True)
class _Step:
    shift: float
    half: float
    p: float
    effective: float


def _against(baseline: NDArray[np.float64], now: float) -> _Step:
    """One value against earlier ones: Student's t with their effective number."""
    n = len(baseline)
    center = float(baseline.mean())
    effective = effective_size(baseline)
    # The sample's spread is too small where values go together: E[s^2] = var (1 - 1/effective) n / (n - 1).
    spread = float(baseline.std(ddof=1)) / math.sqrt(max(0.2, (1 - 1 / effective) * n / (n - 1)))
    error = max(spread, 1e-9) * math.sqrt(1 + 1 / effective)
    freedom = max(2.0, effective - 1)
    shift = now - center
    return _Step(
        shift,
        t_quantile(freedom, 0.975) * error,
        float(upper_tail(np.array(shift / error), freedom)),
        effective,
    )


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
    threshold = float(np.quantile(values, 1 - TAIL_SHARE))
    if now <= threshold:
        return 1.0
    above = np.flatnonzero(values > threshold)
    if len(above) < LEAST_TAIL:
        return 1.0
    clusters = np.split(above, np.flatnonzero(np.diff(above) > NOW_BLOCKS) + 1)
    tops = np.array([values[one].max() for one in clusters])
    k = len(tops)
    excess = float(np.mean(tops - threshold))
    return float(k / len(values) * (1 + (now - threshold) / max(k * excess, 1e-12)) ** -k)


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

    Beside the t interval of `Detector.judge`, from the same blocks: it takes no law for granted, and covers a
    little less where the baseline is short. NaN ends where that has fewer than 12 blocks.

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
    return Change(
        kind,
        change.ratio,
        change.low,
        change.high,
        change.p,
        change.needed_p,
        change.tail_p,
        change.effective,
        why,
    )
