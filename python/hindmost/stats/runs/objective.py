"""Does an objective hold? Runs until the interval lies on one side of the limit.

A point below the limit proves nothing: of two rates whose true p99 is the limit itself, one looks good by
chance half of the time. The rule looks after each run from the third on. Looking often finds what it looks
for (compare `sequential`), but the skew guard of the intervals makes up for it here. Simulated, 3,000 times
each, runs that scatter by 5 % (lognormal), at most 12 runs:

======================  =============  =========  =========
true value over limit   wrong answers  undecided  mean runs
======================  =============  =========  =========
0.90                    0.0 %          0.5 %      4.4
0.95                    0.1 %          11 %       7.1
1.00                    -              86 %       11.2
1.05                    0.03 %         11 %       7.3
1.10                    0.0 %          0.3 %      4.7
======================  =============  =========  =========
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hindmost.stats.runs.intervals import mean_interval

FIRST_LOOK = 3
LOOK_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class ObjectiveRule:
    """Repeat runs until it is clear whether the mean over runs of a quantile lies below a limit.

    Parameters
    ----------
    quantile
        Its name, such as ``p99``.
    limit
        In the unit of the values.
    max_runs
        Undecided after so many.
    min_runs
        Fewer do not end it, however clear they are; unless two are infinitely late.

    Examples
    --------
    >>> rule = ObjectiveRule("p99", 500.0, 10)
    >>> rule.holds([310.0, 305.0, 320.0]), rule.holds([700.0, 690.0, 710.0])
    (True, False)
    >>> rule.holds([480.0, 520.0, 500.0]) is None
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

    def holds(self, values: Sequence[float]) -> bool | None:
        """Whether it holds; None while that is not clear."""
        if sum(math.isinf(v) for v in values) >= 2:
            return False  # twice infinitely late: no mean below any limit can follow
        if len(values) < max(FIRST_LOOK, self.min_runs):
            return None
        interval = mean_interval(values, LOOK_CONFIDENCE)
        if interval.high < self.limit:
            return True
        return False if interval.low >= self.limit else None
