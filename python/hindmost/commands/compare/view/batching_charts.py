"""Charts of batching modes: Figures 4 to 7 of the variability paper, for the measured server."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hindmost.commands.compare.documents.batching import Batching, BatchingRate, BatchingSide
from hindmost.commands.compare.view.levels import figure_title
from hindmost.core.plan.batching import batching_text
from hindmost.present import numbers
from hindmost.present.axes import time_ticks
from hindmost.present.overlay import COLOURS, colour, draw_overlay
from hindmost.present.svg import Plot, Scale, linear_domain, linear_ticks, log10, log_domain, log_ticks

NAMED = ("none", "nagle")
"""Batching modes that are no intervals."""


def by_interval(rate: BatchingRate, name: str, width: float) -> str | None:
    """Draw one figure of latency against the interval; no batching and Nagle's algorithm are dashed lines."""
    points = [(us, side) for side in _intervals(rate) if (us := side.latency_us[name].value) is not None]
    levels = [
        (us, side.batching)
        for side in rate.sides
        if side.batching in NAMED and (us := side.latency_us[name].value) is not None
    ]
    if not points:
        return None
    ends = [end for _, side in points for end in _ends(side, name)]
    values = [us for us, _ in points] + [us for us, _ in levels] + ends
    plot = Plot(width, 260, f"{name} of latency against the batching interval", top=24)
    plot.text(4, 12, figure_title(name), cls="name")
    x = _interval_axis(plot, [side for _, side in points])
    y = plot.y(*log_domain(values), log10)
    plot.axes(
        x, y, x_ticks=_interval_ticks(x), y_ticks=time_ticks(y.low, y.high), x_title="batching interval"
    )
    for us, mode in levels:
        plot.line([(x.start, y(us)), (x.end, y(us))], "fair")
        plot.text(x.end, y(us) - 5, f"{mode} {numbers.latency(us)}", anchor="end", cls="tick")
    plot.line([(x(_seconds(side)), y(us)) for us, side in points], colour(0))
    for us, side in points:
        low_high = _ends(side, name)
        if len(low_high) == 2:
            plot.line([(x(_seconds(side)), y(end)) for end in low_high], colour(0))
        title = f"{batching_text(side.batching)}: {name} {numbers.latency(us)}"
        plot.dot(x(_seconds(side)), y(us), cls="c0", title=title)
    return str(plot)


def improvement(doc: Batching, width: float) -> str | None:
    """Draw how much each interval lowers the mean of Nagle's algorithm, one line per rate (Figure 5 a)."""
    lines = [
        [
            (_seconds(side), 100.0 * (1.0 - ratio))
            for side in _intervals(rate)
            if (ratio := _ratio(side, "mean")) is not None and ratio < math.inf
        ]
        for rate in doc.rates
    ]
    if not any(lines):
        return None
    values = [value for line in lines for _, value in line] + [0.0]
    plot = Plot(width, 280, "Improvement of mean latency over Nagle's algorithm by interval", top=24)
    plot.text(4, 12, "improvement, %", cls="name")
    x = _interval_axis(plot, [side for rate in doc.rates for side in _intervals(rate)])
    y = plot.y(*linear_domain(values))
    ticks = [(t, f"{t:g}") for t in linear_ticks(y.low, y.high)]
    plot.axes(x, y, x_ticks=_interval_ticks(x), y_ticks=ticks, x_title="batching interval")
    plot.line([(x.start, y(0.0)), (x.end, y(0.0))], "fair")
    for place, line in enumerate(lines):
        at = numbers.rate(doc.rates[place].rate_per_s)
        plot.line([(x(seconds), y(value)) for seconds, value in line], colour(place))
        top = max((value for _, value in line), default=0.0)
        for seconds, value in line:
            cls = f"c{place % COLOURS}"
            title = f"{at}, {batching_text(seconds)}: {value:.1f} %"
            plot.dot(x(seconds), y(value), cls=cls, title=title, radius=5.0 if value == top else 2.5)
    return str(plot)


def best_by_rate(doc: Batching, width: float) -> str | None:
    """Draw the best interval by rate (Figure 5 b); None with fewer than two rates."""
    found = [
        (rate.rate_per_s, _seconds(rate.sides[rate.best_interval]))
        for rate in doc.rates
        if rate.best_interval is not None
    ]
    if len(found) < 2:
        return None
    plot = Plot(width, 240, "The best interval by rate", top=24)
    plot.text(4, 12, "best interval", cls="name")
    y = plot.y(*log_domain([seconds * 1e6 for _, seconds in found]), log10)
    points = [(rate, seconds * 1e6, batching_text(seconds)) for rate, seconds in found]
    return _by_rate(plot, y, time_ticks(y.low, y.high), [points])


def latencies(rate: BatchingRate, width: float) -> str | None:
    """Draw the latency distributions of no batching, Nagle's algorithm and the best interval (Figure 6)."""
    curves = [(batching_text(side.batching), side.distribution) for side in main_modes(rate)]
    return draw_overlay(
        "Latency without batching, with Nagle's algorithm and with the best interval", curves, width
    )


def sizes(rate: BatchingRate, width: float) -> str | None:
    """Draw the cumulative distribution of requests per write call (Figure 4)."""
    shown = with_sizes(rate)
    if not shown:
        return None
    most = max(max(side.sizes.requests) for side in shown)
    plot = Plot(width, 260, "Cumulative distribution of requests per write call", top=24)
    plot.text(4, 12, "share of writes", cls="name")
    x, y = plot.x(1.0, max(2.0, float(most)), log10), plot.y(0.0, 1.0)
    ticks = [(t, f"{t:g}") for t in log_ticks(x.low, x.high)]
    shares = [(t, f"{t:g}") for t in (0.0, 0.25, 0.5, 0.75, 1.0)]
    plot.axes(x, y, x_ticks=ticks, y_ticks=shares, x_title="requests in a write call")
    for place, side in enumerate(shown):
        points = []
        before = 0.0
        for requests, share in zip(side.sizes.requests, side.sizes.share, strict=True):
            points += [(x(float(requests)), y(before)), (x(float(requests)), y(share))]
            before = share
        plot.line([*points, (x.end, y(before))], colour(place))
    return str(plot)


def variability(doc: Batching, width: float) -> str | None:
    """Draw the variability of service latency by rate (Figure 7)."""
    lines: list[list[tuple[float, float, str]]] = [[], []]
    for rate in doc.rates:
        nagle = next((side for side in rate.sides if side.batching == "nagle"), None)
        best = None if rate.best_interval is None else rate.sides[rate.best_interval]
        for line, side in zip(lines, (nagle, best), strict=True):
            if side is not None and (cv := side.service_cv.value) is not None:
                line.append((rate.rate_per_s, cv, f"{cv:.2f}"))
    if not all(lines):
        return None
    plot = Plot(width, 240, "Variability of service latency by rate", top=24)
    plot.text(4, 12, "standard deviation over mean", cls="name")
    y = plot.y(*linear_domain([cv for line in lines for _, cv, _ in line], zero=True))
    return _by_rate(plot, y, [(t, f"{t:g}") for t in linear_ticks(y.low, y.high)], lines)


def _by_rate(
    plot: Plot, y: Scale, ticks: list[tuple[float, str]], lines: Sequence[Sequence[tuple[float, float, str]]]
) -> str:
    rates = [rate for line in lines for rate, *_ in line]
    x = plot.x(min(rates) * 0.9, max(rates) * 1.1)
    x_ticks = [(t, numbers.group_thousands(f"{t:g}")) for t in linear_ticks(x.low, x.high, 4)]
    plot.axes(x, y, x_ticks=x_ticks, y_ticks=ticks, x_title="requests/s")
    for place, line in enumerate(lines):
        plot.line([(x(rate), y(value)) for rate, value, _ in line], colour(place))
        for rate, value, text in line:
            plot.dot(x(rate), y(value), cls=f"c{place}", title=f"{numbers.rate(rate)}: {text}")
    return str(plot)


def with_sizes(rate: BatchingRate) -> list[BatchingSide]:
    """Return the modes with known batch sizes; the kernel makes Nagle's batches after the write call."""
    return [side for side in rate.sides if side.batching != "nagle" and side.sizes.requests]


def main_modes(rate: BatchingRate) -> list[BatchingSide]:
    """Return no batching, Nagle's algorithm and the best interval, as far as they were measured."""
    best = rate.best_interval
    named = [side for side in rate.sides if side.batching in NAMED]
    return named + ([] if best is None else [rate.sides[best]])


def _intervals(rate: BatchingRate) -> list[BatchingSide]:
    return [side for side in rate.sides if side.batching not in NAMED]


def _seconds(side: BatchingSide) -> float:
    found = side.batching
    return 0.0 if isinstance(found, str) else found


def _ends(side: BatchingSide, name: str) -> list[float]:
    one = side.latency_us[name]
    return [end for end in (one.low, one.high) if end is not None]


def _ratio(side: BatchingSide, name: str) -> float | None:
    found = side.against.get("nagle", {}).get(name)
    return None if found is None else found.ratio.value


def _interval_axis(plot: Plot, sides: Sequence[BatchingSide]) -> Scale:
    seconds = [_seconds(side) for side in sides] or [1e-4]
    return plot.x(min(seconds) / 1.3, max(seconds) * 1.3, log10)


def _interval_ticks(x: Scale) -> list[tuple[float, str]]:
    return [(us / 1e6, text) for us, text in time_ticks(x.low * 1e6, x.high * 1e6)]
