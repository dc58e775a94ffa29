"""What a law predicts: latencies of a FCFS queue with one server, Poisson arrivals and given demands.

Two laws are compared with common random numbers: the same arrivals, and the same uniform numbers for the
demands. What differs is then the law, not chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hindmost.models.fit.bins import Floats
from hindmost.models.fit.laws.families import Model

LOADS = (0.2, 0.5, 0.7)
STATISTICS = ("mean", "p95", "p99")
REQUESTS = 40_000
"""Requests of a replay: the noise is common to all, and this many fix the p99 within 6 % (research note,
3.2)."""


def latencies(gaps: Floats, demands: Floats) -> Floats:
    """Sojourn times, by Lindley's recursion in closed form: W_n = S_n - min(S_0 .. S_n)."""
    steps = np.empty_like(demands)
    steps[0] = 0.0
    steps[1:] = demands[:-1] - gaps[1:]
    walk = np.cumsum(steps)
    return np.asarray(walk - np.minimum.accumulate(walk) + demands)


def summary(times: Floats) -> Floats:
    """Mean, p95 and p99."""
    place = [int(0.95 * times.size), int(0.99 * times.size)]
    parted = np.partition(times, place)
    return np.array([times.mean(), parted[place[0]], parted[place[1]]])


@dataclass(frozen=True)
class Replay:
    """Arrivals and uniform numbers, shared by all laws that are compared."""

    seed: int = 1
    requests: int = REQUESTS
    loads: tuple[float, ...] = LOADS

    @cached_property
    def levels(self) -> Floats:
        """The uniform numbers, rising: one in each of `requests` equal parts."""
        return np.asarray((np.arange(self.requests) + 0.5) / self.requests)

    @cached_property
    def _shuffle(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.random.default_rng(self.seed).permutation(self.requests)

    @cached_property
    def _gaps(self) -> Floats:
        return np.random.default_rng(self.seed + 1).exponential(1.0, self.requests)

    def of_demands(self, rising: Floats, mean_us: float) -> Floats:
        """Summary a load, shape ``(loads, 3)``; `mean_us` sets the arrivals, and is the same for all laws."""
        demands = rising[self._shuffle]
        return np.array([summary(latencies(self._gaps * (mean_us / load), demands)) for load in self.loads])

    def of_samples(self, ordered: Floats) -> Floats:
        """Summary of sorted samples, resampled."""
        rising = ordered[(self.levels * ordered.size).astype(np.int64)]
        return self.of_demands(rising, float(ordered.mean()))

    def of_model(self, model: Model, mean_us: float) -> Floats:
        """Summary of a law, at the arrivals of samples with that mean."""
        return self.of_demands(model.quantile(self.levels), mean_us)
