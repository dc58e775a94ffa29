"""Does an objective hold? Runs until the interval lies on one side of the limit.

What is asked is whether a *typical* run stays below the limit: the median over runs, by its sign interval,
which holds for every law of runs (`typical`). The mean cannot be decided on shared machines: where one run in
twenty is twenty times slower, eight runs miss it in two of three steps. How many runs lay above the limit is
told beside the answer.

A point below the limit proves nothing: of two rates whose true p99 is the limit itself, one looks good by
chance half of the time. So it takes five runs on one side, or seven of eight. The rule looks after each run,
and looking often finds what it looks for (compare `sequential`): the table has all looks in it. Simulated,
4,000 times each, runs lognormal with sd 5 %, some of them slower by a factor, at most 12 runs: wrong answers
/ undecided / runs made

======================  ====================  ====================  ====================
true median over limit  no run off            5 % x 20              10 % x 5
======================  ====================  ====================  ====================
0.90                    0.00 % / 0 % / 5.3    0.00 % / 2 % / 6.2    0.00 % / 9 % / 7.0
0.95                    0.00 % / 19 % / 7.8   0.03 % / 27 % / 8.4   0.07 % / 36 % / 8.9
1.00                    - / 87 % / 11.4       - / 87 % / 11.3       - / 87 % / 11.4
1.05                    0.03 % / 23 % / 8.2   0.00 % / 24 % / 8.2   0.00 % / 28 % / 8.4
1.10                    0.00 % / 0 % / 5.5    0.00 % / 0 % / 5.5    0.00 % / 0 % / 5.5
======================  ====================  ====================  ====================

The mean's interval, which decided before, said "holds" in 85 % of the steps where a twentieth of the runs is
20 times slower and the mean over runs is 1.5 times the limit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hindmost.stats.estimate import Estimate
from hindmost.stats.runs.intervals import median_interval

FIRST_LOOK = 5
"""Runs whose least and greatest enclose their median at `LOOK_CONFIDENCE`."""
LOOK_CONFIDENCE = 0.90
"""Of the interval, whose either end is wrong in 5 % of looks: .031 at 5 runs, .035 at 8 and .033 at 11."""


@dataclass(frozen=True, slots=True)
class ObjectiveRule:
    """Repeat runs until it is clear whether the median over runs of a quantile lies below a limit.

    Parameters
    ----------
    quantile
        Its name, such as ``p99``.
    limit
        In the unit of the values.
    max_runs
        Undecided after so many.
    min_runs
        Fewer do not end it, however clear they are; unless the first two are infinitely late.

    Examples
    --------
    >>> rule = ObjectiveRule("p99", 500.0, 10)
    >>> rule.holds([310.0, 305.0, 320.0, 312.0, 308.0]), rule.holds([700.0, 690.0, 710.0, 705.0, 704.0])
    (True, False)
    >>> rule.holds([480.0, 520.0, 500.0, 490.0, 510.0]) is None
    True
    >>> rule.holds([310.0, 305.0, 320.0, 9_000.0, 312.0, 308.0, 311.0, 309.0])  # one run of eight is off
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
            raise ValueError(f"at least {self.min_runs} runs cannot be had of at most {self.max_runs}")

    def interval(self, values: Sequence[float]) -> Estimate:
        """The interval that decides."""
        return median_interval(values, LOOK_CONFIDENCE)

    def holds(self, values: Sequence[float]) -> bool | None:
        """Whether it holds; None while that is not clear."""
        if len(values) >= 2 and all(map(math.isinf, values)):
            return False  # five such runs would say the same
        if len(values) < max(FIRST_LOOK, self.min_runs):
            return None
        interval = self.interval(values)
        if interval.high < self.limit:
            return True
        return False if interval.low >= self.limit else None
