"""The page of a search: percentiles against the rate with intervals, the answer, excluded steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from hindmost.commands.measure.search.document import Search, SearchStep
from hindmost.commands.measure.search.view.terminal import IN_WORDS
from hindmost.commands.measure.view.values import labels
from hindmost.core.plan.objective import parse_objective
from hindmost.core.store.measure import Estimates
from hindmost.present import numbers
from hindmost.present.axes import time_ticks
from hindmost.present.document import finite
from hindmost.present.sheet import drawing, render
from hindmost.present.svg import Plot, log10, log_domain, log_ticks

COUNTS = ("holds", "fails", "undecided")
"""Outcomes of steps that carry information about the server."""
COLOURS = 8


class Row(NamedTuple):
    """One step with the latency of all its percentiles. Empty if no run was finished."""

    step: SearchStep
    latency_us: Estimates

    @property
    def counts(self) -> bool:
        """Whether the step carries information about the server."""
        return self.step["outcome"] in COUNTS


def render_search_page(document: Search, latencies: Mapping[str, Estimates]) -> str:
    """Render the page of a search as one self-contained HTML file without scripts.

    Parameters
    ----------
    document : Search
        Document ``hindmost.search/1``.
    latencies : mapping
        Latency of each step by its folder (``study``): estimates over its runs, by percentile.
    """
    rows = sorted(
        (Row(step, latencies.get(step["study"], {})) for step in document["steps"]),
        key=lambda row: row.step["rate_per_s"],
    )
    names = [name for name in labels(*(row.latency_us for row in rows)) if name != "mean"]
    return render(
        "search.html",
        doc=document,
        names=names,
        mark="valid" if document["rate_per_s"] is not None and document["finished"] else "inconclusive",
        answer=_answer(document, rows),
        chart=drawing(partial(chart, document, rows, names)),
        colour=lambda name: f"i{names.index(name) % COLOURS}",
        rows=[(row, _cells(row, names)) for row in reversed(rows)],
        words=IN_WORDS,
    )


def _answer(document: Search, rows: Sequence[Row]) -> str:
    """State where the highest rate that meets the objective lies. Empty if no step is informative."""
    if not any(_bounds_rate(row) for row in rows):
        return ""
    low, high = (_end(document["low_per_s"]), _end(document["high_per_s"]))
    confidence = f"with {numbers.percent(document['confidence'])} confidence"
    return f"The highest rate that holds lies between {low} and {high}, {confidence}."


def _bounds_rate(row: Row) -> bool:
    """Return whether a step bounds the rate. Interference makes it useless; too high a rate does not."""
    return row.step["outcome"] != "spoiled"


def _end(rate: float | None) -> str:
    return (
        "a rate outside the searched range"
        if rate in (None, math.inf)
        else numbers.rate(float(f"{rate:.3g}"))
    )


def _cells(row: Row, names: Sequence[str]) -> list[str]:
    cells = []
    for name in names:
        one = row.latency_us.get(name)
        if one is None:
            cells.append(numbers.MISSING)
            continue
        value, low, high = one["value"], one["low"], one["high"]
        if value is None or value == math.inf:
            cells.append(numbers.latency(value))
            continue
        unit = numbers.unit_for([value])
        shown = numbers.interval(value, low, high, unit)
        bounds = f" [{shown.low}, {shown.high}]" if low is not None else ""
        cells.append(f"{shown.value}{bounds}{numbers.THIN}{unit.name}")
    return cells


def chart(document: Search, rows: Sequence[Row], names: Sequence[str], width: float) -> str | None:
    """Draw latency against rate on logarithmic axes. Uninformative steps are hollow."""
    drawn = [row for row in rows if row.latency_us]
    limits = [term for term in parse_objective(document["objective"]).terms if not term.is_share]
    values = [us for row in drawn for name in names if (us := _value(row, name)) is not None]
    if not values:
        return None
    rates = [row.step["rate_per_s"] for row in drawn]
    ends = finite((document["low_per_s"], document["high_per_s"]))
    ends = ends if any(_bounds_rate(row) for row in rows) else []
    plot = Plot(width, 380, "Latency of each percentile against the rate", top=24)
    plot.text(4, 12, "latency", cls="name")
    x = plot.x(*log_domain([*rates, *ends], floor=1.0), log10)
    y = plot.y(*log_domain([*values, *(term.limit for term in limits)]), log10)
    if len(ends) == 2:
        left, right = x(min(ends)), x(max(ends))
        span = f"highest rate that holds: {_end(min(ends))} to {_end(max(ends))}"
        plot.bar((left, y.end, max(1.0, right - left), y.start - y.end), cls="band", title=span)
    plot.axes(
        x,
        y,
        x_ticks=[(t, numbers.group_thousands(f"{t:g}")) for t in log_ticks(x.low, x.high)],
        y_ticks=time_ticks(y.low, y.high),
        x_title="requests/s",
    )
    for term in limits:
        at = y(term.limit)
        plot.add("path", d=f"M{x.start:.1f} {at:.1f}H{x.end:.1f}", class_="fair")
        plot.text(x.end, at - 5, f"{term.key} < {numbers.latency(term.limit)}", anchor="end", cls="tick")
    if (best := document["rate_per_s"]) is not None:
        plot.add("path", d=f"M{x(best):.1f} {y.start:.1f}V{y.end:.1f}", class_="answer")
        plot.text(x(best), y.end - 4, f"holds at {numbers.rate(best)}", anchor="middle", cls="label")
    for number, name in enumerate(names):
        colour = f"i{number % COLOURS}"
        known = [(row, us) for row in drawn if (us := _value(row, name)) is not None]
        plot.line([(x(row.step["rate_per_s"]), y(us)) for row, us in known if row.counts], f"pair {colour}")
        for row, us in known:
            one, at = row.latency_us[name], x(row.step["rate_per_s"])
            if one["low"] is not None and one["high"] is not None:
                plot.line([(at, y(one["low"])), (at, y(one["high"]))], f"pair {colour}")
            title = f"{name} at {numbers.rate(row.step['rate_per_s'])}: {numbers.latency(us)}"
            title += "" if row.counts else f" ({IN_WORDS[row.step['outcome']]})"
            plot.dot(at, y(us), cls=colour if row.counts else f"hollow {colour}", title=title)
    return str(plot)


def _value(row: Row, name: str) -> float | None:
    one = row.latency_us.get(name)
    return None if one is None else one["value"]
