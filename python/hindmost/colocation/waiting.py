"""How percentiles of a loaded server grow if its service does: four models of one queue, side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hindmost.colocation.profiles import Array
from hindmost.colocation.tail import LEAST_SERVICES, Queue, block_of, mm1, stretched

LEVELS = np.array([0.5, 0.99])
MODELS = ("M/M/1", "M/G/1", "quantile map", "regimes")
_REQUESTS = 50_000
_SEEN_LEVELS = np.concatenate([np.linspace(0, 0.98, 50), [0.99, 0.995, 1.0]])


@dataclass(frozen=True, slots=True)
class Stretch:
    """What becomes of service times next to a job.

    Attributes
    ----------
    lost : float
        Share of the rate, all requests alike.
    alone, beside : array
        Quantiles of service times, at the same levels: not all requests lose alike.
    series : array, optional
        Service times next to the job in their order, where they were seen.
    """

    lost: float
    alone: Array
    beside: Array
    series: Array | None = None


@dataclass(slots=True)
class Solo:
    """A server without jobs, whose requests are answered one after the other.

    Attributes
    ----------
    service : array
        From the moment at which a request could be sent to its reply, in order; microseconds.
    rate : float
        Requests a second.
    """

    service: Array
    rate: float
    _queue: Queue = field(init=False)
    _spells: Queue = field(init=False)
    _alone: Array = field(init=False)
    _alone_in_spells: Array = field(init=False)

    def __post_init__(self) -> None:
        self._queue, self._spells = self._drawn(self.service, 1), self._drawn(self.service)
        self._alone = self._queue.percentiles(LEVELS)
        self._alone_in_spells = self._spells.percentiles(LEVELS)

    @property
    def load(self) -> float:
        """Share of time in which a request is under way."""
        return float(self.rate * np.mean(self.service) / 1e6)

    def from_cards(self, lost: float, p50: float, p99: float) -> Stretch:
        """Stretch the service by a loss of rate, and by how two percentiles grow."""
        alone = np.quantile(self.service, [0, 0.5, 0.99, 1])
        return Stretch(lost, alone, alone * (1 + np.array([p50, p50, p99, p99])))

    def grown(self, stretch: Stretch) -> dict[str, tuple[float, float]]:
        """By what share p50 and p99 of latency grow, by model; infinite where the queue has no end."""
        found = {}
        one = mm1(0.99, self.load, stretch.lost) / mm1(0.99, self.load) - 1 if self.load < 1 else math.inf
        found["M/M/1"] = (one, one)  # exponential latency: every percentile grows alike
        found["M/G/1"] = self._waits(self._queue, self._queue.service / max(1 - stretch.lost, 1e-9))
        found["quantile map"] = self._waits(self._queue, self._mapped(stretch, self._queue.service))
        if stretch.series is None:
            found["regimes"] = self._waits(self._spells, self._mapped(stretch, self._spells.service))
        else:
            found["regimes"] = self._waits(self._drawn(stretch.series), None)
        return found

    def _drawn(self, service: Array, block: int | None = None) -> Queue:
        block = block_of(service) if block is None else block
        return Queue.drawn(service, 1e6 / self.rate, requests=_REQUESTS, block=block)

    def _mapped(self, stretch: Stretch, service: Array) -> Array:
        return stretched(stretch.alone, stretch.beside, service)

    def _waits(self, queue: Queue, service: Array | None) -> tuple[float, float]:
        takes = queue.service if service is None else service
        if float(np.mean(takes)) * self.rate >= 1e6:
            return math.inf, math.inf
        alone = self._alone if queue is self._queue else self._alone_in_spells
        p50, p99 = queue.percentiles(LEVELS, takes) / alone - 1
        return float(p50), float(p99)


def enough(windows: Sequence[Array]) -> bool:
    """Whether the service times of some windows have a p99."""
    return sum(map(len, windows)) >= LEAST_SERVICES


def seen(alone: Sequence[Array], beside: Sequence[Array]) -> Stretch:
    """What became of service times under a light load, of windows without and with a job."""
    before, after = np.concatenate(alone), np.concatenate(beside)
    return Stretch(
        1 - float(np.mean(before) / np.mean(after)),
        np.quantile(before, _SEEN_LEVELS),
        np.quantile(after, _SEEN_LEVELS),
        after,
    )
