"""Permutation p-values of two arms: under the null, any run might belong to either arm.

Percentiles of one run are relabelled together, which preserves their correlation. The adjusted p is that of
the largest statistic among those still in question (Westfall and Young). It costs little for correlated
percentiles, for which Holm's procedure would adjust as if they were independent.

- Runs of two studies: all choices of the runs of the first arm, or a random sample of them. The statistic is
  Brunner and Munzel's: studentised ranks, so that a difference in scatter alone is not significant (Neubert
  and Brunner, Comput. Stat. Data Anal. 51 (2007) 5192).
- Pairs: all choices of signs; the statistic is Wilcoxon's sum of signed ranks, of log ratios divided by their
  errors if these are known (`pair_errors`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from hindmost.stats.factors.families import step_down
from hindmost.stats.runs.intervals import check_values
from hindmost.stats.shifts import statistic
from hindmost.stats.tables import Floats, RunValues

DRAWS = 4_999
"""Number of random relabellings if there are more. p is then known to .003 at .05."""


@dataclass(frozen=True, slots=True)
class RelabellingTest:
    """``p`` of each figure alone; ``adjusted`` for all of them together."""

    p: list[float]
    adjusted: list[float]


def relabelling_test(
    first: Sequence[RunValues],
    second: Sequence[RunValues],
    *,
    paired: bool,
    errors: Sequence[Floats] | None = None,
    seed: int = 1,
) -> RelabellingTest:
    """Test the null that relabelling runs changes nothing, for several figures of the same runs.

    Parameters
    ----------
    first, second
        For each figure one value per run, runs in the same order for all figures; may be infinite.
    paired
        Whether runs with the same index form a pair.
    errors
        For each figure the standard error of each pair's log ratio, up to a common factor. Default: equal.
    seed
        Random seed of the relabellings.

    Raises
    ------
    ValueError
        If figures have different numbers of runs, or pairs do not match.

    Examples
    --------
    >>> p50, p99 = [10.0, 11.0, 12.0, 10.5], [30.0, 33.0, 31.0, 32.0]
    >>> slower = [[value + 20.0 for value in p50], [value + 0.1 for value in p99]]
    >>> found = relabelling_test([p50, p99], slower, paired=False)
    >>> [round(p, 3) for p in found.p], [round(p, 3) for p in found.adjusted]
    ([0.029, 0.514], [0.057, 0.514])
    """
    x, y = (np.stack([check_values(one) for one in side]) for side in (first, second))
    if x.shape[0] != y.shape[0]:
        raise ValueError(f"expected the same figures, got {x.shape[0]} and {y.shape[0]}")
    if paired and x.shape != y.shape:
        raise ValueError(f"expected pairs, got {x.shape[1]} and {y.shape[1]} runs")
    scales = np.ones_like(x) if errors is None else np.stack(errors)
    seen, others = _signs(x, y, scales, seed) if paired else _choices(x, y, seed)
    # Rounding makes sums equal that were added in a different order.
    seen, others = np.abs(seen).round(9), np.abs(others).round(9)
    p = (1.0 + (others >= seen).sum(axis=0)) / (1.0 + len(others))
    return RelabellingTest([float(one) for one in p], step_down(seen, others))


def _choices(x: Floats, y: Floats, seed: int) -> tuple[Floats, Floats]:
    """Return Brunner and Munzel's statistic for the data, and for all other choices; columns are figures."""
    m, n = x.shape[1], y.shape[1]
    second = _members(m, n, seed)
    columns = [_statistics(np.concatenate([a, b]), second, m, n) for a, b in zip(x, y, strict=True)]
    table = np.column_stack(columns)
    return table[0], table[1:]


def _members(m: int, n: int, seed: int) -> Floats:
    """Return one row per choice, 1 for runs of the second arm; the first row is the actual choice."""
    true = np.repeat([0.0, 1.0], [m, n])
    if math.comb(m + n, m) <= DRAWS + 1:
        rows = np.zeros((math.comb(m + n, m), m + n))
        for row, chosen in zip(rows, combinations(range(m + n - 1, -1, -1), n), strict=True):
            row[list(chosen)] = 1.0
        return rows  # combinations begin with the last n, which are the second arm's
    random = np.random.default_rng(seed)
    return np.vstack([true, random.permuted(np.tile(true, (DRAWS, 1)), axis=1)])


def _statistics(values: Floats, second: Floats, m: int, n: int) -> Floats:
    # Count halves, for ties, twice: whole numbers have exact sums.
    twice = 2.0 * (values[:, None] > values[None, :]) + (values[:, None] == values[None, :])
    below = second @ twice.T  # for each run, twice the number of the second arm's runs below it
    above, spread_second = _moments((twice.sum(axis=1) - below) * second, n, 2 * m)
    _, spread_first = _moments((2 * n - below) * (1.0 - second), m, 2 * n)
    return statistic(above, spread_first, spread_second)


def _moments(chosen: Floats, n: int, whole: int) -> tuple[Floats, Floats]:
    """Return the mean of the chosen n of each row and its squared error, in parts of `whole`."""
    total = chosen.sum(axis=1)
    squares = n * np.einsum("ij,ij->i", chosen, chosen) - total**2
    return total / (n * whole), squares / (n * whole**2) / max(n - 1, 1) / n


def _signs(x: Floats, y: Floats, scales: Floats, seed: int) -> tuple[Floats, Floats]:
    """Return the sum of signed ranks for the data, and with all other signs; columns are figures."""
    from scipy.stats import rankdata  # type: ignore[import-untyped, unused-ignore]

    pairs = x.shape[1]
    same = x == y  # includes runs that are infinitely late in both
    with np.errstate(invalid="ignore"):
        gaps = np.where(same, 0.0, np.log(y) - np.log(x)) / scales
    ranks = np.sign(gaps) * np.stack([rankdata(row) for row in np.abs(gaps)])
    if 2**pairs <= DRAWS + 1:
        bits = (np.arange(2**pairs)[:, None] >> np.arange(pairs)) & 1
        flips = 1.0 - 2.0 * bits
    else:
        random = np.random.default_rng(seed)
        flips = np.vstack([np.ones(pairs), random.choice([-1.0, 1.0], (DRAWS, pairs))])
    # Divide each sum by its error, so that the maximum over figures treats them equally.
    errors = np.sqrt((ranks**2).sum(axis=1))
    table = flips @ ranks.T / np.where(errors > 0.0, errors, 1.0)
    return table[0], table[1:]
