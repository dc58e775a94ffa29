"""Formatted figures."""

from __future__ import annotations

import math

from hindmost.core.plan.units import format_us
from hindmost.core.store import measure as documents


def format_figure(name: str, one: documents.Estimate) -> str:
    """Format an estimate with its interval."""
    value, low, high = one.value, one.low, one.high
    if value is None:
        return f"{name} unknown"
    if value == math.inf:
        return f"{name} {format_us(value)}"
    if low is None or high is None:
        return f"{name} {format_us(value)} (too few runs for an interval)"
    return f"{name} {format_us(value)} [{format_us(low)}, {format_us(high)}]"
