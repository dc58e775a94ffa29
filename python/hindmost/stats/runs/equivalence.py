"""Equivalence of two servers' latency within a margin: two one-sided tests on paired runs.

That no difference was found proves nothing if there are few runs. So the hypothesis is reversed (Schuirmann
1987). Two servers are equivalent if their ratio is *shown* to lie within the margin, at 5 % error on either
side. That is: the 90 % interval of the ratio lies within it.

The interval is that of Wilcoxon's signed ranks [1]_. A host that stalls one run of twelve makes it late by a
factor, and then a mean over pairs with its standard error is useless. Ranks require only that ratios scatter
symmetrically, and cost 5 % more pairs if they are normal.

.. [1] M. Hollander, D. A. Wolfe, E. Chicken, Nonparametric Statistical Methods, 3rd ed., sections 3.2 and
   3.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from hindmost.errors import ArgumentError
from hindmost.stats.estimate import Estimate
from hindmost.stats.runs.intervals import check_values, mean_interval
from hindmost.stats.tables import RunValues

Outcome = Literal["equivalent", "different", "open"]

CONFIDENCE = 0.90
"""Two one-sided tests at 5 % each."""

RANKED = 5
"""Fewest pairs with a 90 % interval by ranks. With fewer, Student's interval is used."""


@dataclass(frozen=True, slots=True)
class Equivalence:
    """A ratio of paired runs, its interval and the conclusion.

    ``ratio`` is the pseudomedian of ours / theirs over the pairs (the geometric mean below `RANKED` pairs);
    ``low`` and ``high`` are NaN for one pair. ``outcome``: the interval lies within ``1 - margin .. 1 +
    margin``, or outside it, or neither, so that more pairs are needed.
    """

    ratio: float
    low: float
    high: float
    margin: float
    pairs: int
    outcome: Outcome


def equivalence(
    ours: RunValues, theirs: RunValues, margin: float, confidence: float = CONFIDENCE
) -> Equivalence:
    """Compare paired runs of two servers.

    Parameters
    ----------
    ours, theirs
        One positive, finite value per run, same unit. Values with the same index form a pair.
    margin
        Largest ratio that still counts as equal, minus 1: 0.05 for 5 %. Fix it before looking at the data.
    confidence
        Level of the interval.

    Raises
    ------
    ValueError
        If the values are not paired, not positive and finite, or the margin is not in (0, 1).

    Examples
    --------
    >>> found = equivalence([101.0, 99.0, 102.0, 100.0], [100.0, 100.0, 100.0, 100.0], 0.05)
    >>> found.outcome, round(found.ratio, 3)
    ('equivalent', 1.005)
    >>> equivalence([112.0, 109.0, 111.0, 110.0], [100.0, 100.0, 100.0, 100.0], 0.05).outcome
    'different'
    >>> equivalence([90.0, 120.0], [100.0, 100.0], 0.05).outcome
    'open'
    """
    a, b = check_values(ours), check_values(theirs)
    if a.shape != b.shape:
        raise ArgumentError(
            "bad-argument",
            f"expected pairs, got {a.size} and {b.size} values",
            argument="b",
            value=b.size,
            need=a.size,
        )
    if not (np.isfinite(a).all() and np.isfinite(b).all() and (a > 0.0).all() and (b > 0.0).all()):
        raise ArgumentError("bad-argument", "expected positive, finite values", argument="ours")
    if not 0.0 < margin < 1.0:
        raise ArgumentError(
            "bad-argument", f"the margin must lie in (0, 1), got {margin}", argument="margin", value=margin
        )
    logs = signed_rank_interval(np.log(a / b), confidence)
    low, high = (math.exp(logs.low), math.exp(logs.high)) if logs.known else (math.nan, math.nan)
    outcome: Outcome = "open"
    if low > 1.0 - margin and high < 1.0 + margin:
        outcome = "equivalent"
    elif low > 1.0 + margin or high < 1.0 - margin:
        outcome = "different"
    return Equivalence(math.exp(logs.value), low, high, margin, a.size, outcome)


def signed_rank_interval(values: RunValues, confidence: float = CONFIDENCE) -> Estimate:
    """Estimate the centre of differences of pairs, by Wilcoxon's signed ranks.

    Parameters
    ----------
    values
        One finite difference per pair, in any unit.
    confidence
        Nominal level. The actual level is at least as high. With too few pairs, the interval is that of the
        mean.

    Returns
    -------
    Estimate
        The median of the Walsh averages: the means of all pairs of values.

    Examples
    --------
    >>> print(signed_rank_interval([0.9, 1.0, 1.1, 1.0, 0.95, 1.05, 40.0]))
    1.025 [0.95, 20.5] (90 %, n=7)
    """
    x = check_values(values)
    rank = _critical_rank(x.size, (1.0 - confidence) / 2.0)
    if rank == 0:
        return mean_interval(x, confidence)
    first, second = np.triu_indices(x.size)
    walsh = np.sort((x[first] + x[second]) / 2.0)
    low, high = float(walsh[rank - 1]), float(walsh[-rank])
    return Estimate(float(np.median(walsh)), low, high, x.size, confidence)


@cache
def _critical_rank(n: int, error: float) -> int:
    """Return the number of Walsh averages outside on either side; 0 if even the extremes do not suffice."""
    ways = np.zeros(n * (n + 1) // 2 + 1)
    ways[0] = 1.0
    for rank in range(1, n + 1):
        ways[rank:] = ways[rank:] + ways[:-rank]
    at_most = np.cumsum(ways) / 2.0**n  # distribution function of the sum of positive ranks
    return int(np.searchsorted(at_most, error, side="right"))
