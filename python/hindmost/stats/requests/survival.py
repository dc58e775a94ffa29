"""Kaplan-Meier estimate of a distribution of latencies, some of which are censored.

A request in flight when something unrelated to it ends the observation has a latency of *at least* its age.
Leaving it out would favour short latencies, and so would counting its age as its latency. The product-limit
estimator (Kaplan and Meier, JASA 1958) does neither. Written as ``S(t) = Y(t+) / n / G(t)``, with Y the
number still observed and G the survival of the *observation*, it is the plain share of requests above t, bit
for bit, if nothing was censored.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hindmost.stats.tables import Floats

_RANK_SLACK = 1e-9
"""A rank that misses a whole number by less counts as that number: .99 * 100 is 99."""


class Survival:
    """Distribution of times, some of which are censored.

    Parameters
    ----------
    times : ndarray, shape (n,)
        Latency, or the age at which observation ended; infinite for requests that were never answered.
    censored : ndarray of bool, shape (n,)
        Whether observation ended first.

    Raises
    ------
    ValueError
        If there are none, or shapes differ.

    Examples
    --------
    >>> remission = [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35]
    >>> cut = [0, 0, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1]
    >>> law = Survival(np.array(remission, float), np.array(cut, bool))  # Freireich et al. 1963, 6-MP
    >>> [round(law.above(t), 4) for t in (6, 7, 10, 13, 16, 22, 23)], law.quantile(0.5)
    ([0.8571, 0.8067, 0.7529, 0.6902, 0.6275, 0.5378, 0.4482], 23.0)
    """

    def __init__(self, times: Floats, censored: npt.NDArray[np.bool_]) -> None:
        if times.ndim != 1 or times.size == 0 or times.shape != censored.shape:
            raise ValueError(
                f"expected times and whether each was censored, got {times.shape}, {censored.shape}"
            )
        n = times.size
        # Among equal times, uncensored ones come first: those censored then were still under observation.
        self.order = np.lexsort((censored, times)) if censored.any() else np.argsort(times, kind="stable")
        self.times, self.cut = times[self.order], censored[self.order]
        self._watched = np.arange(n, 0, -1, dtype=np.float64)
        leaving = np.where(self.cut & (self._watched > 1.0), 1.0 / self._watched, 0.0)
        watching = np.exp(np.cumsum(np.log1p(-leaving)))
        self.survival = (self._watched - 1.0) / n / watching
        if self.cut[-1]:
            self.survival[-1] = self.survival[-2] if n > 1 else 1.0

    @property
    def n(self) -> int:
        """Number of times."""
        return int(self.times.size)

    def place(self, level: float) -> int:
        """Return the index of the quantile in sorted order; `n` if too many were censored."""
        return int(np.searchsorted(-self.survival, level - 1.0 - _RANK_SLACK / self.n))

    def quantile(self, level: float) -> float:
        """Return the smallest time by which a share `level` is complete.

        It is infinite if that share is never complete, and NaN if too many were censored to know.

        >>> never, cut = np.array([1.0, math.inf, math.inf]), np.array([False, False, False])
        >>> Survival(never, cut).quantile(0.5), Survival(never, ~cut).quantile(0.5)
        (inf, nan)
        """
        if level <= 0.0:
            return float(self.times[0])
        at = self.place(level)
        return float(self.times[at]) if at < self.n else math.nan

    def above(self, time: float) -> float:
        """Return the share of times above this one."""
        at = int(np.searchsorted(self.times, time, side="right"))
        return float(self.survival[at - 1]) if at else 1.0

    def influence(self, place: int) -> Floats:
        """Return each observation's contribution to the error of the survival at an index.

        Sums over independent groups, squared and added, estimate its variance (the infinitesimal jackknife;
        Greenwood's formula for groups of one).
        """
        seen = ~self.cut & (self._watched > 1.0)
        rest = np.maximum(self._watched - 1.0, 1.0)
        hazard = np.cumsum(np.where(seen, 1.0 / (self._watched * rest), 0.0))
        own = np.where(seen, 1.0 / rest, 0.0)
        own[place + 1 :] = 0.0
        hazard[place + 1 :] = hazard[place]
        out = np.empty(self.n)
        out[self.order] = self.survival[place] * (hazard - own)
        return out
