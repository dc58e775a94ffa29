"""Conversion from the unit of a fit to microseconds and shares, and the smallest effect that matters.

On the ratio scale the model is one of logarithms: effects multiply, and a cell's figure is the geometric mean
over its runs. That suits latencies, which are positive, and scatter more in slow cells. A ratio in
microseconds depends on what it multiplies: `hindmost.stats.term_difference` uses the low level. On the
microsecond scale effects add up, as in Treadmill's Table IV.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Smallest:
    """The smallest effect that matters: a share, or microseconds."""

    share: float | None = None
    us: float | None = None

    @property
    def text(self) -> str:
        """The effect as people write it.

        >>> Smallest(0.05).text, Smallest(us=20.0).text
        ('5%', '20 µs')
        """
        return f"{self.us:g} µs" if self.share is None else f"{100 * self.share:g}%"


@dataclass(frozen=True, slots=True)
class Scale:
    """A scale, with the figure in µs to which its effects refer.

    >>> ratio = Scale(True, 200.0)
    >>> round(ratio.us(math.log(1.5))), round(ratio.share(math.log(1.5)), 3)
    (100, 0.5)
    >>> Scale(False, 200.0).share(-50.0)
    -0.25
    """

    ratio: bool
    base_us: float

    def us(self, effect: float) -> float:
        """Return an effect on the figure, µs."""
        return self.base_us * _expm1(effect) if self.ratio else effect

    def share(self, effect: float) -> float:
        """Return an effect as a share of the figure that it changes."""
        return _expm1(effect) if self.ratio else effect / self.base_us

    def figure(self, value: float) -> float:
        """Return a cell's value, µs."""
        return _expm1(value) + 1.0 if self.ratio else value

    def figure_share(self, value: float) -> float:
        """Return a cell's value as a share of the figure."""
        return self.figure(value) / self.base_us

    def smallest(self, delta: Smallest) -> float:
        """Return the smallest effect that matters, in the unit of the fit; a share refers to the figure.

        >>> Scale(False, 200.0).smallest(Smallest(0.05)), Scale(False, 200.0).smallest(Smallest(us=20.0))
        (10.0, 20.0)
        """
        if delta.share is None:
            assert not self.ratio, "microseconds matter where effects add up"
            return delta.us or 0.0
        return math.log1p(delta.share) if self.ratio else delta.share * abs(self.base_us)


def positive(value: float, low: float, high: float) -> tuple[float, float]:
    """Return the bounds of a positive figure's interval, of the same width on the ratio scale, and above 0.

    >>> low, high = positive(100.0, -20.0, 220.0)
    >>> round(low), round(high)
    (30, 332)
    >>> positive(-1.0, -2.0, 0.5)  # a model that predicts a negative figure
    (-2.0, 0.5)
    """
    if value <= 0.0:
        return low, high
    return value * math.exp((low - value) / value), value * math.exp((high - value) / value)


def _expm1(value: float) -> float:
    return math.expm1(value) if value < 700.0 else math.inf
