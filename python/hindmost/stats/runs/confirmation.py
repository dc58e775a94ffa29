"""Did the chosen setting keep its promise? Fresh runs of before and after, made in turns.

The ratio of means over runs has an interval on the scale of logarithms (the delta method, Satterthwaite's
degrees of freedom); the ratio of variances is the paper's other claim (Treadmill, ISCA 2016, Figure 12) and
runs are not normal, so its interval is studentised by the runs' own kurtosis and its critical values are
drawn from the runs; beside it stands Brown and Forsythe's test of equal spread (1974).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hindmost.stats.runs.intervals import checked
from hindmost.stats.tables import Floats, RunValues, t_quantile, upper_tail

LEAST = 4
"""Runs a side below which nothing is said of variances."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """After over before with its interval; the ends are NaN where nothing is known."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Confirmation:
    """How after compares with before.

    ``means``: ratio of means over runs; ``variances``: of variances between runs, None with fewer than 4 runs
    a side or no scatter before; ``spread_p``: Brown and Forsythe's p of equal spread. ``runs``: of each side.
    """

    means: Ratio
    variances: Ratio | None
    spread_p: float | None
    runs: tuple[int, int]


def confirmed(
    before: RunValues,
    after: RunValues,
    confidence: float = 0.95,
    *,
    paired: bool = False,
    draws: int = 4_000,
    seed: int = 1,
) -> Confirmation:
    """Compare fresh runs of two settings.

    Parameters
    ----------
    before, after
        One positive, finite value a run, same unit; two a side at least.
    confidence
        Of each interval.
    paired
        The runs at one place were made one after the other, and share what the host did meanwhile: the
        interval of means is then that of the pairs.
    draws, seed
        For the interval of the ratio of variances.

    Raises
    ------
    ValueError
        If a side has fewer than two runs, or a value is not positive and finite; or pairs do not match.

    Examples
    --------
    >>> random = np.random.default_rng(1)
    >>> found = confirmed(random.normal(181.0, 30.0, 40), random.normal(103.0, 5.0, 40))
    >>> round(found.means.value, 2), found.means.high < 0.65, found.variances.high < 0.1
    (0.56, True, True)
    """
    x, y = checked(before), checked(after)
    for side in (x, y):
        if side.size < 2 or not np.isfinite(side).all() or side.min() <= 0.0:
            raise ValueError(f"a side needs two positive, finite runs at least, got {side.tolist()}")
    if paired and x.size != y.size:
        raise ValueError(f"expected pairs, got {x.size} runs before and {y.size} after")
    means = _ratio_of_means(x, y, confidence, paired)
    if min(x.size, y.size) < LEAST or x.var() == 0.0 or y.var() == 0.0:
        return Confirmation(means, None, None, (x.size, y.size))
    variances = _ratio_of_variances(x, y, confidence, draws, np.random.default_rng(seed))
    return Confirmation(means, variances, brown_forsythe(x, y), (x.size, y.size))


def brown_forsythe(a: RunValues, b: RunValues) -> float:
    """P of equal spread: Student's test on distances from the medians (Brown and Forsythe, JASA 1974).

    Examples
    --------
    >>> round(brown_forsythe([1.0, 2, 3, 4, 5, 6], [3.0, 3.1, 3.2, 3.3, 3.4, 3.5]), 4)
    0.0043
    """
    x, y = (np.abs(side - np.median(side)) for side in (checked(a), checked(b)))
    degrees = x.size + y.size - 2
    pooled = (x.var() * x.size + y.var() * y.size) / degrees
    gap = abs(float(x.mean() - y.mean()))
    if pooled == 0.0:
        return 1.0 if gap == 0.0 else 0.0
    return float(2.0 * upper_tail(np.array(gap / math.sqrt(pooled * (1 / x.size + 1 / y.size))), degrees))


def _ratio_of_means(x: Floats, y: Floats, confidence: float, paired: bool) -> Ratio:
    value = float(y.mean() / x.mean())
    if paired:
        # Linearised: after - value * before has mean 0 over pairs.
        rest = (y / y.mean() - x / x.mean()).var(ddof=1) / x.size
        error, degrees = math.sqrt(float(rest)), x.size - 1.0
    else:
        parts = [float(side.var(ddof=1) / side.size / side.mean() ** 2) for side in (x, y)]
        error = math.sqrt(sum(parts))
        spread = sum(part**2 / (side.size - 1) for part, side in zip(parts, (x, y), strict=True))
        degrees = sum(parts) ** 2 / spread if spread > 0.0 else math.inf
    half = t_quantile(degrees, 0.5 + confidence / 2.0) * error
    return Ratio(value, value * math.exp(-half), value * math.exp(half))


def _ratio_of_variances(
    x: Floats, y: Floats, confidence: float, draws: int, random: np.random.Generator
) -> Ratio:
    value = float(y.var(ddof=1) / x.var(ddof=1))
    error = float(np.sqrt(_log_variance_error(x) + _log_variance_error(y)))
    a, b = (side[random.integers(0, side.size, (draws, side.size))] for side in (x, y))
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = np.log(b.var(axis=1, ddof=1) / a.var(axis=1, ddof=1)) - _center(x, y)
        t = moved / np.sqrt(_log_variance_error(a) + _log_variance_error(b))
    t = t[np.isfinite(t)]
    low, high = np.quantile(t, [0.5 - confidence / 2.0, 0.5 + confidence / 2.0])
    return Ratio(value, value * math.exp(-high * error), value * math.exp(-low * error))


def _center(x: Floats, y: Floats) -> float:
    """Logarithm of the ratio of variances that the drawn runs have as their truth."""
    return float(np.log(y.var() / x.var()))


def _log_variance_error(x: Floats) -> Floats:
    """Squared error of the logarithm of a variance, along the last axis: ``(kurtosis - (n-3)/(n-1)) / n``."""
    n = x.shape[-1]
    rest = x - x.mean(axis=-1, keepdims=True)
    square = (rest**2).mean(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        kurtosis = (rest**4).mean(axis=-1) / square**2
    return np.asarray(np.maximum(kurtosis - (n - 3) / (n - 1), 2.0 / n) / n)
