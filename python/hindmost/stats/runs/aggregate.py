"""From instances to the run: take the quantile at each instance first, then combine.

Merging the samples of all instances first lets the worst-placed instance decide the merged tail (Treadmill,
ISCA 2016, II-B and Figure 2), so the paper takes the metric at each instance and aggregates the metrics
(III-B). The merged quantile is shown beside it, for contrast only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from hindmost.errors import ArgumentError

Aggregate = Literal["mean", "median"]


def run_value(instance_values: Sequence[float], how: Aggregate = "mean") -> float:
    """One run's value of a quantile from its instances' values.

    Parameters
    ----------
    instance_values
        The same quantile at each instance, any unit; ``math.inf`` where an instance was infinitely late.
    how
        ``"mean"`` is infinite as soon as one instance is; ``"median"`` as soon as half of them are.

    Raises
    ------
    ValueError
        If there is no instance, a value is NaN, or `how` is unknown.

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
    x = np.asarray(instance_values, dtype=np.float64)
    if x.ndim != 1 or x.size == 0 or np.isnan(x).any():
        raise ArgumentError(
            "bad-argument", "expected at least one instance value and no NaN", argument="values"
        )
    if how == "mean":
        return float(x.mean())
    x = np.sort(x)
    low, high = float(x[(x.size - 1) // 2]), float(x[x.size // 2])
    return high if math.isinf(high) else (low + high) / 2.0
