"""Quantiles of latencies that a peer lists individually."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

LEVELS = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}


def figures(latency_us: npt.ArrayLike) -> dict[str, float]:
    """Return quantiles (smallest value that this fraction does not exceed), mean and maximum of at least one
    latency."""
    values = np.asarray(latency_us, dtype=float)
    ranked = np.quantile(values, list(LEVELS.values()), method="inverted_cdf")
    found = dict(zip(LEVELS, map(float, ranked), strict=True))
    return found | {"mean": float(values.mean()), "max": float(values.max())}
