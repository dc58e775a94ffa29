"""Ranking of metrics that moved with latency: the order of experiments, not an answer.

The unit is the block of `stats.series.changes`, not the second or the request. A quantile regression on
requests treats neighbouring requests as independent, and finds everything significant. Each block's quantile
is regressed on one metric at a time, at the median of blocks. The share that a metric explains is one minus
the ratio of absolute deviations with and without it (Koenker and Machado [1]_). Metrics enter by rank, so
that neither scale nor outliers matter. p comes from circular shifts of one series against the other, which
keep the autocorrelation of both. Series that only grow (random walks) still appear related too often.

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
"""Only the latest blocks count: a metric that moved weeks ago suggests no experiment now."""
MOST_SHIFTS = 100
STEPS = 24
"""Steps of the golden-section search: the slope is then known to 1 in 100,000 of its range."""
RANGE = 4.0
"""Range of slopes, in standard deviations of latency per standard deviation of ranks."""

SUGGESTS = {
    "neighbours": "pause or confine the busiest neighbour",
    "app.run_delay": "pause or confine a neighbour; let the threads run on more processors",
    "app.switches": "pause or confine a neighbour",
    "app.thread_moves": "pin the threads",
    "psi.cpu": "pause or confine a neighbour; lift the quota",
    "psi.memory": "check memory limits, and which process thrashes the page cache",
    "psi.io": "look for a neighbour that writes",
    "cgroup.throttled": "lift the quota",
    "host.steal": "no experiment on this host: other guests of the hypervisor",
    "irq.": "move receive processing (RPS) or interrupts to other CPUs",
    "host.softirq": "move receive processing (RPS); look for a flood",
    "softirq.net": "move receive processing (RPS); look for a flood",
    "net.": "look for a flood; compare with the load",
    "tcp.": "check the network for packet loss",
    "udp.": "look for a flood",
    "speed.": "check clock frequency and quota: the processor itself is slower",
    "app.read_calls": "compare with the load: more requests arrived",
    "app.run_us": "compare with the load: more work was done",
    "vm.": "check memory limits",
}
"""Suggested experiment for each metric, by the beginning of its name."""


@dataclass(frozen=True, slots=True)
class MovedMetric:
    """A metric that moved with latency: the share it explains, the sign, p, and the suggested experiment."""

    name: str
    explained: float
    correlation: float
    p: float
    suggests: str


def rank_metrics(
    latency: NDArray[np.float64], metrics: Mapping[str, NDArray[np.float64]]
) -> list[MovedMetric]:
    """Order metrics by how strongly they moved with latency.

    Parameters
    ----------
    latency : array, shape (blocks,)
        A quantile of each block; NaN if unknown.
    metrics : mapping
        Arrays of the same shape, by name.

    Returns
    -------
    list of Moved
        The most explanatory metric first. Constant metrics and those with fewer than 20 blocks are left out.

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
        found.append(
            MovedMetric(name, float(explained[0]), _correlation(_ranks(logs), other), p, suggestion(name))
        )
    return sorted(found, key=lambda one: (-one.explained, one.name))


def explains(latency: NDArray[np.float64], metrics: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of latency that each metric explains alone, in a median regression.

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

    # The loss is convex in the slope.
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
    """Return the experiment that a metric suggests, or an empty string.

    Examples
    --------
    >>> suggestion("cgroup.throttled_us")
    'lift the quota'
    """
    return next((text for begin, text in SUGGESTS.items() if name.startswith(begin)), "")


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return centred ranks, with ties shared."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    middle = last - (counts - 1) / 2
    ranks = middle[inverse]
    return np.asarray(ranks - ranks.mean(), dtype=np.float64)


def _correlation(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    return float(first @ second / np.sqrt((first @ first) * (second @ second)))
