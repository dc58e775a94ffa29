"""Test whether run values drift with the order of runs.

Intervals over runs assume exchangeable runs. A host that heats up, a page cache that fills, a neighbour that
leaves: each makes later runs slower or faster than earlier ones, and the interval then describes no actual
state of the server. Mann and Kendall's test counts the pairs of runs in ascending order. Under
exchangeability every order is equally likely, so its p-value is exact (without ties), for any distribution of
runs. False-alarm rate: at most 1 % (`FALSE_ALARM`). It detects trends, not cycles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hindmost.stats.runs.intervals import check_values
from hindmost.stats.tables import Floats, RunValues

FALSE_ALARM = 0.01
MIN_RUNS = 6
"""Fewest runs at which any order can be significant at 1 %: 2/6! = 0.3 %, but 2/5! = 1.7 %."""


@dataclass(frozen=True, slots=True)
class OrderEffect:
    """Effect of run order on run values.

    ``tau``: Kendall's correlation with run order; ``p_value``: two-sided. ``slope``: median of pairwise
    slopes, unit of the values per run, None if most pairs involve an infinite run.
    """

    tau: float
    p_value: float
    slope: float | None
    drifting: bool
    runs: int


def order_effect(values: RunValues) -> OrderEffect | None:
    """Test for a trend over the order of runs.

    Parameters
    ----------
    values
        One value per run, in run order. Infinities count as ties above all finite values.

    Returns
    -------
    OrderEffect or None
        None with fewer than 6 runs, which cannot show an effect at this level.

    Examples
    --------
    >>> order_effect([30.0, 30.4, 30.2, 30.9, 31.1, 31.6, 31.5, 32.0]).drifting
    True
    >>> order_effect([30.0, 31.4, 30.2, 30.9, 31.1, 30.6, 31.5, 30.1]).drifting
    False
    """
    x = check_values(values)
    n = x.size
    if n < MIN_RUNS:
        return None
    _, x_rank, ties = np.unique(x, return_inverse=True, return_counts=True)
    i, j = np.triu_indices(n, k=1)
    score = int(np.sign(x_rank[j] - x_rank[i]).sum())
    p = _exact_p(score, n) if ties.max() == 1 else _tied_p(score, n, ties)
    slope = _middle_slope(x, i, j)
    return OrderEffect(score / (n * (n - 1) / 2), p, slope, p < FALSE_ALARM, n)


def _exact_p(score: int, n: int) -> float:
    """Return P(|S| >= |score|) over all n! orders: inversions are a sum of independent uniforms on 0..i-1."""
    law = np.ones(1)
    for size in range(2, n + 1):
        law = np.convolve(law, np.full(size, 1.0 / size))
    inversions = (n * (n - 1) // 2 - abs(score)) // 2
    return min(1.0, 2.0 * float(law[: inversions + 1].sum()))


def _tied_p(score: int, n: int, ties: npt.NDArray[np.intp]) -> float:
    """Return the normal approximation with Kendall's variance for ties and a continuity correction."""
    t = ties.astype(np.float64)
    variance = (n * (n - 1) * (2 * n + 5) - float((t * (t - 1) * (2 * t + 5)).sum())) / 18.0
    if variance <= 0.0:
        return 1.0
    return math.erfc(max(0.0, abs(score) - 1.0) / math.sqrt(2.0 * variance))


def _middle_slope(x: Floats, i: npt.NDArray[np.intp], j: npt.NDArray[np.intp]) -> float | None:
    both = np.isfinite(x[i]) & np.isfinite(x[j])
    if both.mean() <= 0.5:
        return None
    i, j = i[both], j[both]
    return float(np.median((x[j] - x[i]) / (j - i)))
