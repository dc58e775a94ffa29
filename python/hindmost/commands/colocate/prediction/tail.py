"""From a lost share of a server's rate to the growth of a latency percentile.

A slower server also waits longer in its queue, so percentiles grow faster than service times. Eq 3.6
describes this for exponential service (M/M/1). For other service times the queue is simulated with the solo
times, stretched.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hindmost.commands.colocate.prediction.profiles import Array

MOST_LOAD = 0.99
"""Load beyond which a queue's percentiles cannot be estimated."""
LEAST_SERVICES = 200
"""Service times needed for a p99."""


def mm1(p: float, load: float, lost: float = 0.0) -> float:
    """Return a percentile of latency by Eq 3.6, in mean service times of the undisturbed server.

    Parameters
    ----------
    p : float
        Level, 0.99 for p99.
    load : float
        Arrival rate times mean service time alone.
    lost : float
        Share of the rate that is lost.

    Examples
    --------
    >>> round(mm1(0.99, 0.5, 0.1) / mm1(0.99, 0.5), 2)
    1.25
    """
    free = 1 - lost - load
    return float(-np.log(1 - p) / free) if free > 0 else float("inf")


def allowed_loss(within: float, load: float) -> float:
    """Invert Eq 3.6: return the share of its rate that a server may lose if percentiles may grow by `within`.

    Examples
    --------
    >>> round(allowed_loss(0.10, 0.5), 4)
    0.0455
    """
    return (1 - load) * within / (1 + within)


def stretch_service(quantiles_alone: Array, quantiles_with_job: Array, service: Array) -> Array:
    """Map service times by the growth of each quantile next to a stressor: requests do not all lose alike."""
    found: Array = np.interp(service, quantiles_alone, quantiles_with_job)
    return found


def simulate_percentiles(
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
    """Simulate latency percentiles of a queue with Poisson arrivals and stretched service times.

    Parameters
    ----------
    service : array
        Service times alone, in their original order.
    load : float
        Load of each server, alone.
    levels : array
        Levels of the percentiles.
    servers : int
        Servers of one queue.
    lost : float
        Share of the rate: every service time is stretched by ``1 / (1 - lost)``.
    requests, block, seed : int
        As for `Queue.draw`.
    """
    between = float(np.mean(service)) / (load * servers)
    queue = Queue.draw(service, between, requests=requests, block=block, seed=seed)
    return queue.percentiles(levels, queue.service / (1 - lost), servers)


@dataclass(frozen=True, slots=True)
class Queue:
    """Random arrivals and service times, which can be replayed with other service times.

    Attributes
    ----------
    gaps, service : array, requests or repetitions x requests
        Time before each request, and its service time, in the same unit.
    """

    gaps: Array
    service: Array

    @classmethod
    def draw(cls, service: Array, between: float, *, requests: int, block: int = 1, seed: int = 1) -> Queue:
        """Draw Poisson arrivals, and service times from a sample.

        Parameters
        ----------
        service : array
            Service times, in their original order.
        between : float
            Mean time between arrivals.
        requests, seed : int
        block : int
            Service times are drawn in series of this many consecutive ones, so that slow periods, which
            outlast a request, are preserved (block bootstrap; Künsch 1989).
        """
        rng = np.random.default_rng(seed)
        starts = rng.integers(0, max(1, len(service) - block + 1), size=requests // block + 1)
        sample = service[(starts[:, None] + np.arange(block)).ravel()[:requests]]
        return cls(rng.exponential(between, size=requests), sample)

    def percentiles(self, levels: Array, service: Array | None = None, servers: int = 1) -> Array:
        """Return latency percentiles, without the first twentieth of requests, by level (and repetition)."""
        takes = self.service if service is None else service
        latency = _lindley(self.gaps, takes) if servers == 1 else _workload(self.gaps, takes, servers)
        found: Array = np.quantile(latency[..., takes.shape[-1] // 20 :], levels, axis=-1)
        return found


def block_of(service: Array) -> int:
    """Estimate the length of slow periods: twice the lag up to which logarithms of service times correlate.

    Parameters
    ----------
    service : array
        Service times in their original order.

    Returns
    -------
    int
        1 if consecutive requests are independent; at most a tenth of the sample.
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
    """Compute the latency of one server (Lindley 1952), as the running maximum of a random walk."""
    steps = np.zeros_like(drawn)
    steps[..., 1:] = drawn[..., :-1] - gaps[..., 1:]
    walk = np.cumsum(steps, axis=-1)
    waits: Array = walk - np.minimum.accumulate(walk, axis=-1)
    return waits + drawn


def _workload(gaps: Array, drawn: Array, servers: int) -> Array:
    """Compute latency with several servers (Kiefer and Wolfowitz 1955): the first free one takes the next."""
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
