"""Figures in sentences."""

from __future__ import annotations

import math

from hindmost.plan.units import format_us
from hindmost.store import measure as documents


def figure(name: str, one: documents.Estimate) -> str:
    """Write one estimate with its interval."""
    value, low, high = one["value"], one["low"], one["high"]
    if value is None:
        return f"{name} not known"
    if value == math.inf:
        return f"{name} {format_us(value)}"
    if low is None or high is None:
        return f"{name} {format_us(value)} (too few runs for an interval)"
    return f"{name} {format_us(value)} [{format_us(low)}, {format_us(high)}]"
