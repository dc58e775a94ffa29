"""Aggregation from clients to the run: take the quantile at each client first, then combine.

Merging the samples of all clients first lets the worst-placed client determine the merged tail (Treadmill,
ISCA 2016, II-B and Figure 2). So the paper computes the metric at each client and aggregates the metrics
(III-B). The merged quantile is shown next to it, only for comparison.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from hindmost.errors import ArgumentError

Aggregate = Literal["mean", "median"]


def run_value(client_values: Sequence[float], how: Aggregate = "mean") -> float:
    """Return one run's value of a quantile from its clients' values.

    Parameters
    ----------
    instance_values
        The same quantile at each client, in any unit; ``math.inf`` for an infinitely late client.
    how
        ``"mean"`` is infinite as soon as one client is; ``"median"`` as soon as half of them are.

    Raises
    ------
    ValueError
        If there is no client, a value is NaN, or `how` is unknown.

    Examples
    --------
    >>> run_value([30.0, 31.0, 50.0])
    37.0
    >>> run_value([30.0, 31.0, float("inf")], "median")
    31.0
    """
    if how not in get_args(Aggregate):
        raise ArgumentError(
            "bad-argument",
            f"unknown aggregate {how!r}; choose one of {', '.join(get_args(Aggregate))}",
            argument="how",
            value=how,
            known=list(get_args(Aggregate)),
        )
    x = np.asarray(client_values, dtype=np.float64)
    if x.ndim != 1 or x.size == 0 or np.isnan(x).any():
        raise ArgumentError(
            "bad-argument", "expected at least one client value and no NaN", argument="values"
        )
    if how == "mean":
        return float(x.mean())
    x = np.sort(x)
    low, high = float(x[(x.size - 1) // 2]), float(x[x.size // 2])
    return high if math.isinf(high) else (low + high) / 2.0
