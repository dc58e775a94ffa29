"""From a rate that is lost to a percentile of latency.

A slower server waits longer in its queue, too: percentiles grow faster than service times. Eq 3.6 has this
for exponential service (M/M/1); for others the queue is simulated with the solo service times, stretched.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hindmost.colocation.profiles import Array

MOST_LOAD = 0.99
"""Beyond it a queue has no percentile that could be told."""
LEAST_SERVICES = 200
"""Fewer have no p99."""


def mm1(p: float, load: float, lost: float = 0.0) -> float:
    """Percentile of latency by Eq 3.6, in mean service times of the undisturbed server.

    Parameters
    ----------
    p : float
        Level, 0.99 for p99.
    load : float
        Arrivals times mean service alone.
    lost : float
        Share of the rate.

    Examples
    --------
    >>> round(mm1(0.99, 0.5, 0.1) / mm1(0.99, 0.5), 2)
    1.25
    """
    free = 1 - lost - load
    return float(-np.log(1 - p) / free) if free > 0 else float("inf")


def allowed_loss(within: float, load: float) -> float:
    """Invert Eq 3.6: the share of its rate that a server may lose while percentiles grow ``within``.

    Examples
    --------
    >>> round(allowed_loss(0.10, 0.5), 4)
    0.0455
    """
    return (1 - load) * within / (1 + within)


def stretched(quantiles_alone: Array, quantiles_beside: Array, service: Array) -> Array:
    """Map service times by how each quantile stretched next to a stressor: not all requests lose alike."""
    found: Array = np.interp(service, quantiles_alone, quantiles_beside)
    return found


def simulated(
    service: Array,
    load: float,
    levels: Array,
    *,
    servers: int = 1,
    lost: float = 0.0,
    requests: int = 200_000,
    block: int = 1,
    seed: int = 1,
) -> Array:
    """Percentiles of latency in a queue with Poisson arrivals, service drawn from a sample and stretched.

    Parameters
    ----------
    service : array
        Service times alone, in the order in which they were seen.
    load : float
        Of each server, alone.
    levels : array
        Levels of the percentiles.
    servers : int
        Of one queue.
    lost : float
        Share of the rate: every time is stretched by ``1 / (1 - lost)``.
    requests, block, seed : int
        As of `Queue.drawn`.
    """
    between = float(np.mean(service)) / (load * servers)
    queue = Queue.drawn(service, between, requests=requests, block=block, seed=seed)
    return queue.percentiles(levels, queue.service / (1 - lost), servers)


@dataclass(frozen=True, slots=True)
class Queue:
    """Requests that come at random: what becomes of the same ones if each takes longer.

    Attributes
    ----------
    gaps, service : array, requests or repetitions x requests
        Before each request, and what it takes; in one unit of time.
    """

    gaps: Array
    service: Array

    @classmethod
    def drawn(cls, service: Array, between: float, *, requests: int, block: int = 1, seed: int = 1) -> Queue:
        """Draw arrivals of Poisson's law, and service times from a sample.

        Parameters
        ----------
        service : array
            Service times, in the order in which they were seen.
        between : float
            Mean gap.
        requests, seed : int
        block : int
            Service times are drawn in runs of so many that followed each other, so that slow spells, which
            outlast a request, survive (block bootstrap; Künsch 1989).
        """
        rng = np.random.default_rng(seed)
        starts = rng.integers(0, max(1, len(service) - block + 1), size=requests // block + 1)
        drawn = service[(starts[:, None] + np.arange(block)).ravel()[:requests]]
        return cls(rng.exponential(between, size=requests), drawn)

    def percentiles(self, levels: Array, service: Array | None = None, servers: int = 1) -> Array:
        """Of latency, after a twentieth that begins with an empty queue; levels, or levels x repetitions."""
        takes = self.service if service is None else service
        latency = _lindley(self.gaps, takes) if servers == 1 else _workload(self.gaps, takes, servers)
        found: Array = np.quantile(latency[..., takes.shape[-1] // 20 :], levels, axis=-1)
        return found


def block_of(service: Array) -> int:
    """How long slow spells are: twice the lag up to which logarithms of service times are correlated.

    Parameters
    ----------
    service : array
        In the order in which they were seen.

    Returns
    -------
    int
        1 where the next request knows nothing of the last; at most a tenth of the sample.
    """
    most = max(1, len(service) // 10)
    if most < 2:
        return 1
    values = np.log(np.maximum(service, np.finfo(float).tiny))
    values = values - values.mean()
    power = float(values @ values)
    if power == 0:
        return 1
    padded = np.fft.rfft(values, 2 * len(values))
    correlation = np.fft.irfft(np.abs(padded) ** 2)[1:most] / power
    below = np.flatnonzero(correlation < 2 / np.sqrt(len(values)))
    lag = int(below[0]) if len(below) else most
    return max(1, min(2 * lag, most))


def _lindley(gaps: Array, drawn: Array) -> Array:
    """Waits of one server (Lindley 1952), as the running maximum of a random walk."""
    steps = np.zeros_like(drawn)
    steps[..., 1:] = drawn[..., :-1] - gaps[..., 1:]
    walk = np.cumsum(steps, axis=-1)
    waits: Array = walk - np.minimum.accumulate(walk, axis=-1)
    return waits + drawn


def _workload(gaps: Array, drawn: Array, servers: int) -> Array:
    """Latency with several servers (Kiefer and Wolfowitz 1955): whoever is free first takes the next."""
    came, takes = np.atleast_2d(np.cumsum(gaps, axis=-1)).T, np.atleast_2d(drawn).T
    free = np.zeros((takes.shape[1], servers))
    rows = np.arange(len(free))
    latency = np.empty(takes.shape)
    for at, (when, work) in enumerate(zip(came, takes, strict=True)):
        first = free.argmin(axis=1)
        end = np.maximum(when, free[rows, first]) + work
        free[rows, first] = end
        latency[at] = end - when
    return latency.T.reshape(drawn.shape)
