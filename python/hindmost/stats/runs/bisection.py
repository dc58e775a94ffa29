"""Probabilistic bisection: find the rate at which a noisy response crosses its limit.

Plain bisection trusts every answer permanently, and one wrong answer misleads it for good. Here each answer
shifts a belief, in proportion to its information (probabilistic bisection: Horstein 1963; Waeber, Frazier,
Henderson, "Bisection search with noisy responses", SIAM J. Control Optim. 51, 2013). The next question is
asked at the median of the belief. A bound from a wrong answer is therefore approached again, tested again,
and overcome. The belief is over a grid in the logarithm of the rate; the crossing is the highest rate that
meets the limit.

Simulated on M/M/1 curves with the procedure of ``hindmost measure --find-rate``: 5 to 9 runs per step, until
nine tenths of the belief lie within 10 % or 63 runs are used up (``tests/stats/searching.py``; 30 searches
each). *Spoilt* runs are slower by a Pareto factor, and half of them are not recognised:

================  ======  ===========  ============  =====================
runs scatter by   spoilt  span covers  runs (mean)   span within 10 %
================  ======  ===========  ============  =====================
2 %               none    100 %        40            100 %
5 %               none    100 %        48            97 %
5 %               10 %    100 %        50            93 %
15 %              10 %    97 %         69            7 %
30 %              20 %    93 %         70            0 %
================  ======  ===========  ============  =====================
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hindmost.stats.tables import Floats, upper_tail

RELIABLE = 0.97
"""Probability that an answer is right, far from the crossing. Steps that decide by their interval are wrong
once in a thousand if runs are alike (`objective`). The rest allows for a host that slows all runs of a step.
"""
DOUBTFUL = 0.6
"""The same probability for an answer with hardly any information."""
NEAR = 5.0
"""How much more likely the crossing is within the span of an undecided answer than outside."""
SHARPEST = 0.002
"""Smallest relative distance between the crossing and a rate that an answer can resolve."""
FINE = 0.005
"""Width of the grid's cells: half a per cent."""
SPREAD = math.log(8.0)
"""Mean distance of the crossing from the start of a search, as prior: a factor of eight."""


@dataclass(frozen=True, slots=True)
class Span:
    """Interval of the crossing; 0 and inf if it may lie beyond the grid."""

    low: float
    high: float

    @property
    def ratio(self) -> float:
        """Ratio of the interval's ends."""
        return self.high / self.low if self.low > 0.0 else math.inf


class Belief:
    """Belief about the crossing.

    Parameters
    ----------
    start
        Where the search begins.
    lowest, highest
        Ends of the grid. The prior includes a small probability beyond either end.

    Examples
    --------
    >>> belief = Belief(10_000.0, 10.0, 1e6)
    >>> for _ in range(12):
    ...     rate = belief.median
    ...     belief.hears(rate, holds=rate <= 34_567.0, error=0.01)
    >>> span = belief.span(0.9)
    >>> span.low < 34_567.0 < span.high, span.ratio < 1.1
    (True, True)
    """

    def __init__(self, start: float, lowest: float, highest: float) -> None:
        cells = math.ceil(math.log(highest / lowest) / FINE)
        edges = np.log(np.geomspace(lowest, highest, cells + 1))
        self._edges: Floats = edges
        # One cell below the grid and one above represent everything beyond it.
        self._middle: Floats = np.concatenate(([edges[0]], (edges[:-1] + edges[1:]) / 2.0, [edges[-1]]))
        self._mass: Floats = np.exp(-np.abs(self._middle - math.log(start)) / SPREAD)
        self._mass[[0, -1]] *= SPREAD / FINE
        self._mass /= self._mass.sum()

    def hears(self, rate: float, *, holds: bool, error: float = 0.0, reliable: float = RELIABLE) -> None:
        """Update the belief with the answer that `rate` meets the limit, or does not.

        Parameters
        ----------
        error
            Relative standard error of the response. Near its limit a response grows at least in proportion to
            the rate, so the rate is known at least that well.
        reliable
            Probability that the answer is right, far from the crossing.
        """
        far = (self._middle - math.log(rate)) / max(error, SHARPEST)
        right = 1.0 - upper_tail(far) if holds else upper_tail(far)
        # Beyond the grid's ends the crossing is infinitely far away.
        right[[0, -1]] = (0.0, 1.0) if holds else (1.0, 0.0)
        self._weigh(1.0 - reliable + (2.0 * reliable - 1.0) * right)

    def hears_near(self, low: float, high: float) -> None:
        """Update the belief with an undecided step: the crossing seems to lie between two rates."""
        inside = (self._middle >= math.log(low)) & (self._middle <= math.log(high))
        self._weigh(np.where(inside, NEAR, 1.0))

    def _weigh(self, likelihood: Floats) -> None:
        self._mass = self._mass * likelihood
        self._mass /= self._mass.sum()

    @property
    def median(self) -> float:
        """The rate below which the crossing lies with probability one half, limited to the grid."""
        found = self._quantile(0.5)
        return math.exp(min(max(found, self._edges[0]), self._edges[-1]))

    def span(self, confidence: float) -> Span:
        """Return the central interval of the crossing at this confidence."""
        out = (1.0 - confidence) / 2.0
        return Span(math.exp(self._quantile(out)), math.exp(self._quantile(1.0 - out)))

    def at_least(self, rate: float) -> float:
        """Return the probability that `rate` meets the limit."""
        return float(self._mass[self._middle >= math.log(rate)].sum())

    def _quantile(self, level: float) -> float:
        """Return a quantile in the logarithm of the rate; infinite beyond the grid."""
        whole = np.cumsum(self._mass)
        at = int(np.searchsorted(whole, level))
        if at == 0:
            return -math.inf
        if at >= len(self._mass) - 1:
            return math.inf
        share = (level - whole[at - 1]) / self._mass[at]
        return float(self._edges[at - 1] + share * (self._edges[at] - self._edges[at - 1]))
