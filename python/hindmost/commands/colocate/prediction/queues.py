"""Growth of a loaded server's percentiles if its service slows: four models of one queue."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hindmost.commands.colocate.prediction.profiles import Array
from hindmost.commands.colocate.prediction.tail import LEAST_SERVICES, Queue, block_of, mm1, stretch_service

LEVELS = np.array([0.5, 0.99])
_REQUESTS = 50_000
_STRETCH_LEVELS = np.concatenate([np.linspace(0, 0.98, 50), [0.99, 0.995, 1.0]])


@dataclass(frozen=True, slots=True)
class Stretch:
    """Effect of a job on service times.

    Attributes
    ----------
    lost : float
        Share of the rate that is lost, equal for all requests.
    alone, with_job : array
        Quantiles of service times at the same levels, without and with the job.
    series : array, optional
        Service times next to the job in their order, if measured.
    """

    lost: float
    alone: Array
    with_job: Array
    series: Array | None = None


@dataclass(slots=True)
class Solo:
    """A server without jobs that answers one request at a time.

    Attributes
    ----------
    service : array
        Time from the moment a request could be sent to its reply, in order, µs.
    rate : float
        Requests per second.
    """

    service: Array
    rate: float
    _queue: Queue = field(init=False)
    _spells: Queue = field(init=False)
    _alone: Array = field(init=False)
    _alone_in_spells: Array = field(init=False)

    def __post_init__(self) -> None:
        self._queue, self._spells = self._sample_queue(self.service, 1), self._sample_queue(self.service)
        self._alone = self._queue.percentiles(LEVELS)
        self._alone_in_spells = self._spells.percentiles(LEVELS)

    @property
    def load(self) -> float:
        """Share of time in which a request is being served."""
        return float(self.rate * np.mean(self.service) / 1e6)

    def from_cards(self, lost: float, p50: float, p99: float) -> Stretch:
        """Build the stretch from a loss of rate and the growth of two percentiles."""
        alone = np.quantile(self.service, [0, 0.5, 0.99, 1])
        return Stretch(lost, alone, alone * (1 + np.array([p50, p50, p99, p99])))

    def growth(self, stretch: Stretch) -> dict[str, tuple[float, float]]:
        """Return the growth of p50 and p99 of latency, by model; infinite if the queue grows without end."""
        found = {}
        one = mm1(0.99, self.load, stretch.lost) / mm1(0.99, self.load) - 1 if self.load < 1 else math.inf
        found["M/M/1"] = (one, one)  # exponential latency: every percentile grows by the same share
        found["M/G/1"] = self._waits(self._queue, self._queue.service / max(1 - stretch.lost, 1e-9))
        found["quantile map"] = self._waits(self._queue, self._map_quantiles(stretch, self._queue.service))
        if stretch.series is None:
            found["regimes"] = self._waits(self._spells, self._map_quantiles(stretch, self._spells.service))
        else:
            found["regimes"] = self._waits(self._sample_queue(stretch.series), None)
        return found

    def _sample_queue(self, service: Array, block: int | None = None) -> Queue:
        block = block_of(service) if block is None else block
        return Queue.draw(service, 1e6 / self.rate, requests=_REQUESTS, block=block)

    def _map_quantiles(self, stretch: Stretch, service: Array) -> Array:
        return stretch_service(stretch.alone, stretch.with_job, service)

    def _waits(self, queue: Queue, service: Array | None) -> tuple[float, float]:
        takes = queue.service if service is None else service
        if float(np.mean(takes)) * self.rate >= 1e6:
            return math.inf, math.inf
        alone = self._alone if queue is self._queue else self._alone_in_spells
        p50, p99 = queue.percentiles(LEVELS, takes) / alone - 1
        return float(p50), float(p99)


def has_enough_services(windows: Sequence[Array]) -> bool:
    """Whether the service times of some windows are enough for a p99."""
    return sum(map(len, windows)) >= LEAST_SERVICES


def measure_stretch(alone: Sequence[Array], with_job: Sequence[Array]) -> Stretch:
    """Measure the effect of a job on service times under a light load, from windows without and with it."""
    before, after = np.concatenate(alone), np.concatenate(with_job)
    return Stretch(
        1 - float(np.mean(before) / np.mean(after)),
        np.quantile(before, _STRETCH_LEVELS),
        np.quantile(after, _STRETCH_LEVELS),
        after,
    )
