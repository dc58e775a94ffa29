"""Levels of a setting (``hindmost.trial/1``): the table for the terminal, and the page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from hindmost.commands.compare.documents.setting import Level, Trial
from hindmost.commands.compare.view.levels import (
    align,
    figure_title,
    format_ratio,
    render_levels,
    shown_figures,
)
from hindmost.core.plan.levels import numbers_of
from hindmost.present import numbers
from hindmost.present.axes import time_ticks
from hindmost.present.overlay import draw_overlay
from hindmost.present.sheet import drawing, render
from hindmost.present.svg import Plot, log10, log_domain, log_ticks


def render_trial(document: Trial, width: int | None = None) -> str:
    """Write the document for a terminal `width` columns wide."""
    excluded = f", {len(document['aside'])} excluded" if document["aside"] else ""
    present = document["levels"][0]["level"]
    foot = f"{_rounds(document)}{excluded}; * lowest {document['by']}; ratios to {present}"
    foot += f", {_confidence(document)}" if document["comparisons"] > 1 else ""
    return render_levels(document["headline"], [align(_heads(document), _rows(document))], foot, width)


def render_trial_page(document: Trial) -> str:
    """Write the page: one HTML file that needs no network and no scripts."""
    decided = document["verdict"] != "undecided"
    return render(
        "trial.html",
        doc=document,
        mark="valid" if decided else "inconclusive",
        word="decided" if decided else "open",
        heads=_heads(document),
        rows=_rows(document),
        figures=[
            (name, chart)
            for name in _figures(document)
            if (chart := drawing(partial(figure_by_level, document, name)))
        ],
        rounds=_rounds(document),
        together=_confidence(document) if document["comparisons"] > 1 else "",
        ratios=drawing(partial(ratio_by_level, document)),
        latencies=drawing(partial(_distributions, document)),
        names=[one["level"] for one in before_and_after(document)],
    )


def _rounds(document: Trial) -> str:
    _, *later = (one["rounds"] for one in document["stages"])
    text = numbers.plural(document["rounds"], "round")
    return text + (f" and {' and '.join(map(str, later))} near the best level" if later else "")


def _confidence(document: Trial) -> str:
    return f"with intervals that hold for all {document['comparisons']} comparisons together at 95 %"


def _figures(document: Trial) -> list[str]:
    return shown_figures(document["levels"][0]["latency_us"], ("p50", "p99", document["by"]))


def _ratio_names(document: Trial) -> list[str]:
    return list(dict.fromkeys((document["by"], "mean")))


def _heads(document: Trial) -> list[str]:
    return ["  level", *_figures(document), *(f"{name} ratio" for name in _ratio_names(document))]


def _rows(document: Trial) -> list[list[str]]:
    rows = []
    for place, level in enumerate(document["levels"]):
        mark = "* " if place == document["best"] else "  "
        figures = [numbers.latency(level["latency_us"][name]["value"]) for name in _figures(document)]
        against = (level["against"].get(name) for name in _ratio_names(document))
        ratios = [format_ratio(None if one is None else one["ratio"]) for one in against]
        rows.append([f"{mark}{level['level']}", *figures, *ratios])
    return rows


Points = list[tuple[float, float | None, float | None, float | None, str]]
"""Place on the axis, value, both ends of its interval, and title."""


def figure_by_level(document: Trial, name: str, width: float) -> str | None:
    """Draw one figure of latency by level, with intervals over rounds; None if no value is known."""
    points: Points = []
    for place, one in zip(_places(document), document["levels"], strict=True):
        figure = one["latency_us"][name]
        title = f"{one['level']}: {name} {numbers.latency(figure['value'])}"
        if figure["value"] is not None:
            points.append((place, figure["value"], figure["low"], figure["high"], title))
    plot = Plot(width, 240, f"{name} of latency by level", top=24)
    plot.text(4, 12, figure_title(name), cls="name")
    return _by_level(document, plot, points, times=True)


def ratio_by_level(document: Trial, width: float) -> str | None:
    """Draw the ratio of the minimised figure to the present level; None with fewer than two ratios."""
    by, places, present = document["by"], _places(document), document["levels"][0]["level"]
    points: Points = []
    for place, one in zip(places, document["levels"], strict=True):
        if by in one["against"]:
            ratio = one["against"][by]["ratio"]
            title = f"{one['level']}: {ratio['value']:.2f} of the present level"
            points.append((place, ratio["value"], ratio["low"], ratio["high"], title))
    if len(points) < 2:
        return None
    plot = Plot(width, 240, f"{by} by level, as a ratio to {present}", top=24)
    plot.text(4, 12, f"{by} / {present}", cls="name")
    return _by_level(document, plot, points, times=False)


def _by_level(document: Trial, plot: Plot, points: Points, *, times: bool) -> str | None:
    places, best = _places(document), document["best"]
    values = [end for _, value, low, high, _ in points for end in (value, low, high) if end]
    if not times:
        values.append(1.0)
    if not values:
        return None
    x, y = plot.x(*_span(places)), plot.y(*log_domain(values), log10)
    levels = sorted((place, one["level"]) for place, one in zip(places, document["levels"], strict=True))
    y_ticks = time_ticks(y.low, y.high) if times else [(t, f"{t:g}") for t in log_ticks(y.low, y.high)]
    plot.axes(x, y, x_ticks=levels, y_ticks=y_ticks, x_title="level")
    line = [(place, value) for place, value, *_ in points if value]
    if not times:
        plot.line([(x(x.low), y(1.0)), (x(x.high), y(1.0))], "fair")
        line.append((places[0], 1.0))
    plot.line([(x(place), y(value)) for place, value in sorted(line)], "side c0")
    for place, value, low, high, title in points:
        if low and high:
            plot.line([(x(place), y(low)), (x(place), y(high))], "side c0")
        if value:
            large = best is not None and place == places[best]
            plot.dot(x(place), y(value), cls="c0", title=title, radius=5.0 if large else 3.0)
    return str(plot)


def _places(document: Trial) -> list[float]:
    # Levels that are numbers of one unit stand at their values, others at equal distances.
    found = numbers_of([one["level"] for one in document["levels"]])
    return [float(place) for place in range(len(document["levels"]))] if found is None else found[0]


def _span(places: Sequence[float]) -> tuple[float, float]:
    margin = (max(places) - min(places)) / max(2, 2 * (len(places) - 1)) or 0.5
    return min(places) - margin, max(places) + margin


def before_and_after(document: Trial) -> list[Level]:
    """Return the present level and the best of the others, which may be worse."""
    levels, by = document["levels"], document["by"]
    if document["best"]:
        return [levels[0], levels[document["best"]]]
    known = [one for one in levels[1:] if one["latency_us"][by]["value"] is not None]
    return [levels[0], *sorted(known, key=lambda one: one["latency_us"][by]["value"] or 0.0)[:1]]


def _distributions(document: Trial, width: float) -> str | None:
    curves = [(one["level"], one["distribution"]) for one in before_and_after(document)]
    return draw_overlay("Latency before and after", curves, width)
