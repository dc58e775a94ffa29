"""Sequential test of an objective: repeat runs until the interval lies on one side of the limit.

The question is whether a *typical* run stays below the limit: the median over runs, by order statistics,
which is valid for every distribution of runs (`typical`). The mean cannot be decided on shared machines: if
one run in twenty is twenty times slower, eight runs miss it in two of three steps. The answer is reported
with the number of runs above the limit.

A point estimate below the limit proves nothing: of two rates whose true p99 equals the limit, one looks good
by chance half of the time. Looking again after each run eventually finds what it looks for. Intervals that
err in 5 % of *looks*, wrong after any of them, misjudged a server at its own limit in 6.3 % of steps on
either side at 12 runs, 13 % at 30 and 17 % at 60. So the error is spent over the looks (Lan and DeMets,
Biometrika 70, 1983): by n runs at most 5 % x (1 - 27 / n³). If the median equals the limit, each run lies
above it with probability one half, so the error of each look is known exactly: `tolerated_counts`. A decision
takes
five runs on one side, or eight of nine.

Simulated, 4,000 times each, runs lognormal with sd 5 %, some of them slower by a factor, at most 12 runs:
wrong answers / undecided / number of runs

======================  ====================  ====================  ====================
true median over limit  none                  5 % x 20              10 % x 5
======================  ====================  ====================  ====================
0.90                    0.00 % / 0 % / 5.4    0.00 % / 3 % / 6.5    0.00 % / 12 % / 7.6
0.95                    0.00 % / 22 % / 8.3   0.00 % / 37 % / 9.2   0.00 % / 50 % / 9.8
1.00                    - / 90 % / 11.5       - / 90 % / 11.5       - / 89 % / 11.4
1.05                    0.00 % / 27 % / 8.6   0.00 % / 24 % / 8.4   0.00 % / 21 % / 8.3
1.10                    0.00 % / 0 % / 5.6    0.00 % / 0 % / 5.6    0.00 % / 0 % / 5.5
======================  ====================  ====================  ====================

The mean's interval says "holds" in 85 % of the steps in which a twentieth of the runs is 20 times slower and
the mean over runs is 1.5 times the limit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from hindmost.stats.estimate import Estimate
from hindmost.stats.runs.intervals import check_values

FIRST_LOOK = 5
"""Fewest runs whose minimum and maximum enclose their median at `CONFIDENCE`."""
CONFIDENCE = 0.90
"""Confidence of the intervals of all looks together: either end is wrong in at most 5 % of steps."""


@cache
def tolerated_counts(runs: int, first: int = FIRST_LOOK) -> tuple[int, ...]:
    """Return for 0 to `runs` runs how many may lie beyond the limit; -1 decides nothing.

    Parameters
    ----------
    runs
        Largest number of runs.
    first
        Runs at the first look. There is a look after each further run.

    Examples
    --------
    >>> tolerated_counts(12)
    (-1, -1, -1, -1, -1, 0, 0, 0, 0, 1, 1, 1, 2)
    >>> tolerated_counts(12, first=12)[-1]
    2
    """
    error = (1.0 - CONFIDENCE) / 2.0
    spent, most = 0.0, [-1]
    undecided = np.ones(1)  # probability of no answer so far, by number of runs on the other side
    for n in range(1, runs + 1):
        undecided = np.convolve(undecided, [0.5, 0.5])
        allowed = -1
        if n >= first:
            reached = spent + np.cumsum(undecided[: (n + 1) // 2])
            allowed = int((reached <= error * (1.0 - 27.0 / n**3)).sum()) - 1
            spent += float(undecided[: allowed + 1].sum())
            undecided[: allowed + 1] = 0.0
        most.append(allowed)
    return tuple(most)


@dataclass(frozen=True, slots=True)
class ObjectiveRule:
    """Repeat runs until it is clear whether the median over runs of a quantile lies below a limit.

    Parameters
    ----------
    quantile
        Its name, for example ``p99``.
    limit
        In the unit of the values.
    max_runs
        Undecided after this many runs.
    min_runs
        Fewest runs, however clear they are, unless the first two are infinitely late.

    Examples
    --------
    >>> rule = ObjectiveRule("p99", 500.0, 10)
    >>> rule.holds([310.0, 305.0, 320.0, 312.0, 308.0]), rule.holds([700.0, 690.0, 710.0, 705.0, 704.0])
    (True, False)
    >>> rule.holds([480.0, 520.0, 500.0, 490.0, 510.0]) is None
    True
    >>> rule.holds([310.0, 305.0, 320.0, 9_000.0, 312.0, 308.0, 311.0, 309.0, 310.0])  # one outlier
    True
    """

    quantile: str
    limit: float
    max_runs: int
    min_runs: int = FIRST_LOOK

    def __post_init__(self) -> None:
        if not (self.limit > 0.0 and math.isfinite(self.limit)):
            raise ValueError(f"the limit must be positive and finite, got {self.limit}")
        if self.max_runs < FIRST_LOOK:
            raise ValueError(f"an objective needs at least {FIRST_LOOK} runs, got {self.max_runs}")
        if self.min_runs > self.max_runs:
            raise ValueError(f"min_runs {self.min_runs} exceeds max_runs {self.max_runs}")

    def interval(self, values: Sequence[float]) -> Estimate:
        """Return the interval that decides. Before the first look, pretend that this is the first.

        Its ends are NaN while there are too few runs.
        """
        x = np.sort(check_values(values))
        n = x.size
        middle = float((x[(n - 1) // 2] + x[n // 2]) / 2.0)
        beyond = tolerated_counts(n, min(max(FIRST_LOOK, self.min_runs), n))[n]
        if beyond < 0:
            return Estimate(middle, math.nan, math.nan, n, CONFIDENCE)
        return Estimate(middle, float(x[beyond]), float(x[n - 1 - beyond]), n, CONFIDENCE)

    def holds(self, values: Sequence[float]) -> bool | None:
        """Return whether the objective holds; None while that is unclear."""
        if len(values) >= 2 and all(map(math.isinf, values)):
            return False  # five such runs would give the same answer
        if len(values) < max(FIRST_LOOK, self.min_runs):
            return None
        interval = self.interval(values)
        if interval.high < self.limit:
            return True
        return False if interval.low >= self.limit else None
