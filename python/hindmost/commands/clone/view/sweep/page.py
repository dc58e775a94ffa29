"""The page of a sweep: latency against load for each design, and against a parameter."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from hindmost.commands.clone.view.sweep.terminal import describe_answer, figures, format_value, label
from hindmost.present import numbers
from hindmost.present.axes import time_ticks
from hindmost.present.sheet import drawing, render
from hindmost.present.svg import Plot, linear_domain, linear_ticks, log10, log_domain

if TYPE_CHECKING:
    from markupsafe import Markup

    from hindmost.commands.clone.documents.predictions import Interval, Sweep, SweepPoint

COLOURS = 8
"""Number of colours. From the ninth design on they repeat with another dash."""
NAMED = 24
"""Above this number, designs look alike and have no names in the chart. The table has all names."""


class Row(NamedTuple):
    """A position on the x axis, and the figure there."""

    x: float
    figure: "Interval"


class Line(NamedTuple):
    """One line of a chart."""

    name: str
    cls: str
    rows: list[Row]


def render_sweep_page(document: "Sweep") -> str:
    """Render the page of a sweep as one self-contained HTML file without scripts."""
    points = document["points"]
    names = figures(points)
    designs = [label(one) for one in _designs(points)]
    drawn = [
        (name, _draw(by_load(document, name), f"{name} against the rate", "requests/s", rate=True))
        for name in names
    ]
    parameter = document["vary"][0]["path"] if len(document["vary"]) == 1 else None
    against = [
        (
            name,
            _draw(by_value(document, name, parameter), f"{name} against {parameter}", parameter, rate=False),
        )
        for name in names
        if parameter and _numeric(document)
    ]
    return render(
        "sweep.html",
        doc=document,
        designs=[(name, style(number, len(designs))) for number, name in enumerate(designs)][:NAMED],
        count=len(designs),
        names=names,
        drawn=[one for one in drawn if one[1]],
        against=[one for one in against if one[1]],
        parameter=parameter,
        loads=[(line.name, line.cls) for line in by_value(document, names[0], parameter)]
        if parameter and names and _numeric(document)
        else [],
        rows=[_row(point, names) for point in points],
        found=[line for one in document["found"] for line in describe_answer(one)],
        label=label,
        written=format_value,
    )


def _draw(lines: Sequence[Line], title: str, x_title: str, *, rate: bool) -> "tuple[Markup, Markup] | None":
    return drawing(lambda width: chart(lines, title, x_title, width, rate=rate))


def _designs(points: Sequence["SweepPoint"]) -> list[dict[str, float | int | str | bool]]:
    return list({point["design"]: point["set"] for point in points}.values())


def _numeric(document: "Sweep") -> bool:
    values = document["vary"][0]["values"]
    return len(values) > 2 and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)


def style(number: int, of: int) -> str:
    """Return the CSS class of a line: a colour and a dash, or the thin class if there are too many."""
    return f"i{number % COLOURS} d{number // COLOURS}" if of <= NAMED else "run"


def by_load(document: "Sweep", name: str) -> list[Line]:
    """Return one line per design: a figure against the rate."""
    designs = _designs(document["points"])
    rows: list[list[Row]] = [[] for _ in designs]
    for point in document["points"]:
        if "latency_us" in point and point["rate_per_s"] is not None:
            rows[point["design"]].append(Row(point["rate_per_s"], point["latency_us"][name]))
    return [
        Line(label(design), style(number, len(designs)), sorted(rows[number]))
        for number, design in enumerate(designs)
    ]


def by_value(document: "Sweep", name: str, path: str) -> list[Line]:
    """Return one line per load: a figure against the only parameter."""
    found: dict[int, list[Row]] = {}
    names: dict[int, str] = {}
    per_design: dict[int, int] = {}
    for point in document["points"]:
        place = per_design[point["design"]] = per_design.get(point["design"], -1) + 1
        same_rate = all(one["rate_per_s"] == point["rate_per_s"] for one in _points_at_load(document, place))
        names[place] = (
            numbers.rate(point["rate_per_s"]) if same_rate else f"{numbers.percent(point['load'])} load"
        )
        if "latency_us" in point:
            found.setdefault(place, []).append(Row(float(point["set"][path]), point["latency_us"][name]))
    return [Line(names[place], style(place, len(found)), sorted(rows)) for place, rows in found.items()]


def _points_at_load(document: "Sweep", place: int) -> list["SweepPoint"]:
    """Return the points of the same load, one per design."""
    step = len(document["points"]) // len(_designs(document["points"]))
    return document["points"][place::step]


def chart(lines: Sequence[Line], title: str, x_title: str, width: float, *, rate: bool) -> str | None:
    """Draw lines with the bands of their intervals, on a logarithmic time axis."""
    rows = [row for line in lines for row in line.rows]
    if not rows:
        return None
    plot = Plot(width, 330, title, top=24)
    plot.text(4, 12, title.partition(" ")[0], cls="name")
    low, high = linear_domain([row.x for row in rows], zero=rate)
    x = plot.x(low, max(row.x for row in rows) if not rate else high)
    y = plot.y(*log_domain([row.figure["value"] for row in rows]), log10)
    ticks = linear_ticks(x.low, x.high, 8 if width > 500 else 4)
    plot.axes(
        x,
        y,
        x_ticks=[(t, numbers.group_thousands(f"{t:g}") if abs(t) < 1e6 else f"{t:g}") for t in ticks],
        y_ticks=time_ticks(y.low, y.high),
        x_title=x_title,
    )
    banded = len(lines) <= COLOURS
    for line in lines:
        known = [row for row in line.rows if row.figure["low"] is not None]
        if banded and line.rows:
            plot.area(
                [(x(row.x), y(row.figure["high"] or 0.0)) for row in known],
                [(x(row.x), y(row.figure["low"] or 0.0)) for row in known],
                f"spread {line.cls}",
            )
        plot.line([(x(row.x), y(row.figure["value"])) for row in line.rows], f"design {line.cls}")
    return str(plot)


def _row(point: "SweepPoint", names: Sequence[str]) -> list[str]:
    cells = [label(point["set"]), numbers.rate(point["rate_per_s"]), numbers.percent(point["load"])]
    found = point.get("latency_us")
    for name in names:
        if found is None:
            cells.append(numbers.INFINITE)
        else:
            one = found[name]
            shown = numbers.interval(one["value"], one["low"], one["high"], numbers.unit_for([one["value"]]))
            cells.append(
                f"{shown.value}{numbers.THIN}{numbers.unit_for([one['value']]).name} {shown.half_share}"
            )
    return cells
