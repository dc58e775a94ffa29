"""Charts of a comparison of targets: distributions, ratios with the margin, and the runs of each arm."""

from collections.abc import Sequence

from hindmost.commands.compare.documents.targets import Comparison
from hindmost.commands.compare.view.targets_table import lines
from hindmost.present import numbers
from hindmost.present.axes import time_ticks
from hindmost.present.numbers import finite
from hindmost.present.overlay import COLOURS, colour, draw_overlay
from hindmost.present.svg import Plot, linear_ticks, log10, log_domain

ROW = 26.0


def distributions(doc: Comparison, width: float) -> str | None:
    """Draw the quantile curve of each arm, all runs together."""
    title = "Quantiles of each arm; the scale gives each further nine the same width"
    sides = [(side.label, side.distribution) for side in doc.sides]
    return draw_overlay(title, sides, width, height=340.0)


def ratios(doc: Comparison, width: float) -> str | None:
    """Draw each ratio with its interval and the margin as a band; isolated latency has hollow dots."""
    shown = lines(doc)
    known = [one.contrast.ratio for one in shown if finite([one.contrast.ratio.value])]
    if not known:
        return None
    margin = doc.margin
    # A very wide interval is cut off, so that the others can be read.
    reach = max(2.0 * margin, *(1.3 * _distance(ratio.value) for ratio in known))
    ends = [_distance(end) for ratio in known for end in (ratio.low, ratio.high)]
    reach = max(reach, min(max(ends), 3.0 * reach))
    plot = Plot(width, 60.0 + ROW * len(shown), "Ratios to the first, with 95 % intervals", left=92, top=8)
    x = plot.x(1.0 / (1.0 + reach), 1.0 + reach, log10)
    y = plot.y(0.0, float(len(shown)))
    plot.area(
        [(x(1.0 / (1.0 + margin)), y.end), (x(1.0 + margin), y.end)],
        [(x(1.0 / (1.0 + margin)), y.start), (x(1.0 + margin), y.start)],
        "band",
    )
    ticks = [(t, f"{t:g}") for t in linear_ticks(x.low, x.high, 6 if width > 500 else 4)]
    plot.axes(x, y, x_ticks=ticks, y_ticks=[], x_title=f"ratio to {doc.sides[0].label}")
    plot.line([(x(1.0), y.start), (x(1.0), y.end)], "fair")
    for row, one in enumerate(shown):
        height = y(len(shown) - row - 0.5)
        plot.text(x.start - 10, height + 4, one.name, anchor="end", cls="tick")
        ratio = one.contrast.ratio
        value, low, high = ratio.value, ratio.low, ratio.high
        if value is None:
            continue
        if low is not None and high is not None:
            plot.line([(x(low), height), (x(high), height)], colour(one.place))
        title = f"{doc.sides[one.place].label}, {one.name}: {value:.3f}, {one.contrast.word}"
        cls = "hollow" if one.isolated else f"c{one.place % COLOURS}"
        plot.dot(x(value), height, cls=cls, title=title, radius=4.0)
    return str(plot)


def _distance(ratio: float | None) -> float:
    # Distance of a ratio from 1, the same for a ratio and its inverse.
    return 0.0 if not ratio else max(ratio, 1.0 / ratio) - 1.0


def runs(doc: Comparison, name: str, width: float) -> str | None:
    """Draw the runs of each arm at one percentile, with the summary over runs as a line."""
    columns: list[Sequence[float | None]] = [side.values_us.get(name, []) for side in doc.sides]
    values = [us for column in columns for us in column if us is not None]
    if not values:
        return None
    plot = Plot(width, 220, f"{name} of each run", top=24)
    plot.text(4, 12, f"{name} of each run", cls="name")
    x, y = plot.x(0.0, float(len(columns))), plot.y(*log_domain(values), log10)
    ticks = [
        (place + 0.5, numbers.cut(side.label, max(8, int(width / len(columns) / 8))))
        for place, side in enumerate(doc.sides)
    ]
    plot.axes(x, y, x_ticks=ticks, y_ticks=time_ticks(y.low, y.high))

    def x_of(place: int, number: int) -> float:
        last = max(len(columns[place]) - 1, 1)
        return x(place + 0.5 + 0.5 * (number / last - 0.5))

    for place, column in enumerate(columns):
        for number, us in enumerate(column):
            if us is None:
                continue
            side = doc.sides[place]
            title = f"{side.label}, run {side.runs[number]}: {numbers.latency(us)}"
            plot.dot(x_of(place, number), y(us), cls=f"c{place % COLOURS}", title=title)
        summary = doc.sides[place].latency_us.get(name)
        if summary is not None and (middle := summary.value) is not None:
            plot.line(
                [(x_of(place, 0) - 8, y(middle)), (x_of(place, len(column) - 1) + 8, y(middle))],
                colour(place),
            )
    return str(plot)
