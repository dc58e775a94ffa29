"""Sweeps for the terminal: one row per design point, then the answers of searches."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hindmost.present import numbers
from hindmost.present.columns import align_columns

if TYPE_CHECKING:
    from hindmost.commands.clone.documents.predictions import Interval, InverseAnswer, Sweep, SweepPoint


def render_sweep(document: "Sweep") -> str:
    """Render a sweep: parameters, load, and figures with half the width of their intervals."""
    points = document["points"]
    designs = 1 + max(point["design"] for point in points)
    lines = [
        f"{document['clone']}, simulated: {numbers.plural(designs, 'design')},"
        f" {numbers.count(document['requests'])} requests per point",
        "",
    ]
    names = figures(points)
    unit = numbers.unit_for(
        [one["value"] for point in points for one in point.get("latency_us", {}).values()]
    )
    paths = [one["path"] for one in document["vary"]]
    paths = ["name"] if "name" in paths else paths
    heads = [*paths, "rate", "load", *(f"{name} {unit.name}" for name in names)]
    rows: list[tuple[str, ...]] = [tuple(heads)]
    for point in points:
        cells = [format_value(point["set"][path]) for path in paths]
        cells += [numbers.rate(point["rate_per_s"]), numbers.percent(point["load"])]
        cells += [_figure(point.get("latency_us", {}).get(name), unit) for name in names]
        rows.append(tuple(cells))
    lines += align_columns(rows, "<" * len(paths) + ">" * (len(names) + 2))
    if any(point["state"] == "above_capacity" for point in points):
        lines.append(f"{numbers.INFINITE}: above the capacity; the queue would grow without bound")
    for found in document["found"]:
        lines += ["", *describe_answer(found)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def figures(points: Sequence["SweepPoint"]) -> list[str]:
    """Return the names of the latency figures."""
    return next((list(point["latency_us"]) for point in points if "latency_us" in point), [])


def format_value(value: Any) -> str:  # noqa: ANN401 (a parameter's value)
    """Format a parameter's value."""
    return f"{value:.6g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def label(setting: Mapping[str, Any]) -> str:
    """Return a design's name, or its differences from the clone."""
    if "name" in setting:
        return str(setting["name"])
    return ", ".join(f"{path} = {format_value(value)}" for path, value in setting.items()) or "unchanged"


def _figure(one: "Interval | None", unit: numbers.Unit) -> str:
    if one is None:
        return numbers.INFINITE
    shown = numbers.interval(one["value"], one["low"], one["high"], unit)
    return f"{shown.value} {shown.half_share:<7}"


def describe_answer(found: "InverseAnswer") -> list[str]:
    """Describe the answer of a search."""
    by = {"service": "the factor on service times", "rate": "the rate"}.get(found["by"], found["by"])
    at = ""
    if found["load"]:
        name, value = next(iter(found["load"].items()))
        at = (
            f" at {numbers.rate(value)}"
            if name == "rate_per_s"
            else f" at {numbers.percent(value)} of capacity"
        )
    where = f" with {label(found['set'])}" if found["set"] else ""
    low, high = (_value(found, found["tried"][place]["value"]) for place in (0, -1))
    head = f"{found['objective']}{at}{where}:"
    if found["state"] == "found":
        lines = [f"{head} {by} {_answer(found)}"]
    elif found["state"] == "not_monotone":
        places = "; ".join(f"{_value(found, a)} and {_value(found, b)}" for a, b in found["crossings"])
        lines = [
            f"{head} there is no single answer, because it changes back and forth as {by} grows: between"
            f" {places}"
        ]
    else:
        never = "does not hold" if found["state"] == "never" else "holds"
        lines = [f"{head} {never} for any {by} from {low} to {high}"]
    if found["uneven_at"] and found["state"] == "found":
        places = ", ".join(_value(found, value) for value in found["uneven_at"][:4])
        lines.append(f"  not monotone: {found['figure']} reverses its trend at {places}")
    return lines


def _answer(found: "InverseAnswer") -> str:
    """Format the safe value, then the interval of the limit."""
    assert found["low"] is not None
    assert found["high"] is not None
    side = found["side"].replace("_", " ")
    safe, one = found["safe"], found["safe_latency_us"]
    between = f"[{_value(found, found['low'])}, {_value(found, found['high'])}]"
    if safe is None or one is None:
        return f"has no value that certainly holds; it may be {side} {between}"
    unit = numbers.unit_for([one["value"]])
    shown = numbers.interval(one["value"], one["low"], one["high"], unit)
    said = (
        f"must be {side} {_value(found, _inwards(found, safe))}, where {found['figure']} is {shown.value}"
        f" [{shown.low}, {shown.high}] {unit.name}"
    )
    if isinstance(safe, int):
        beyond = found["low"] if found["side"] == "at_least" else found["high"]
        return said if beyond == safe else f"{said}; {_value(found, beyond)} may suffice"
    return f"{said}; the limit is reached within {between} (95 %)"


def _inwards(found: "InverseAnswer", value: float) -> float:
    """Round to four digits, towards the side that holds."""
    if isinstance(value, int) or value == 0.0:
        return value
    step = 10.0 ** (math.floor(math.log10(abs(value))) - 3)
    return (math.floor if found["side"] == "at_most" else math.ceil)(value / step) * step


def _value(found: "InverseAnswer", value: float) -> str:
    return numbers.rate(value) if found["by"] == "rate" else format_value(float(f"{value:.4g}"))
