"""Sweeps for the terminal: a row a design point, then the answers of inverse questions."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hindmost.report.common import numbers
from hindmost.report.simulation.terminal import aligned

if TYPE_CHECKING:
    from hindmost.store.predictions import Interval, InverseAnswer, Sweep, SweepPoint


def render_sweep(document: "Sweep") -> str:
    """Write a sweep: parameters, load, and figures with half the width of their intervals."""
    points = document["points"]
    designs = 1 + max(point["design"] for point in points)
    lines = [
        f"{document['clone']}, simulated: {numbers.plural(designs, 'design')},"
        f" {numbers.count(document['requests'])} requests a point",
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
        cells = [written(point["set"][path]) for path in paths]
        cells += [numbers.rate(point["rate_per_s"]), numbers.percent(point["load"])]
        cells += [_figure(point.get("latency_us", {}).get(name), unit) for name in names]
        rows.append(tuple(cells))
    lines += aligned(rows, "<" * len(paths) + ">" * (len(names) + 2))
    if any(point["state"] == "above_capacity" for point in points):
        lines.append(f"{numbers.INFINITE}: above the capacity, the queue would grow without end")
    for found in document["found"]:
        lines += ["", *told(found)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def figures(points: Sequence["SweepPoint"]) -> list[str]:
    """Names of the latency figures."""
    return next((list(point["latency_us"]) for point in points if "latency_us" in point), [])


def written(value: Any) -> str:  # noqa: ANN401 (a parameter's value)
    """Write a parameter's value."""
    return f"{value:.6g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def label(setting: Mapping[str, Any]) -> str:
    """Name a design: by the name that it was given, or by what differs from the clone."""
    if "name" in setting:
        return str(setting["name"])
    return ", ".join(f"{path} = {written(value)}" for path, value in setting.items()) or "as it is"


def _figure(one: "Interval | None", unit: numbers.Unit) -> str:
    if one is None:
        return numbers.INFINITE
    shown = numbers.interval(one["value"], one["low"], one["high"], unit)
    return f"{shown.value} {shown.half_share:<7}"


def told(found: "InverseAnswer") -> list[str]:
    """Say what an inverse question gave."""
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
            f"{head} it comes and goes as {by} grows: there is no single answer; it changes between {places}"
        ]
    else:
        never = "is not reachable" if found["state"] == "never" else "holds everywhere"
        lines = [f"{head} {never} for {by} from {low} to {high}"]
    if found["uneven_at"] and found["state"] == "found":
        places = ", ".join(_value(found, value) for value in found["uneven_at"][:4])
        lines.append(f"  not monotone: {found['figure']} goes back against its trend at {places}")
    return lines


def _answer(found: "InverseAnswer") -> str:
    """The safe value first, then where the limit is met."""
    assert found["low"] is not None
    assert found["high"] is not None
    side = found["side"].replace("_", " ")
    safe, one = found["safe"], found["safe_latency_us"]
    between = f"[{_value(found, found['low'])}, {_value(found, found['high'])}]"
    if safe is None or one is None:
        return f"has no value that surely holds; it may be {side} {between}"
    unit = numbers.unit_for([one["value"]])
    shown = numbers.interval(one["value"], one["low"], one["high"], unit)
    said = (
        f"must be {side} {_value(found, _inwards(found, safe))}, where {found['figure']} is {shown.value}"
        f" [{shown.low}, {shown.high}] {unit.name}"
    )
    if isinstance(safe, int):
        beyond = found["low"] if found["side"] == "at_least" else found["high"]
        return said if beyond == safe else f"{said}; {_value(found, beyond)} may do, too"
    return f"{said}; it ceases to hold within {between} (95 %)"


def _inwards(found: "InverseAnswer", value: float) -> float:
    """Four digits, rounded to the side that holds."""
    if isinstance(value, int) or value == 0.0:
        return value
    step = 10.0 ** (math.floor(math.log10(abs(value))) - 3)
    return (math.floor if found["side"] == "at_most" else math.ceil)(value / step) * step


def _value(found: "InverseAnswer", value: float) -> str:
    return numbers.rate(value) if found["by"] == "rate" else written(float(f"{value:.4g}"))
