"""Which metrics moved with the latency: in which order experiments are worth their time, never an answer.

The unit is the block of `stats.series.changes`, not the second. Ranks, so that no metric's scale or outliers
count; the p of a rank correlation is taken from shifts of one series against the other around a circle, which
keep the autocorrelation of both. Series that only grow (random walks) still correlate too often.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEAST_BLOCKS = 20

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
    """A metric beside the latency: rank correlation, its p, and what it suggests to try first."""

    name: str
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
        The most correlated first; constant metrics and those with fewer than 20 blocks are left out.

    Examples
    --------
    >>> latency = np.sin(np.arange(60.0)) + 2
    >>> [one.name for one in rank_metrics(latency, {"psi.cpu": latency**2, "app.threads": np.ones(60)})]
    ['psi.cpu']
    """
    found = []
    for name, values in metrics.items():
        fine = np.isfinite(latency) & np.isfinite(values)
        if fine.sum() < LEAST_BLOCKS or np.ptp(values[fine]) == 0:
            continue
        mine, other = _ranks(latency[fine]), _ranks(values[fine])
        at_shift = np.array([_correlation(mine, np.roll(other, shift)) for shift in range(len(mine))])
        p = float(np.mean(np.abs(at_shift) >= abs(at_shift[0]) - 1e-12))
        found.append(Moved(name, float(at_shift[0]), p, suggestion(name)))
    return sorted(found, key=lambda one: (-abs(one.correlation), one.name))


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
