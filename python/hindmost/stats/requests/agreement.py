"""Comparison of two latencies of the same requests: Treadmill's Figures 5 and 6.

The paper compares the distribution of a load tester with tcpdump's (ISCA 2016, III-C). A load tester that
adds a constant measures the server correctly. If the difference grows with the percentile, or with the load,
it measures its own queue.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hindmost.errors import ArgumentError
from hindmost.stats.tables import Floats

BEYOND = 20
"""Requests needed beyond a quantile. With fewer, its own scatter would be a fifth of it."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Differences per request of some requests: their median, 5th and 95th percentile."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """Difference between two latencies of the same requests.

    Attributes
    ----------
    count : int
        Number of requests.
    ours, theirs : dict of str to float
        Quantiles by label, in the unit of the data.
    gap : dict of str to float
        Difference of these quantiles: the distance of the two curves.
    near : dict of str to Spread
        Difference per request, for the requests around that quantile of `theirs`.
    """

    count: int
    ours: dict[str, float]
    theirs: dict[str, float]
    gap: dict[str, float]
    near: dict[str, Spread]


def agreement(ours: npt.ArrayLike, theirs: npt.ArrayLike, levels: Mapping[str, float]) -> Agreement:
    """Compare two latencies of the same requests.

    Parameters
    ----------
    ours, theirs : array_like, shape (n,)
        Latencies, one entry per request, in the same order and unit.
    levels : mapping of str to float
        Quantile levels in (0, 1) by label. Levels with fewer than `BEYOND` requests beyond them are left out.

    Raises
    ------
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> theirs = np.arange(1000.0)
    >>> found = agreement(theirs + 3.0, theirs, {"p50": 0.5, "p99": 0.99})
    >>> found.gap
    {'p50': 3.0}
    >>> found.near["p50"]
    Spread(median=3.0, low=3.0, high=3.0)
    """
    a, b = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise ArgumentError(
            "bad-argument",
            f"expected two latencies of the same requests, got shapes {a.shape} and {b.shape}",
            argument="theirs",
        )
    known = {name: level for name, level in levels.items() if a.size * (1.0 - level) >= BEYOND}
    mine = dict(zip(known, _quantiles(a, known), strict=True))
    other = dict(zip(known, _quantiles(b, known), strict=True))
    difference = (a - b)[np.argsort(b, kind="stable")]
    return Agreement(
        a.size,
        mine,
        other,
        {name: mine[name] - other[name] for name in known},
        {name: _spread(_values_around(difference, level)) for name, level in known.items()},
    )


def constancy(gap: Mapping[str, float]) -> float:
    """Return how much the distances of two curves deviate from a constant: the largest minus the smallest.

    >>> constancy({"p50": 1.25, "p99": 1.5, "p99.9": 1.0})
    0.5
    """
    return max(gap.values()) - min(gap.values()) if gap else 0.0


def _quantiles(values: Floats, levels: Mapping[str, float]) -> list[float]:
    return [float(v) for v in np.quantile(values, list(levels.values()))] if levels else []


def _values_around(ordered: Floats, level: float) -> Floats:
    """Return the requests around a quantile: a tenth of all at the median, fewer in the tail."""
    half = min(0.05, (1.0 - level) / 2.0)
    first, last = round((level - half) * ordered.size), round((level + half) * ordered.size)
    return ordered[first : max(last, first + 1)]


def _spread(differences: Floats) -> Spread:
    low, middle, high = np.quantile(differences, [0.05, 0.5, 0.95])
    return Spread(float(middle), float(low), float(high))
