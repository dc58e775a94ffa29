"""Charts of a sweep: a latency against the rate for each design, and against a parameter for each load."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hindmost.commands.clone.documents.predictions import Interval, Sweep
from hindmost.commands.clone.view.answers import label
from hindmost.present import numbers
from hindmost.present.axes import time_ticks
from hindmost.present.svg import Plot, linear_domain, linear_ticks, log10, log_domain

COLOURS = 8
"""Number of colours. From the ninth line on they repeat with another dash."""
NAMED = 24
"""Above this number, lines look alike and have no names in the chart. The table has all names."""
RATE = "requests/s"
"""Title of the axis of rates, which begins at zero."""


class Line(NamedTuple):
    """One line of a chart: positions on the x axis with the figures there."""

    name: str
    rows: list[tuple[float, Interval]]


def by_rate(doc: Sweep, name: str) -> list[Line]:
    """Return one line per design: a figure against the rate."""
    count = _loads(doc)
    designs = [doc.points[first : first + count] for first in range(0, len(doc.points), count)]
    return [
        Line(
            label(points[0].set),
            [(one.rate_per_s or 0.0, one.latency_us[name]) for one in points if one.latency_us],
        )
        for points in designs
    ]


def by_value(doc: Sweep, name: str) -> list[Line]:
    """Return one line per load: a figure against the only parameter."""
    path, count = doc.vary[0].path, _loads(doc)
    lines = []
    for points in (doc.points[place::count] for place in range(count)):
        rates = {one.rate_per_s for one in points}
        load = f"{numbers.percent(points[0].load)} load" if len(rates) > 1 else numbers.rate(rates.pop())
        rows = [(float(one.set[path]), one.latency_us[name]) for one in points if one.latency_us]
        lines += [Line(load, rows)] if rows else []
    return lines


def _loads(doc: Sweep) -> int:
    """Return the number of loads of each design."""
    return len(doc.points) // (1 + doc.points[-1].design)


def style(place: int, of: int) -> str:
    """Return the CSS class of a line: a colour and a dash, or the thin class if there are too many."""
    return f"side c{place % COLOURS} d{place // COLOURS}" if of <= NAMED else "run"


def draw(lines: Sequence[Line], title: str, x_title: str, width: float) -> str | None:
    """Draw lines with the bands of their intervals, on a logarithmic time axis."""
    at = [x for line in lines for x, _ in line.rows]
    if not at:
        return None
    plot = Plot(width, 330, title, top=24)
    plot.text(4, 12, title.partition(" ")[0], cls="name")
    low, high = linear_domain(at, zero=x_title == RATE)
    x = plot.x(low, high if x_title == RATE else max(at))
    y = plot.y(*log_domain([one.value for line in lines for _, one in line.rows]), log10)
    ticks = linear_ticks(x.low, x.high, 8 if width > 500 else 4)
    plot.axes(
        x,
        y,
        x_ticks=[(t, numbers.group_thousands(f"{t:g}") if abs(t) < 1e6 else f"{t:g}") for t in ticks],
        y_ticks=time_ticks(y.low, y.high),
        x_title=x_title,
    )
    for place, line in enumerate(lines):
        rows = sorted(line.rows, key=lambda row: row[0])
        if len(lines) <= COLOURS:
            known = [(x(value), one) for value, one in rows if one.low is not None]
            upper = [(value, y(one.high or 0.0)) for value, one in known]
            plot.area(upper, [(value, y(one.low or 0.0)) for value, one in known], f"spread i{place}")
        plot.line([(x(value), y(one.value)) for value, one in rows], style(place, len(lines)))
    return str(plot)
