"""Exact rank-based intervals: shifts that Wilcoxon's two tests do not reject (Hodges and Lehmann 1963)."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from hindmost.stats.tables import Floats

_RANK_SLACK = 1e-12
EXACT = 200
"""Largest sample with the exact distribution of ranks. Above it, the normal approximation is as good."""


def signed_rank_interval(
    x: Floats, confidence: float, errors: Floats | None = None
) -> tuple[float, float, float]:
    """Estimate the centre of symmetry of independent values with its interval, from the means of all pairs.

    The level is at least `confidence` for all symmetric distributions, which may differ between values. Ends
    are NaN if there are too few values (fewer than 6 for 95 %).

    Parameters
    ----------
    x
        The values.
    confidence
        Nominal level.
    errors
        Standard error of each value, up to a common factor. Ranks are then those of distances divided by
        errors, so each mean of two values is weighted by 1 / error. Default: all equal.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 9.0])
    >>> signed_rank_interval(x, 0.95)
    (3.5, 1.0, 9.0)
    >>> signed_rank_interval(x, 0.9, np.array([1.0, 1.0, 1.0, 1.0, 1.0, 100.0]))  # else 3.5, 2.0 to 6.5
    (3.0, 1.5, 5.0)
    """
    weights = np.ones(x.size) if errors is None else 1.0 / errors
    i, j = np.triu_indices(x.size)
    means = (weights[i] * x[i] + weights[j] * x[j]) / (weights[i] + weights[j])
    return _between(np.sort(means), _signed_rank_cut(x.size, (1.0 - confidence) / 2.0))


def rank_sum_interval(x: Floats, y: Floats, confidence: float) -> tuple[float, float, float]:
    """Estimate the shift of y from x with its interval, from all differences.

    The level is at least `confidence` for distributions of equal shape. Ends are NaN if there are too few
    values.

    Examples
    --------
    >>> rank_sum_interval(np.array([1.0, 2.0, 3.0, 4.0]), np.array([11.0, 12.5, 13.0, 15.0]), 0.95)
    (10.25, 7.0, 14.0)
    """
    differences = np.sort((y[:, None] - x[None, :]).ravel())
    return _between(differences, _rank_sum_cut(x.size, y.size, (1.0 - confidence) / 2.0))


def _between(ordered: Floats, cut: int) -> tuple[float, float, float]:
    middle = float(np.median(ordered))
    if cut == 0:
        return middle, float("nan"), float("nan")
    return middle, float(ordered[cut - 1]), float(ordered[ordered.size - cut])


@cache
def _signed_rank_ways(n: int) -> Floats:
    """Return the probability of each sum of the positive ranks."""
    ways = np.ones(1)
    for rank in range(1, n + 1):
        more = np.zeros(ways.size + rank)
        more[: ways.size] += ways / 2.0
        more[rank:] += ways / 2.0
        ways = more
    return ways


def _signed_rank_cut(n: int, tail: float) -> int:
    """Return the number of smallest pair means outside the interval, counting the first one inside."""
    if n > EXACT:
        return _normal_cut(n * (n + 1) / 4.0, n * (n + 1) * (2 * n + 1) / 24.0, tail)
    return int((np.cumsum(_signed_rank_ways(n)) <= tail + _RANK_SLACK).sum())


@cache
def _rank_sum_cut(m: int, n: int, tail: float) -> int:
    """Return the same for differences, by counting orders of m and n values by their inversions."""
    if m + n > EXACT:
        return _normal_cut(m * n / 2.0, m * n * (m + n + 1) / 12.0, tail)
    # ways[k][u]: orders of k of the x among the y so far with u inversions.
    ways = np.zeros((m + 1, m * n + 1))
    ways[:, 0] = 1.0
    for _ in range(n):
        for k in range(1, m + 1):
            shifted = np.zeros(m * n + 1)
            shifted[k:] = ways[k, : m * n + 1 - k]
            ways[k] = ways[k - 1] + shifted
    orders = ways[m] / ways[m].sum()
    return int((np.cumsum(orders) <= tail + _RANK_SLACK).sum())


def _normal_cut(mean: float, variance: float, tail: float) -> int:
    """Return the cut by the normal approximation with continuity correction (error 1 in 1,000 at `EXACT`)."""
    from scipy.special import ndtri  # type: ignore[import-untyped, unused-ignore]

    return max(0, math.floor(mean + 0.5 + float(ndtri(tail)) * math.sqrt(variance)))


def signed_rank_p(x: Floats) -> float:
    """Return one-sided p of independent values symmetric about 0, against larger ones.

    Examples
    --------
    >>> signed_rank_p(np.array([0.4, 1.2, -0.1, 2.0, 0.9, 3.1]))  # rank 1 is below: 2 of 64 ways
    0.03125
    """
    order = np.argsort(np.abs(x))
    above = int((np.flatnonzero(x[order] > 0.0) + 1).sum())
    ways = _signed_rank_ways(x.size)
    return float(ways[above:].sum())
