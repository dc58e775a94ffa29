"""Did a setting change anything? Fresh runs of before and after, judged by ranks.

Pairs are runs made one after the other, which share what the host did meanwhile. Where the setting does
nothing, the logarithm of after over before is as likely to be x as -x, whatever disturbs the host: the signed
ranks' interval of the ratio (`ranks`) is then exact, and a pair of 3798/5241 us counts no more than the
largest of n.

Simulated, nominal 5 %, a setting that does nothing; runs with sd 3 %, disturbed ones slower by 1 + an
exponential factor with mean .5: false changes, and in brackets the power to see 10 % (2,000 studies):

==========================  ============  ============  ============
world                       6 pairs       8 pairs       20 pairs
==========================  ============  ============  ============
nothing disturbed           .029 (.93)    .043 (1.0)    .041 (1.0)
15 % of runs                .029 (.46)    .034 (.46)    .049 (.81)
20 % of pairs, either run   .034 (.56)    .035 (.57)    .056 (.89)
==========================  ============  ============  ============

Student's interval of the pairs was no worse than that; it is the ratio of *variances* that finds changes
there: .30 at 4 pairs, .38 at 6, .31 at 8. Which run of a pair comes first must be drawn by lot: where
the host disturbs the second run only, in 20 % of pairs, any test finds that (.24 at 20 pairs).

Fewer than 6 pairs can give no such interval at 95 %: undecided, whatever they look like.

The ratio of *spreads* is judged by differences of neighbouring runs of one side (first and second, third and
fourth ...): their sizes are independent, no centre is estimated, and where both sides have laws of one shape
the rank-sum interval of their logarithms is exact: .95 to .98 for normal, exponential, t3 and bimodal runs, 8
to 30 a side. The interval of the ratio of variances covers .82 to .91 of exponential and .87 to .91 of t3
runs; others that were tried fail there as well (Bonett 2006: .81 to .94; Bonett and Seier 2003: .76 to .93;
ranks of distances from the median: .88 to .95). Its price is width: normal runs' spreads must differ by 4.7
times at 10 runs a side, by 2 times at 30.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hindmost.errors import ArgumentError
from hindmost.stats.estimate import Estimate
from hindmost.stats.ranks import rank_sum_interval, signed_rank_interval
from hindmost.stats.runs.intervals import checked
from hindmost.stats.tables import Floats, RunValues

LEAST_PAIRS = 6
"""Fewer pairs, or runs a side, decide nothing at 95 %."""

Change = Literal["lower", "higher", "no change seen", "undecided"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How after compares with before.

    ``ratio``: after over before, what a typical pair (or run) shows. ``spread``: ratio of how widely runs
    scatter; None with fewer than 8 runs a side, or runs that do not. ``pairs``: pairs, or runs of the smaller
    side. ``needed``: how many more of them there must be at least, 0 if enough.
    """

    change: Change
    ratio: Estimate
    spread: Estimate | None
    pairs: int
    needed: int
    text: str


def compare_runs(
    before: RunValues, after: RunValues, confidence: float = 0.95, *, paired: bool = True
) -> Comparison:
    """Compare fresh runs of two settings.

    Parameters
    ----------
    before, after
        One positive, finite value a run, same unit, in the order they were made.
    confidence
        Of each interval; 1 - `confidence` is the rate of false changes.
    paired
        The runs at one place were made one after the other.

    Raises
    ------
    ValueError
        If there are no runs, a value is not positive and finite, or pairs do not match.

    Examples
    --------
    >>> found = compare_runs([3800, 3790, 3810, 3798], [3805, 3801, 3796, 5241])  # one disturbed pair
    >>> found.change, found.needed
    ('undecided', 2)
    >>> found = compare_runs([181, 220, 175, 190, 178, 205, 183], [103, 108, 101, 99, 110, 104, 102])
    >>> print(found.text)
    after is 0.546 times before [0.506, 0.593], in 7 pairs
    """
    x, y = checked(before), checked(after)
    for side in (x, y):
        if not np.isfinite(side).all() or side.min() <= 0.0:
            raise ArgumentError(
                "bad-argument",
                f"runs must be positive and finite, got {side.tolist()}",
                argument="before" if side is x else "after",
            )
    if paired and x.size != y.size:
        raise ArgumentError(
            "bad-argument",
            f"expected pairs, got {x.size} runs before and {y.size} after",
            argument="after",
            value=y.size,
            need=x.size,
        )
    n = min(x.size, y.size)
    a, b = np.log(x), np.log(y)
    shift = signed_rank_interval(b - a, confidence) if paired else rank_sum_interval(a, b, confidence)
    ratio = _ratio(shift, n, confidence)
    spread = _spread(x / np.median(x), y / np.median(y), confidence)
    what = "pairs" if paired else "runs a side"
    if not ratio.known or n < LEAST_PAIRS:
        needed = max(LEAST_PAIRS - n, 1)
        bare = Estimate(ratio.value, math.nan, math.nan, n, confidence)
        text = f"undecided: {n} {what}, at least {n + needed} are needed"
        return Comparison("undecided", bare, spread, n, needed, text)
    ends = f"[{ratio.low:.3g}, {ratio.high:.3g}], in {n} {what}"
    if ratio.low <= 1.0 <= ratio.high:
        text = f"no change seen: after is {ratio.value:.3g} times before {ends}"
        return Comparison("no change seen", ratio, spread, n, 0, text)
    change: Change = "lower" if ratio.value < 1.0 else "higher"
    return Comparison(change, ratio, spread, n, 0, f"after is {ratio.value:.3g} times before {ends}")


def _ratio(logarithms: tuple[float, float, float], n: int, confidence: float) -> Estimate:
    value, low, high = (math.exp(x) for x in logarithms)
    return Estimate(value, low, high, n, confidence)


def _spread(x: Floats, y: Floats, confidence: float) -> Estimate | None:
    """Ratio of relative spreads, from differences of neighbours that share no run."""
    sizes = [np.abs(side[1::2] - side[: side.size - 1 : 2]) for side in (x, y)]
    if min(size.size for size in sizes) < 4 or min(size.min() for size in sizes) == 0.0:
        return None
    a, b = (np.log(size) for size in sizes)
    return _ratio(rank_sum_interval(a, b, confidence), min(x.size, y.size), confidence)
