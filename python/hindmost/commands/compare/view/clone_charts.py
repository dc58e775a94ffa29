"""Charts of a clone and its original: latency by load, and ratios with their margins."""

import math

from hindmost.commands.compare.documents.clone import Verification
from hindmost.present import numbers
from hindmost.present.axes import time_ticks
from hindmost.present.numbers import finite
from hindmost.present.svg import Plot, linear_ticks, log10, log_domain

CUT_OFF = 5.0
"""Intervals are cut off at this factor beyond the smallest and largest value."""


def curve(doc: Verification, name: str, width: float) -> str:
    """Draw one figure by load: measured values with intervals, simulated ones as a line."""
    points = [(point.load, point.figures[name]) for point in doc.points]
    highest = max(load for load, _ in points)
    simulated = [(one.load, one.latency_us[name].value) for one in doc.curve if one.load <= max(0.8, highest)]
    measured_us = [us for _, figure in points for us in (figure.original_us, figure.clone_us)]
    drawn_us = [us for _, us in simulated] + finite(us.value for us in measured_us)
    least, most = min(drawn_us) / CUT_OFF, max(drawn_us) * CUT_OFF
    for us in measured_us:
        drawn_us += [min(max(end, least), most) for end in (us.low, us.high) if end is not None]
    plot = Plot(width, 300, f"{name} against the load", top=24)
    plot.text(4, 12, name, cls="name")
    x, y = plot.x(0.0, max(0.8, highest)), plot.y(*log_domain(drawn_us), log10)
    ticks = linear_ticks(0.0, x.high, 8 if width > 500 else 4)
    plot.axes(
        x,
        y,
        x_ticks=[(t, f"{100 * t:g}{numbers.THIN}%") for t in ticks],
        y_ticks=time_ticks(y.low, y.high),
        x_title="share of the clone's capacity",
    )
    plot.line([(x(load), y(us)) for load, us in simulated], "fair")
    for series, shift, cls in (("original", -4.0, "c0"), ("clone", 4.0, "c2")):
        places = []
        for load, figure in points:
            measured = figure.original_us if series == "original" else figure.clone_us
            value, low, high = measured.value, measured.low, measured.high
            if value is None or value == math.inf:
                continue
            at = x(load) + shift
            if low is not None and high is not None:
                plot.line([(at, y(max(low, y.low))), (at, y(min(high, y.high)))], f"side {cls}")
            places.append((at, y(value)))
            plot.dot(at, y(value), cls=cls, title=f"{series}, {load:.0%}: {numbers.latency(value)}")
        plot.line(places, f"side thin {cls}")
    return str(plot)


def ratios(doc: Verification, name: str, width: float) -> str:
    """Draw the ratios clone / original, the same as logged, and original / itself; the margin is a band."""
    margin = doc.margins[name]
    plot = Plot(width, 200, f"{name}: ratios by load", top=24)
    plot.text(4, 12, f"{name}: ratio", cls="name")
    figures = [point.figures[name] for point in doc.points]
    sides = (side for one in figures for side in (one.clone, one.as_logged, one.floor))
    known = [side for side in sides if side is not None]
    farthest = max((abs(one.ratio - 1.0) for one in known), default=0.0)
    widest = max(
        (abs(end - 1.0) for one in known for end in _ends(one.ratio, one.low, one.high)), default=0.0
    )
    # A very wide interval is cut off, so that the others can be read.
    reach = max(2.0 * margin, 1.1 * farthest, min(1.1 * widest, 1.0))
    y = plot.y(max(0.0, 1.0 - reach), 1.0 + reach)
    x = plot.x(0.0, float(len(doc.points)))
    plot.area(
        [(x.start, y(1.0 + margin)), (x.end, y(1.0 + margin))],
        [(x.start, y(1.0 - margin)), (x.end, y(1.0 - margin))],
        "band",
    )
    plot.axes(
        x,
        y,
        x_ticks=[(n + 0.5, numbers.percent(one.load)) for n, one in enumerate(doc.points)],
        y_ticks=[(t, f"{t:g}") for t in linear_ticks(y.low, y.high, 4)],
        x_title="share of the clone's capacity",
    )
    plot.line([(x.start, y(1.0)), (x.end, y(1.0))], "fair")
    for number, point in enumerate(doc.points):
        figure = point.figures[name]
        for one, shift, cls, what in (
            (figure.clone, -10.0, "c2", "clone / original"),
            (figure.as_logged, 0.0, "c3", "clone / original as logged"),
            (figure.floor, 10.0, "c0", "original / itself"),
        ):
            if one is None:
                continue
            at = x(number + 0.5) + shift
            low, high = _ends(one.ratio, one.low, one.high)
            plot.line([(at, y(max(low, y.low))), (at, y(min(high, y.high)))], f"side {cls}")
            plot.dot(at, y(one.ratio), cls=cls, title=f"{what}: {one.ratio:.3f}")
    return str(plot)


def _ends(value: float, low: float | None, high: float | None) -> tuple[float, float]:
    return (value, value) if low is None or high is None else (low, high)
