"""Reads values by quantile: infinitely late, not known, or a number."""

import math
from collections.abc import Mapping

from hindmost.report.common.numbers import label_order
from hindmost.store.measure import Estimates, Values


def labels(*groups: Mapping[str, object]) -> list[str]:
    """All quantile labels of the groups, ``p50`` first and ``mean`` last."""
    return sorted({label for group in groups for label in group}, key=label_order)


def run_value(values: Values, label: str) -> float | None:
    """One quantile of one run: ``inf`` for infinitely late, ``None`` where it was not recorded."""
    if label not in values:
        return None
    value = values[label]
    return math.inf if value is None else value


def bounds(estimates: Estimates, label: str) -> tuple[float | None, float | None, float | None]:
    """Value, low and high of an estimate: ``inf`` for infinitely late, ``None`` where not known."""
    one = estimates.get(label)
    if one is None:
        return (None, None, None)
    unknown = math.inf if one.get("censored_runs") else None
    value = unknown if one["value"] is None else one["value"]
    low, high = one.get("low"), one.get("high")
    high = unknown if high is None and (low is not None or value == math.inf) else high
    return (value, low if low is not None or value != math.inf else unknown, high)
