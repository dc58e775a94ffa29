"""Whether two servers are as slow as each other, within a margin: two one-sided tests on paired runs.

That a difference was not found says nothing where runs are few. So the question is turned round (Schuirmann
1987): equivalent are two servers whose ratio is *shown* to lie inside the margin, at 5 % error on either
side, which is: the 90 % interval of the ratio lies inside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hindmost.stats.intervals import checked, mean_interval
from hindmost.stats.tables import RunValues

Outcome = Literal["equivalent", "different", "open"]

CONFIDENCE = 0.90
"""Two one-sided tests at 5 % each."""


@dataclass(frozen=True, slots=True)
class Equivalence:
    """A ratio of paired runs, its interval, and what follows from it.

    ``ratio`` is the geometric mean of ours / theirs over the pairs; ``low`` and ``high`` are NaN for one
    pair. ``outcome``: the interval lies inside ``1 - margin .. 1 + margin``; or it lies outside; or it does
    neither, and more pairs would be needed.
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
        One positive, finite value a run, same unit; those at one place belong to one pair.
    margin
        Largest ratio that still counts as alike, less 1: 0.05 for 5 %. Fixed before the data are looked at.
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
    a, b = checked(ours), checked(theirs)
    if a.shape != b.shape:
        raise ValueError(f"expected pairs, got {a.size} and {b.size} values")
    if not (np.isfinite(a).all() and np.isfinite(b).all() and (a > 0.0).all() and (b > 0.0).all()):
        raise ValueError("expected positive, finite values")
    if not 0.0 < margin < 1.0:
        raise ValueError(f"the margin must lie in (0, 1), got {margin}")
    logs = mean_interval(np.log(a / b), confidence)
    low, high = (math.exp(logs.low), math.exp(logs.high)) if logs.known else (math.nan, math.nan)
    outcome: Outcome = "open"
    if low > 1.0 - margin and high < 1.0 + margin:
        outcome = "equivalent"
    elif low > 1.0 + margin or high < 1.0 - margin:
        outcome = "different"
    return Equivalence(math.exp(logs.value), low, high, margin, a.size, outcome)
