"""Charts of the levels of a setting: figures and ratios by level, and latency before and after."""

from __future__ import annotations

from collections.abc import Sequence

from hindmost.commands.compare.documents.setting import Level, Trial
from hindmost.commands.compare.view.levels import figure_title
from hindmost.core.plan.levels import numbers_of
from hindmost.present import numbers
from hindmost.present.axes import time_ticks
from hindmost.present.overlay import draw_overlay
from hindmost.present.svg import Plot, log10, log_domain, log_ticks

Points = list[tuple[float, float | None, float | None, float | None, str]]
"""Place on the axis, value, both ends of its interval, and title."""


def figure_by_level(doc: Trial, name: str, width: float) -> str | None:
    """Draw one figure of latency by level, with intervals over rounds; None if no value is known."""
    points: Points = []
    for place, one in zip(_places(doc), doc.levels, strict=True):
        figure = one.latency_us[name]
        title = f"{one.level}: {name} {numbers.latency(figure.value)}"
        if figure.value is not None:
            points.append((place, figure.value, figure.low, figure.high, title))
    plot = Plot(width, 240, f"{name} of latency by level", top=24)
    plot.text(4, 12, figure_title(name), cls="name")
    return _by_level(doc, plot, points, times=True)


def ratio_by_level(doc: Trial, width: float) -> str | None:
    """Draw the ratio of the minimised figure to the present level; None with fewer than two ratios."""
    present = doc.levels[0].level
    points: Points = []
    for place, one in zip(_places(doc), doc.levels, strict=True):
        if doc.by in one.against:
            ratio = one.against[doc.by].ratio
            title = f"{one.level}: {ratio.value:.2f} of the present level"
            points.append((place, ratio.value, ratio.low, ratio.high, title))
    if len(points) < 2:
        return None
    plot = Plot(width, 240, f"{doc.by} by level, as a ratio to {present}", top=24)
    plot.text(4, 12, f"{doc.by} / {present}", cls="name")
    return _by_level(doc, plot, points, times=False)


def latencies(doc: Trial, width: float) -> str | None:
    """Draw the distribution of latency at the present level and at the best of the others."""
    curves = [(one.level, one.distribution) for one in before_and_after(doc)]
    return draw_overlay("Latency before and after", curves, width)


def before_and_after(doc: Trial) -> list[Level]:
    """Return the present level and the best of the others, which may be worse."""
    if doc.best:
        return [doc.levels[0], doc.levels[doc.best]]
    known = [one for one in doc.levels[1:] if one.latency_us[doc.by].value is not None]
    return [doc.levels[0], *sorted(known, key=lambda one: one.latency_us[doc.by].value or 0.0)[:1]]


def _by_level(doc: Trial, plot: Plot, points: Points, *, times: bool) -> str | None:
    places = _places(doc)
    values = [end for _, value, low, high, _ in points for end in (value, low, high) if end]
    if not times:
        values.append(1.0)
    if not values:
        return None
    x, y = plot.x(*_span(places)), plot.y(*log_domain(values), log10)
    levels = sorted((place, one.level) for place, one in zip(places, doc.levels, strict=True))
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
            large = doc.best is not None and place == places[doc.best]
            plot.dot(x(place), y(value), cls="c0", title=title, radius=5.0 if large else 3.0)
    return str(plot)


def _places(doc: Trial) -> list[float]:
    # Levels that are numbers of one unit stand at their values, others at equal distances.
    found = numbers_of([one.level for one in doc.levels])
    return [float(place) for place in range(len(doc.levels))] if found is None else found[0]


def _span(places: Sequence[float]) -> tuple[float, float]:
    margin = (max(places) - min(places)) / max(2, 2 * (len(places) - 1)) or 0.5
    return min(places) - margin, max(places) + margin
