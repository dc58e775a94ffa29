"""Sentences about designs and about the answers of searches."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from hindmost.commands.clone.documents.predictions import InverseAnswer
from hindmost.commands.clone.parameters import Value
from hindmost.present import numbers


def format_value(value: Value) -> str:
    """Format a parameter's value."""
    return f"{value:.6g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def label(setting: Mapping[str, Value]) -> str:
    """Return a design's name, or its differences from the clone."""
    if "name" in setting:
        return str(setting["name"])
    return ", ".join(f"{path} = {format_value(value)}" for path, value in setting.items()) or "unchanged"


def describe_answer(found: InverseAnswer) -> Iterator[str]:
    """Describe the answer of a search."""
    by = {"service": "the factor on service times", "rate": "the rate"}.get(found.by, found.by)
    at = ""
    for name, value in (found.load or {}).items():
        load = numbers.rate(value) if name == "rate_per_s" else f"{numbers.percent(value)} of capacity"
        at = f" at {load}"
    where = f" with {label(found.set)}" if found.set else ""
    head = f"{found.objective}{at}{where}:"
    if found.state == "found":
        yield f"{head} {by} {_limit(found)}"
        if found.uneven_at:
            places = ", ".join(_value(found, value) for value in found.uneven_at[:4])
            yield f"not monotone: {found.figure} reverses its trend at {places}"
    elif found.state == "not_monotone":
        places = "; ".join(f"{_value(found, a)} and {_value(found, b)}" for a, b in found.crossings)
        yield (
            f"{head} there is no single answer, because it changes back and forth as {by} grows: between"
            f" {places}"
        )
    else:
        low, high = (_value(found, found.tried[place].value) for place in (0, -1))
        never = "does not hold" if found.state == "never" else "holds"
        yield f"{head} {never} for any {by} from {low} to {high}"


def _limit(found: InverseAnswer) -> str:
    """Format the safe value, then the interval of the limit."""
    assert found.low is not None
    assert found.high is not None
    side = found.side.replace("_", " ")
    safe, one = found.safe, found.safe_latency_us
    between = f"[{_value(found, found.low)}, {_value(found, found.high)}]"
    if safe is None or one is None:
        return f"has no value that certainly holds; it may be {side} {between}"
    unit = numbers.unit_for([one.value])
    shown = numbers.interval(one.value, one.low, one.high, unit)
    said = (
        f"must be {side} {_value(found, _inwards(found, safe))}, where {found.figure} is {shown.value}"
        f" [{shown.low}, {shown.high}] {unit.name}"
    )
    if isinstance(safe, int):
        beyond = found.low if found.side == "at_least" else found.high
        return said if beyond == safe else f"{said}; {_value(found, beyond)} may suffice"
    return f"{said}; the limit is reached within {between} (95 %)"


def _inwards(found: InverseAnswer, value: float) -> float:
    """Round to four digits, towards the side that holds."""
    if isinstance(value, int) or value == 0.0:
        return value
    step = 10.0 ** (math.floor(math.log10(abs(value))) - 3)
    return (math.floor if found.side == "at_most" else math.ceil)(value / step) * step


def _value(found: InverseAnswer, value: float) -> str:
    return numbers.rate(value) if found.by == "rate" else format_value(float(f"{value:.4g}"))
