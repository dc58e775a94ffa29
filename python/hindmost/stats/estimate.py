"""A number with its confidence interval, so that no bare percentile is printed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hindmost.errors import ArgumentError


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value over runs with its confidence interval.

    Parameters
    ----------
    value
        The estimate, in the unit of the estimated quantity (microseconds for latencies). ``math.inf`` if at
        least one run was infinitely late at this quantile (censored).
    low, high
        Ends of the interval, same unit; ``low <= value <= high``. Both are NaN if the sample has no interval
        (a single run). The interval need not be symmetric around `value`.
    n
        Number of runs.
    confidence
        Nominal level of the interval, in (0, 1).

    Raises
    ------
    ValueError
        If `n` < 1, the level is not in (0, 1), only one end is NaN, or the value lies outside its interval.

    Examples
    --------
    >>> p99 = Estimate(31.2, 30.1, 32.4, n=10)
    >>> print(p99)
    31.2 [30.1, 32.4] (95 %, n=10)
    >>> round(p99.relative_half_width, 4)
    0.0369
    >>> print(Estimate(31.2, math.nan, math.nan, n=1))
    31.2 [no interval] (n=1)
    """

    value: float
    low: float
    high: float
    n: int
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ArgumentError(
                "bad-argument",
                f"an estimate needs at least 1 run, got n={self.n}",
                argument="n",
                value=self.n,
            )
        if not 0.0 < self.confidence < 1.0:
            raise ArgumentError(
                "bad-argument",
                f"confidence must lie in (0, 1), got {self.confidence}",
                argument="confidence",
                value=self.confidence,
            )
        if math.isnan(self.value):
            raise ArgumentError(
                "bad-argument", "an estimate cannot be NaN; leave it out instead", argument="value"
            )
        if math.isnan(self.low) != math.isnan(self.high):
            raise ArgumentError(
                "bad-argument",
                f"give both ends of an interval or neither, got [{self.low}, {self.high}]",
                argument="high",
            )
        if self.known and not self.low <= self.value <= self.high:
            raise ArgumentError(
                "bad-argument",
                f"value {self.value} lies outside its interval [{self.low}, {self.high}]",
                argument="value",
                value=self.value,
            )

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return not math.isnan(self.low)

    @property
    def finite(self) -> bool:
        """Whether the value and both ends are finite."""
        return math.isfinite(self.value) and math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def half_width(self) -> float:
        """Half the length of the interval. Infinite without an interval or with an infinite end."""
        return (self.high - self.low) / 2.0 if self.finite else math.inf

    @property
    def relative_half_width(self) -> float:
        """`half_width` as a share of ``|value|``. Infinite if the value is 0 or not finite."""
        if not self.finite or self.value == 0.0:
            return math.inf
        return self.half_width / abs(self.value)

    def __str__(self) -> str:
        if not self.known:
            return f"{self.value:.4g} [no interval] (n={self.n})"
        level = f"{100.0 * self.confidence:.4g} %"
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}] ({level}, n={self.n})"
