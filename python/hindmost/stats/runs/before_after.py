"""Rank tests of whether a setting changed anything, from fresh runs before and after.

Pairs are runs made one after the other, which share the conditions on the host. If the setting has no effect,
the logarithm of after over before is as likely to be x as -x, whatever the interference. The signed-rank
interval of the ratio (`ranks`) is then exact, and a pair of 3798/5241 us has no more influence than the
largest of n.

Simulated, nominal 5 %, a setting without effect; runs with sd 3 %, disturbed ones slower by 1 + an
exponential factor with mean .5: false changes, and in brackets the power to detect 10 % (2,000 studies):

==========================  ============  ============  ============
scenario                    6 pairs       8 pairs       20 pairs
==========================  ============  ============  ============
no interference             .029 (.93)    .043 (1.0)    .041 (1.0)
15 % of runs                .029 (.46)    .034 (.46)    .049 (.81)
20 % of pairs, either run   .034 (.56)    .035 (.57)    .056 (.89)
==========================  ============  ============  ============

Student's interval of the pairs was no worse than that. The ratio of *variances* is what finds false changes:
.30 at 4 pairs, .38 at 6, .31 at 8. The order of runs in a pair must be random: if the host disturbs only the
second run, in 20 % of pairs, any test finds that (.24 at 20 pairs).

Fewer than 6 pairs have no such interval at 95 %, so the result is undecided, whatever they look like.

The ratio of *spreads* uses differences of neighbouring runs of one arm (first and second, third and fourth
...). Their sizes are independent and need no estimated centre. If both arms have distributions of equal
shape, the rank-sum interval of their logarithms is exact: .95 to .98 for normal, exponential, t3 and bimodal
runs, 8 to 30 per arm. The interval of the ratio of variances covers .82 to .91 of exponential and .87 to .91
of t3 runs. Other tested methods fail there as well (Bonett 2006: .81 to .94; Bonett and Seier 2003: .76 to
.93; ranks of distances from the median: .88 to .95). The cost is width: normal runs' spreads must differ by a
factor of 4.7 at 10 runs per arm, and of 2 at 30.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hindmost.errors import ArgumentError
from hindmost.stats.estimate import Estimate
from hindmost.stats.ranks import rank_sum_interval, signed_rank_interval
from hindmost.stats.runs.intervals import check_values
from hindmost.stats.tables import Floats, RunValues

LEAST_PAIRS = 6
"""Fewest pairs, or runs per arm, that can decide at 95 %."""

Change = Literal["lower", "higher", "no change seen", "undecided"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of after with before.

    ``ratio``: after over before, for a typical pair (or run). ``spread``: ratio of the scatter of runs; None
    with fewer than 8 runs per arm, or without scatter. ``pairs``: pairs, or runs of the smaller arm.
    ``needed``: how many more are needed at least, 0 if there are enough.
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
        One positive, finite value per run, same unit, in the order of the runs.
    confidence
        Confidence of each interval; 1 - `confidence` is the rate of false changes.
    paired
        Whether runs with the same index were made one after the other.

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
    x, y = check_values(before), check_values(after)
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
    what = "pairs" if paired else "runs per arm"
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
    """Return the ratio of relative spreads, from disjoint differences of neighbouring runs."""
    sizes = [np.abs(side[1::2] - side[: side.size - 1 : 2]) for side in (x, y)]
    if min(size.size for size in sizes) < 4 or min(size.min() for size in sizes) == 0.0:
        return None
    a, b = (np.log(size) for size in sizes)
    return _ratio(rank_sum_interval(a, b, confidence), min(x.size, y.size), confidence)
