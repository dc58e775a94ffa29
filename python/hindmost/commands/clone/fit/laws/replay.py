"""The latency that a law predicts for an FCFS queue with one server and Poisson arrivals.

Two laws are compared with common random numbers: the same arrivals, and the same uniform numbers for the
demands. Differences are therefore due to the laws, not to chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hindmost.commands.clone.fit.bins import Floats
from hindmost.commands.clone.fit.laws.families import Model

LOADS = (0.2, 0.5, 0.7)
STATISTICS = ("mean", "p95", "p99")
REQUESTS = 40_000
"""Requests of a replay: the noise is common to all laws, and this many fix the p99 within 6 % (research
note, 3.2)."""


def latencies(gaps: Floats, demands: Floats) -> Floats:
    """Return sojourn times by Lindley's recursion in closed form: W_n = S_n - min(S_0 .. S_n)."""
    steps = np.empty_like(demands)
    steps[0] = 0.0
    steps[1:] = demands[:-1] - gaps[1:]
    walk = np.cumsum(steps)
    return np.asarray(walk - np.minimum.accumulate(walk) + demands)


def summary(times: Floats) -> Floats:
    """Return mean, p95 and p99."""
    place = [int(0.95 * times.size), int(0.99 * times.size)]
    parted = np.partition(times, place)
    return np.array([times.mean(), parted[place[0]], parted[place[1]]])


@dataclass(frozen=True)
class Replay:
    """Arrivals and uniform numbers, shared by all compared laws."""

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
        """Return a summary per load, ``(loads, 3)``; `mean_us`, the same for all laws, sets the rate."""
        demands = rising[self._shuffle]
        return np.array([summary(latencies(self._gaps * (mean_us / load), demands)) for load in self.loads])

    def of_samples(self, ordered: Floats) -> Floats:
        """Return the summaries of resampled sorted samples."""
        rising = ordered[(self.levels * ordered.size).astype(np.int64)]
        return self.of_demands(rising, float(ordered.mean()))

    def of_model(self, model: Model, mean_us: float) -> Floats:
        """Return the summaries of a law at the arrival rate for samples with that mean."""
        return self.of_demands(model.quantile(self.levels), mean_us)
