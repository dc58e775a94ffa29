"""The uncertainty of the value at which an objective stops holding, from replications.

The search simulates all values under the same random numbers. Its curve is therefore smooth, but shifted as a
whole by the randomness of that one run. Each replication here uses its own random numbers and crosses the
limit at its own value. Student's t over these values gives an interval of the parameter. The answer is the
safe end of that interval: at its centre, half of all servers would miss the limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.commands.clone.fit.bins import Floats
from hindmost.commands.clone.simulation import Outcome
from hindmost.stats import Estimate
from hindmost.stats.tables import t_quantile

REPLICATIONS = 12
VALUES = 7
"""Values around the crossing in each replication."""

NARROWEST = 0.01
"""Smallest half width of the simulated range, as a share of the crossing."""

FARTHEST = 8
"""Most whole numbers tried on either side of the crossing."""

Run = Callable[[Sequence[float], Sequence[int]], Sequence[Outcome]]
"""Simulates values of the parameter: all under the first seed, then all under the second, ..."""


@dataclass(frozen=True)
class Crossing:
    """The value at which the objective stops holding.

    Parameters
    ----------
    safe : float or None
        The last value that surely holds (97.5 %, one-sided); None if no value does.
    low, high : float
        95 % interval of the crossing. For whole numbers: the first and last candidates for it.
    latency : Estimate or None
        The latency at the safe value, over replications.
    """

    safe: float | None
    low: float
    high: float
    latency: Estimate | None


@dataclass(frozen=True)
class Neighbourhood:
    """The simulation around a crossing that the replications repeat.

    Parameters
    ----------
    run : callable
        Simulates values of the parameter.
    name : str
        Name of the latency figure.
    limit_us : float
        Limit of the objective.
    seed : int
        Seed of the search.
    at_most : bool
        Whether small values meet the objective.
    """

    run: Run
    name: str
    limit_us: float
    seed: int
    at_most: bool

    def crossing(self, clear: tuple[float, float], *, linear: bool) -> Crossing:
        """Return the crossing of a real parameter.

        Parameters
        ----------
        clear : tuple of float
            Tried values around the crossing: one surely meets the objective, the other surely misses it.
        linear : bool
            Whether to use the parameter itself instead of its logarithm.
        """
        change, back = (float, float) if linear else (math.log, math.exp)
        low, high = (change(one) for one in clear)
        middle = (low + high) / 2.0
        half = max((high - low) / 2.0, NARROWEST * (abs(middle) if linear else 1.0))
        x = middle + half * np.linspace(-1.0, 1.0, VALUES)
        curves = self._latencies([back(one) for one in x])
        places = np.array([_find_zero(x, np.log(curve / self.limit_us)) for curve in curves])
        reach = t_quantile(REPLICATIONS - 1, 0.975) * places.std(ddof=1) / math.sqrt(REPLICATIONS)
        ends = back(float(places.mean() - reach)), back(float(places.mean() + reach))
        safe = ends[0] if self.at_most else ends[1]
        return Crossing(safe, *ends, self._estimate(self._latencies([safe])[:, 0]))

    def whole(self, last: float, least: float, most: float) -> Crossing:
        """Return the crossing of a whole number near `last`, the search's answer."""
        away = -1.0 if self.at_most else 1.0
        asked: dict[float, Estimate] = {}

        def one(value: float) -> Estimate:
            if value not in asked:
                asked[value] = self._estimate(self._latencies([value])[:, 0])
            return asked[value]

        safe, steps = last, 0
        while not one(safe).high < self.limit_us:
            steps += 1
            safe += away
            if steps > FARTHEST or not least <= safe <= most:
                return Crossing(None, min(last, safe - away), max(last, safe - away), None)
        # Search back from there for the last value that surely meets the objective.
        possible = safe
        while least <= possible - away <= most and one(possible - away).low < self.limit_us:
            possible -= away
            if abs(possible - safe) >= FARTHEST:
                break
            if one(possible).high < self.limit_us:
                safe = possible
        return Crossing(safe, min(safe, possible), max(safe, possible), one(safe))

    def _latencies(self, values: Sequence[float]) -> Floats:
        """Return latencies of shape ``(REPLICATIONS, len(values))``; infinite above the capacity."""
        # Far from seeds that users choose, so that the search's own run is not among them.
        seeds = [self.seed + 7_919 * number for number in range(1, REPLICATIONS + 1)]
        told = [one.prediction for one in self.run(values, seeds)]
        figures = [one.latency_us[self.name].value if one.state == "done" else math.inf for one in told]
        return np.array(figures).reshape(REPLICATIONS, len(values))

    def _estimate(self, values: Floats) -> Estimate:
        mean = float(values.mean())
        if math.isinf(mean):
            return Estimate(mean, mean, mean, values.size, 0.95)
        half = float(t_quantile(values.size - 1, 0.975) * values.std(ddof=1) / math.sqrt(values.size))
        return Estimate(mean, max(0.0, mean - half), mean + half, values.size, 0.95)


def _find_zero(x: Floats, over: Floats) -> float:
    """Find the zero of log(latency / limit) between neighbours, or on a line through all values."""
    known = np.isfinite(over)
    signs = np.flatnonzero(np.diff(np.sign(over)) != 0)
    for at in signs:
        if known[at] and known[at + 1]:
            return float(x[at] - over[at] * (x[at + 1] - x[at]) / (over[at + 1] - over[at]))
        return float(x[at] if known[at] else x[at + 1])
    if known.sum() < 2:
        return float(x[0])
    slope, base = np.polyfit(x[known], over[known], 1)
    return float(np.clip(-base / slope, 2 * x[0] - x[-1], 2 * x[-1] - x[0])) if slope else float(x.mean())
