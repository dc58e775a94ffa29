"""Figures in sentences."""

from __future__ import annotations

import math

from hindmost.plan.units import format_us
from hindmost.store import measure as documents


def figure(name: str, one: documents.Estimate) -> str:
    """Write one estimate with its interval."""
    if one["value"] is None:
        return f"{name} infinitely late"
    if one["low"] is None:
        return f"{name} {format_us(one['value'])} (too few runs for an interval)"
    ends = ", ".join(format_us(math.inf if end is None else end) for end in (one["low"], one["high"]))
    return f"{name} {format_us(one['value'])} [{ends}]"
