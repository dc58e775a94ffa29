"""From the unit of a fit to microseconds and shares.

On the scale of ratios the model is one of logarithms: effects multiply, a cell's figure is the geometric
mean over its runs, and an effect in microseconds is what its ratio makes of the intercept. That suits
latencies: they are positive, and slow cells scatter more. In microseconds effects add up, as in Treadmill's
Table IV.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """A scale with the intercept that its effects refer to, in microseconds.

    >>> ratio = Scale(True, 200.0)
    >>> round(ratio.us(math.log(1.5))), round(ratio.share(math.log(1.5)), 3)
    (100, 0.5)
    >>> Scale(False, 200.0).share(-50.0)
    -0.25
    """

    ratio: bool
    base_us: float

    def us(self, effect: float) -> float:
        """An effect in microseconds."""
        return self.base_us * _expm1(effect) if self.ratio else effect

    def share(self, effect: float) -> float:
        """An effect as a share of the intercept."""
        return _expm1(effect) if self.ratio else effect / self.base_us

    def figure(self, value: float) -> float:
        """A cell's value in microseconds."""
        return _expm1(value) + 1.0 if self.ratio else value

    def figure_share(self, value: float) -> float:
        """A cell's value as a share of the intercept."""
        return self.figure(value) / self.base_us

    def smallest(self, delta: float) -> float:
        """A share of the intercept in the unit of the fit."""
        return math.log1p(delta) if self.ratio else delta * abs(self.base_us)


def _expm1(value: float) -> float:
    return math.expm1(value) if value < 700.0 else math.inf
