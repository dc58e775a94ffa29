"""How sure the place is where an objective ceases to hold: asked again, with other random numbers each time.

The search looks at all values under the same random numbers, so that its curve is smooth, and off as a whole
by what chance made of that one run. Each replication here has random numbers of its own and crosses the limit
at a place of its own; Student's t over these gives the interval of the parameter. Its safe end is the answer:
at the place itself, half of all servers would miss the limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.models.fit.bins import Floats
from hindmost.models.simulation import Outcome
from hindmost.stats import Estimate
from hindmost.stats.tables import t_quantile

REPLICATIONS = 12
VALUES = 7
"""Values around the place, in each replication."""

NARROWEST = 0.01
"""Half of the range looked at, as a share of the place, at least."""

FARTHEST = 8
"""Whole numbers on either side of the place that are asked, at most."""

Run = Callable[[Sequence[float], Sequence[int]], Sequence[Outcome]]
"""Simulates values of the parameter under seeds: all values under the first, then under the second, ..."""


@dataclass(frozen=True)
class Crossing:
    """Where the objective ceases to hold.

    Parameters
    ----------
    safe : float or None
        The last value that surely holds (97.5 %, one side); None where no value does.
    low, high : float
        95 % interval of the place. Of whole numbers: from the first to the last that may be the last to hold.
    latency : Estimate or None
        The figure at the safe value, over replications.
    """

    safe: float | None
    low: float
    high: float
    latency: Estimate | None


@dataclass(frozen=True)
class Neighbourhood:
    """What is asked again.

    Parameters
    ----------
    run : callable
        Simulates values of the parameter.
    name : str
        Figure of the latency.
    limit_us : float
        What it must lie below.
    seed : int
        That of the search.
    at_most : bool
        Whether small values hold.
    """

    run: Run
    name: str
    limit_us: float
    seed: int
    at_most: bool

    def crossing(self, clear: tuple[float, float], *, linear: bool) -> Crossing:
        """Interval of a real parameter.

        Parameters
        ----------
        clear : tuple of float
            The search's neighbours of the place, of which one surely holds and the other surely does not.
        linear : bool
            Whether the parameter is taken as it is, and not in its logarithm.
        """
        change, back = (float, float) if linear else (math.log, math.exp)
        low, high = (change(one) for one in clear)
        middle = (low + high) / 2.0
        half = max((high - low) / 2.0, NARROWEST * (abs(middle) if linear else 1.0))
        x = middle + half * np.linspace(-1.0, 1.0, VALUES)
        curves = self._latencies([back(one) for one in x])
        places = np.array([_place(x, np.log(curve / self.limit_us)) for curve in curves])
        reach = t_quantile(REPLICATIONS - 1, 0.975) * places.std(ddof=1) / math.sqrt(REPLICATIONS)
        ends = back(float(places.mean() - reach)), back(float(places.mean() + reach))
        safe = ends[0] if self.at_most else ends[1]
        return Crossing(safe, *ends, self._estimate(self._latencies([safe])[:, 0]))

    def whole(self, last: float, least: float, most: float) -> Crossing:
        """Interval of a whole number, of which `last` is the search's answer, between `least` and `most`."""
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
        # Back from there, over values that may hold, to the first that surely does not.
        possible = safe
        while least <= possible - away <= most and one(possible - away).low < self.limit_us:
            possible -= away
            if abs(possible - safe) >= FARTHEST:
                break
            if one(possible).high < self.limit_us:
                safe = possible
        return Crossing(safe, min(safe, possible), max(safe, possible), one(safe))

    def _latencies(self, values: Sequence[float]) -> Floats:
        """Figures, shape ``(REPLICATIONS, len(values))``; infinite above the capacity."""
        # Far from the seeds that a person takes, so that the search's own run is none of them.
        seeds = [self.seed + 7_919 * number for number in range(1, REPLICATIONS + 1)]
        told = [one.prediction for one in self.run(values, seeds)]
        figures = [
            one["latency_us"][self.name]["value"] if one["state"] == "done" else math.inf for one in told
        ]
        return np.array(figures).reshape(REPLICATIONS, len(values))

    def _estimate(self, values: Floats) -> Estimate:
        mean = float(values.mean())
        if math.isinf(mean):
            return Estimate(mean, mean, mean, values.size, 0.95)
        half = float(t_quantile(values.size - 1, 0.975) * values.std(ddof=1) / math.sqrt(values.size))
        return Estimate(mean, max(0.0, mean - half), mean + half, values.size, 0.95)


def _place(x: Floats, over: Floats) -> float:
    """Where the logarithm of latency over limit is 0: between neighbours, or on the line through all."""
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
