"""Test whether run values form two groups.

If a server settles in one of two states (for example memory on one node or the other), the mean over runs
describes neither of them. The statistic: split the sorted run values into the two groups, each of at least
two runs, that differ most, and take total over within-group sum of squares. Two clear states leave little
within. A group needs at least two runs, because a single odd run is an outlier, not a state. The critical
values are 99 % points under normal run values: 400,000 replications each for 6 to 100 runs, linear in log n
between.

Flagged at 1 % nominal, 10,000 replications:

====================================  ======  ======  ======  ======  ======
distribution of run values            6 runs  10      20      30      60
====================================  ======  ======  ======  ======  ======
normal, lognormal to sd 10 %          .01     .01     .01     .01     .01
t, 3 degrees of freedom               .008    .006    .006    .005    .002
shifted exponential (skewness 2)      .03     .05     .09     .11     .16
bimodal, 30 % of runs +20 %, sd 2 %   .34     .82     .99     1.0     1.0
bimodal, 30 % of runs +20 %, sd 5 %   .03     .08     .25     .42     .80
====================================  ======  ======  ======  ======  ======

So heavy tails cause no false alarms, a long right tail sometimes does (which also deserves a look at the
runs), and states only four sd apart need about sixty runs to be detected. (The largest gap over the pooled
spread was tested too: .22 false alarms on t3 at 60 runs. A negative result is no proof of one state.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hindmost.stats.runs.intervals import check_values
from hindmost.stats.tables import Floats, RunValues

FALSE_ALARM = 0.01
MIN_RUNS = 6
MIN_IN_STATE = 2

_RUNS = (6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 40, 50, 70, 100)
_CRITICAL = (31.0, 20.6, 15.6, 12.8, 10.97, 8.78, 7.16, 5.89, 5.26, 4.86, 4.39, 4.12, 3.82, 3.58)


@dataclass(frozen=True, slots=True)
class Modality:
    """Whether the runs form two groups, and which.

    ``bimodal``: `separation` exceeds `critical` (false-alarm rate 1 % for one normal state). ``low_mean``,
    ``high_mean``: means of the two groups, unit of the values; ``high_share``: share of runs in the upper
    group. They describe the best split whether or not it is significant; use them only if it is.
    """

    bimodal: bool
    separation: float
    critical: float
    low_mean: float
    high_mean: float
    high_share: float
    runs: int
    text: str


def modality(values: RunValues) -> Modality | None:
    """Test run values for two states.

    Parameters
    ----------
    values
        One value per run. Infinite runs are left out, because they are a separate state that is counted
        elsewhere.

    Returns
    -------
    Modality or None
        None with fewer than 6 finite runs, which cannot distinguish two states from one.

    Examples
    --------
    >>> note = modality([30.1, 30.4, 36.3, 29.9, 30.2, 36.0, 30.3, 36.2, 30.0, 30.1])
    >>> note.bimodal, round(note.high_share, 2)
    (True, 0.3)
    >>> modality([30.1, 30.9, 31.3, 29.9, 30.2, 31.0, 30.6, 31.2, 30.0, 30.4]).bimodal
    False
    """
    x = check_values(values)
    x = np.sort(x[np.isfinite(x)])
    n = x.size
    if n < MIN_RUNS:
        return None
    separation, at = best_split(x)
    critical = critical_separation(n)
    low, high, share = float(x[:at].mean()), float(x[at:].mean()), (n - at) / n
    bimodal = float(separation) > critical
    text = (
        f"the runs fall into two groups: {n - at} of {n} around {high:.4g}, the others around {low:.4g};"
        " a single figure describes neither"
        if bimodal
        else f"no sign of two groups in {n} runs"
    )
    return Modality(bimodal, float(separation), critical, low, high, share, n, text)


def best_split(ordered: Floats) -> tuple[Floats, int]:
    """Return the largest total / within sum of squares over splits of the last axis, and the split's index.

    Parameters
    ----------
    ordered
        Shape ``(..., n)``, ascending along the last axis, n >= 4. The index is valid for a single sample.
    """
    n = ordered.shape[-1]
    centred = ordered - ordered.mean(axis=-1, keepdims=True)
    scale = np.abs(centred).max(axis=-1, keepdims=True)
    centred = centred / np.where(scale > 0.0, scale, 1.0)
    size = np.arange(MIN_IN_STATE, n - MIN_IN_STATE + 1)
    left = np.cumsum(centred, axis=-1)[..., size - 1]
    between = left**2 * (1.0 / size + 1.0 / (n - size))  # the total sum is zero, so right = -left
    total = (centred**2).sum(axis=-1)
    within = np.maximum(total - between.max(axis=-1), 1e-12)
    separation = np.where(total > 0.0, total / within, 1.0)
    return separation, int(size[np.argmax(between.reshape(-1, size.size)[0])])


def critical_separation(runs: int) -> float:
    """Return the statistic's 99 % point for normal run values. Above 100 runs that of 100 (conservative)."""
    return float(np.interp(math.log(runs), np.log(_RUNS), _CRITICAL))


def unseen_mode_share(runs: int, confidence: float = 0.95) -> float:
    """Return the share of runs that a state may have and still be absent from `runs` runs by chance.

    Examples
    --------
    >>> round(unseen_mode_share(10), 2), round(unseen_mode_share(30), 2)
    (0.26, 0.1)
    """
    return float(1.0 - (1.0 - confidence) ** (1.0 / runs))
