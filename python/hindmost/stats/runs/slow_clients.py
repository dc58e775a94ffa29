"""Test whether one client is slower than the others, for example because of a slow link.

For each run, take the logarithm of each client's quantile over the median of the others', which cancels what
all share (the server's state, the run's load). Over runs, a one-sided t test shows whether the client is
slower by more than `MATTERS`, at `FALSE_ALARM` over all clients together (Bonferroni). `ownership.py`
examines the tail of all requests; this test also detects a client that is slow throughout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.stats.tables import upper_tail

MATTERS = 1.1
"""Smallest ratio that matters. Processors and switches differ by less."""
FALSE_ALARM = 0.001
LEAST_RUNS = 3


@dataclass(frozen=True, slots=True)
class SlowClient:
    """Client ``index`` is ``ratio`` times as slow as the others; ``p_value`` is adjusted for all clients."""

    index: int
    ratio: float
    p_value: float


def find_slow_clients(values: Sequence[Sequence[float]]) -> list[SlowClient]:
    """Return the clients that are slower than the others, the slowest first.

    Parameters
    ----------
    values
        A latency quantile by run and client, shape ``(runs, clients)``; all positive. Runs with an infinite
        value are left out.

    Raises
    ------
    ValueError
        If runs have different numbers of clients.

    Examples
    --------
    >>> [one.index for one in find_slow_clients([[100, 103, 351], [110, 109, 362], [98, 101, 340]])]
    [2]
    """
    if len({len(run) for run in values}) > 1:
        raise ValueError("every run needs a value of every client")
    x = np.asarray([run for run in values if all(map(math.isfinite, run))], dtype=np.float64)
    if x.ndim != 2 or x.shape[0] < LEAST_RUNS or x.shape[1] < 2:
        return []
    found = []
    for index in range(x.shape[1]):
        others = np.median(np.delete(x, index, axis=1), axis=1)
        slower = np.log(x[:, index] / others)
        error = max(slower.std(ddof=1) / math.sqrt(len(slower)), 1e-9)
        t = (slower.mean() - math.log(MATTERS)) / error
        p = min(1.0, x.shape[1] * float(upper_tail(np.asarray([t]), len(slower) - 1)[0]))
        if p < FALSE_ALARM:
            found.append(SlowClient(index, math.exp(slower.mean()), p))
    return sorted(found, key=lambda one: -one.ratio)
