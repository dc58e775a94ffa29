"""Which metrics moved with the latency: in which order experiments are worth their time, never an answer.

The unit is the block of `stats.series.changes`, not the second or the request: a quantile regression on
requests takes neighbours for witnesses, and finds everything significant. Each block's quantile is regressed
on each metric by itself, at the median of blocks; what a metric explains is one less the ratio of absolute
deviations with and without it (Koenker and Machado [1]_). Metrics go in by rank, so that no scale or outlier
counts. p is taken from shifts of one series against the other around a circle, which keep the autocorrelation
of both. Series that only grow (random walks) still go together too often.

.. [1] R. Koenker, J. A. F. Machado, "Goodness of Fit and Related Inference Processes for Quantile
   Regression", JASA 94 (1999) 1296-1310.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAST_BLOCKS = 20
MOST_BLOCKS = 500
"""The last ones: what moved weeks ago suggests no experiment now."""
MOST_SHIFTS = 100
STEPS = 24
"""Of the golden section: the slope is then known to 1 in 100,000 of its range."""
RANGE = 4.0
"""Slopes, in standard deviations of the latency by that of the ranks."""

SUGGESTS = {
    "neighbours": "pause or confine the greediest neighbour",
    "app.run_delay": "pause or confine a neighbour; let the threads run on more processors",
    "app.switches": "pause or confine a neighbour",
    "app.thread_moves": "pin the threads",
    "psi.cpu": "pause or confine a neighbour; lift the quota",
    "psi.memory": "look at memory limits and who thrashes the page cache",
    "psi.io": "look for a neighbour that writes",
    "cgroup.throttled": "lift the quota",
    "host.steal": "nothing here: the hypervisor's other guests",
    "irq.": "switch receive processing (RPS) or where interrupts are handled",
    "host.softirq": "switch receive processing (RPS), look for a flood",
    "softirq.net": "switch receive processing (RPS), look for a flood",
    "net.": "look for a flood; compare with the load",
    "tcp.": "look at the network's losses",
    "udp.": "look for a flood",
    "speed.": "look at frequency and quota: the processor itself is slower",
    "app.read_calls": "compare with the load: more requests came",
    "app.run_us": "compare with the load: more work was done",
    "vm.": "look at memory limits",
}
"""What a metric suggests to try, by how its name begins."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A metric beside the latency: what it explains of it, the sign, p, and what it suggests to try first."""

    name: str
    explained: float
    correlation: float
    p: float
    suggests: str


def rank_metrics(latency: NDArray[np.float64], metrics: Mapping[str, NDArray[np.float64]]) -> list[Moved]:
    """Order metrics by how they moved with the latency.

    Parameters
    ----------
    latency : array, shape (blocks,)
        A quantile of each block; NaN where there is none.
    metrics : mapping
        Name to array of the same shape.

    Returns
    -------
    list of Moved
        Who explains most first; constant metrics and those with fewer than 20 blocks are left out.

    Examples
    --------
    >>> latency = np.sin(np.arange(60.0)) + 2
    >>> [one.name for one in rank_metrics(latency, {"psi.cpu": latency**2, "app.threads": np.ones(60)})]
    ['psi.cpu']
    """
    found = []
    for name, values in metrics.items():
        fine = np.flatnonzero(np.isfinite(latency) & (latency > 0) & np.isfinite(values))[-MOST_BLOCKS:]
        if len(fine) < LEAST_BLOCKS or np.ptp(values[fine]) == 0:
            continue
        logs, other = np.log(latency[fine]), _ranks(values[fine])
        n = len(fine)
        shifts = np.unique(np.linspace(0, n, min(n, MOST_SHIFTS), endpoint=False).astype(int))
        shifted = other[(np.arange(n)[None, :] - shifts[:, None]) % n]
        explained = explains(logs, shifted)
        p = float(np.mean(explained >= explained[0] - 1e-12))
        found.append(Moved(name, float(explained[0]), _correlation(_ranks(logs), other), p, suggestion(name)))
    return sorted(found, key=lambda one: (-one.explained, one.name))


def explains(latency: NDArray[np.float64], metrics: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each metric explains of the latency in a median regression on it alone.

    Parameters
    ----------
    latency : array, shape (n,)
    metrics : array, shape (k, n)
        Centred.

    Returns
    -------
    array, shape (k,)
        Between 0 and 1.

    Examples
    --------
    >>> x = np.linspace(-1.0, 1.0, 50)
    >>> explains(3.0 * x + 1.0, np.array([x, np.tile([-1.0, 1.0], 25)])).round(2)
    array([1., 0.])
    """
    scaled = metrics / np.maximum(metrics.std(axis=1, keepdims=True), 1e-300)

    def loss(slope: NDArray[np.float64]) -> NDArray[np.float64]:
        rest = latency[None, :] - slope[:, None] * scaled
        middle = np.median(rest, axis=1, keepdims=True)
        return np.asarray(np.abs(rest - middle).sum(axis=1))

    # Convex in the slope.
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    high = np.full(len(scaled), RANGE * float(latency.std()))
    low = -high
    for _ in range(STEPS):
        left, right = high - golden * (high - low), low + golden * (high - low)
        nearer = loss(left) < loss(right)
        low, high = np.where(nearer, low, left), np.where(nearer, right, high)
    without = loss(np.zeros(len(scaled)))
    return np.asarray(np.maximum(0.0, 1.0 - loss((low + high) / 2.0) / np.maximum(without, 1e-300)))


def suggestion(name: str) -> str:
    """What a metric suggests; empty where it suggests nothing.

    Examples
    --------
    >>> suggestion("cgroup.throttled_us")
    'lift the quota'
    """
    return next((text for begin, text in SUGGESTS.items() if name.startswith(begin)), "")


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks with ties shared, centred."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    middle = last - (counts - 1) / 2
    ranks = middle[inverse]
    return np.asarray(ranks - ranks.mean(), dtype=np.float64)


def _correlation(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    return float(first @ second / np.sqrt((first @ first) * (second @ second)))
