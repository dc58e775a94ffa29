"""View of a sweep: answers of searches, latency against load and parameter, and all points."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial

from hindmost.commands.clone.documents.predictions import Sweep, SweepPoint
from hindmost.commands.clone.view.answers import describe_answer, format_value
from hindmost.commands.clone.view.sweep_charts import NAMED, RATE, Line, by_rate, by_value, draw, style
from hindmost.core.laws import law_text
from hindmost.present import numbers
from hindmost.present.blocks import Block, Cell, Chart, Details, Facts, Only, Section, Table, Text, View

HOW_TO_READ = (
    "Load is the rate as a share of the design's capacity; ± is half a 95 % interval as a share of the value."
)
BANDS = (
    "bands are 95 % intervals. A line ends if the next rate is above the design's capacity, or if there is no"
    " next rate."
)
SAME_REQUESTS = (
    "every design receives the same requests, so differences come from the designs and not from chance"
)


def view(doc: Sweep) -> View:
    """Return the view of a sweep."""
    names = next((list(point.latency_us) for point in doc.points if point.latency_us), [])
    count = numbers.plural(1 + doc.points[-1].design, "design")
    requests = numbers.count(doc.requests)
    document = [(key, json.dumps(value, ensure_ascii=False)) for key, value in doc.document.items()]
    against = doc.vary[0].path if len(doc.vary) == 1 and _is_numeric(doc.vary[0].values) else ""
    return View(
        title=f"Sweep of {doc.clone}",
        word="",
        tone="",
        headline=f"{doc.clone}, simulated: {count}, {requests} requests per point",
        meta=(f"{law_text(doc.arrivals)} arrivals", f"seed {doc.seed}", SAME_REQUESTS),
        schema=doc.schema,
        blocks=[
            Section("Answers", [Text(line) for one in doc.found for line in describe_answer(one)]),
            Section("Latency against load", _charts(names, partial(by_rate, doc), RATE, BANDS)),
            Section(
                f"Latency against {against}",
                _charts(names if against else [], partial(by_value, doc), against, "one line per load."),
            ),
            Section("Numbers", _numbers(doc, names)),
            Section("The clone", [Details("Document", [Facts(document)])]),
        ],
    )


def _is_numeric(values: Sequence[object]) -> bool:
    return len(values) > 2 and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)


def _charts(
    names: Sequence[str], lines_of: Callable[[str], list[Line]], axis: str, caption: str
) -> list[Block]:
    """Return a chart for each figure. The first has the legend."""
    charts: list[Block] = []
    for name in names:
        lines, title = lines_of(name), f"{name} against {'the rate' if axis == RATE else axis}"
        legend = [(style(place, len(lines)), line.name) for place, line in enumerate(lines)]
        if len(lines) > NAMED and not charts:
            text = f"{len(lines)} lines are too many for separate colours; the table names them."
            charts.append(Only("page", [Text(text, "muted")]))
        named = [] if charts else legend
        charts.append(Chart(partial(draw, lines, title, axis), f"{name} of latency; {caption}", named))
    return charts


def _numbers(doc: Sweep, names: Sequence[str]) -> list[Block]:
    unit = numbers.unit_for([one.value for point in doc.points for one in point.latency_us.values()])
    paths = [one.path for one in doc.vary]
    paths = ["name"] if "name" in paths else paths

    def cell(point: SweepPoint, name: str) -> Cell:
        if name not in point.latency_us:
            return Cell(numbers.INFINITE)
        one = point.latency_us[name]
        shown = numbers.interval(one.value, one.low, one.high, unit)
        return Cell(shown.value, detail=shown.half_share)

    rows: list[tuple[str | Cell, ...]] = [
        (
            *(format_value(point.set[path]) for path in paths),
            numbers.rate(point.rate_per_s),
            numbers.percent(point.load),
            *(cell(point, name) for name in names),
        )
        for point in doc.points
    ]
    heads = (*paths, "rate", "load", *(f"{name} {unit.name}" for name in names))
    note = f"{numbers.INFINITE}: " if names else "Every point is "
    above = any(point.state == "above_capacity" for point in doc.points)
    return [
        Table(heads, rows, "<" * len(paths) + ">" * (len(names) + 2)),
        Text(f"{note}above the capacity; the queue would grow without bound" if above else ""),
        Only("page", [Text(HOW_TO_READ, "muted")]),
    ]
