"""Reading values by quantile: infinite, unknown, or a number."""

from collections.abc import Mapping

from hindmost.core.store.measure import Estimates
from hindmost.present.numbers import label_order


def labels(*groups: Mapping[str, object]) -> list[str]:
    """Return all quantile labels of the groups, ``p50`` first and ``mean`` last."""
    return sorted({label for group in groups for label in group}, key=label_order)


def bounds(estimates: Estimates, label: str) -> tuple[float | None, float | None, float | None]:
    """Return value, low and high of an estimate: ``inf`` for infinitely late, ``None`` if unknown."""
    one = estimates.get(label)
    return (None, None, None) if one is None else (one.value, one.low, one.high)
