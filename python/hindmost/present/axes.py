"""Ticks of axes that several charts share."""

from hindmost.present import numbers
from hindmost.present.svg import log_ticks

TAIL_LEVELS = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)


def tail_ticks(end: float) -> list[tuple[float, str]]:
    """Return the levels to mark on an axis that ends at level ``end``."""
    return [(q, numbers.level_label(q)) for q in TAIL_LEVELS if q <= end + 1e-12]


def time_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return the ticks of a logarithmic axis in microseconds."""
    return [(t, numbers.tick(t)) for t in log_ticks(low, high)]
