"""The charts of an attribution: effects of single factors, shares of the variance, drift of the control."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hindmost.commands.attribute.document import Attribution, Drift, Effect, Load
from hindmost.commands.attribute.view import wording
from hindmost.commands.attribute.view.rows import share_scale
from hindmost.present import numbers
from hindmost.present.axes import time_ticks
from hindmost.present.numbers import finite
from hindmost.present.svg import Plot, Scale, linear_domain, linear_ticks, log10, log_domain

COLOURS = 8
PARTS = (("cells", "c0"), ("runs", "c2"), ("sampling", "c7"))
"""Parts of the variance, with their colours."""


def _grid(plot: Plot, x: Scale, ticks: Sequence[float]) -> None:
    for tick in ticks:
        plot.add("path", d=f"M{x(tick):.1f} {plot.top}V{plot.height - plot.bottom:.1f}", class_="grid")


def factors_alone(doc: Attribution, label: str, width: float) -> str | None:
    """Draw the effect of each factor alone at each load, as a share (Treadmill, Figure 8)."""
    average = wording.on_average(doc)
    rows: dict[str, list[tuple[int, Effect]]] = {}
    for place, load in enumerate(doc.loads):
        answer = load.quantiles.get(label)
        for one in (answer.average if average else answer.corner) if answer else []:
            if len(one.factors) == 1:
                rows.setdefault(wording.term(one, doc), []).append((place, one))
    if not rows:
        return None
    delta = doc.delta or 0.0  # delta in time units is a different share at each load
    shown = [one for found in rows.values() for _, one in found]
    ends = finite(end for one in shown for end in (one.share_low, one.share_high))
    step = 14.0 * len(doc.loads) + 24.0
    height = 34 + step * len(rows) + 40
    plot = Plot(width, height, f"Effects of each factor on {label}", left=22, right=22, top=30)
    ratio = doc.scale == "ratio"
    x, ticks = share_scale([*ends, -delta, delta], plot.left, plot.width - plot.right, ratio=ratio)
    y = plot.y(0.0, 1.0)
    plot.bar((x(-delta), plot.top, x(delta) - x(-delta), y.start - plot.top), cls="band")
    title = "change from the first level" if ratio else "share of the mean of all cells"
    texts = [(tick, wording.share_tick(tick, ratio=ratio)) for tick in ticks]
    plot.axes(x, y, x_ticks=texts, y_ticks=[], x_title=title, y_title=label)
    _grid(plot, x, ticks)
    plot.line([(x(0.0), y.start), (x(0.0), y.end)], "fair")
    for row, (name, found) in enumerate(rows.items()):
        top = plot.top + 4 + step * row
        plot.text(12, top + 12, numbers.cut(name, 46))
        for place, one in found:
            at, colour = top + 24 + 14 * place, f"c{place % COLOURS}"
            if wording.is_known(one.share_low) and wording.is_known(one.share_high):
                plot.line([(x(one.share_low), at), (x(one.share_high), at)], f"side {colour}")
            text = f"{doc.loads[place].name}: {wording.percent(one.share)}, {wording.VERDICTS[one.verdict]}"
            if wording.is_known(one.share):
                plot.dot(x(one.share), at, cls=colour, title=text, radius=4.0)
    return str(plot)


def variance(doc: Attribution, width: float) -> str | None:
    """Draw a bar for each quantile at each load, with the ceiling and the model's share (Figure 11)."""
    rows = wording.explained(doc)
    if not rows:
        return None
    wide = width > 500
    plot = Plot(width, 30 + 34 * len(rows) + 40, "Variance of what runs report", left=110 if wide else 84)
    x, y = plot.x(0.0, 1.0), plot.y(0.0, 1.0)
    ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
    shown = [(tick, numbers.percent(tick)) for tick in ticks]
    plot.axes(x, y, x_ticks=shown, y_ticks=[], x_title="share of the variance between all runs")
    _grid(plot, x, ticks)
    for row, (name, one) in enumerate(rows):
        top, at = plot.top + 8 + 34 * row, 0.0
        plot.text(plot.left - 8, top + 15, numbers.cut(name, 16 if wide else 12), anchor="end")
        for part, colour in PARTS:
            share = getattr(one, part) or 0.0
            title = f"{name}: {part} {numbers.percent(share)}"
            plot.bar((x(at), top, x(at + share) - x(at), 22.0), cls=colour, title=title)
            at += share
        plot.line([(x(one.ceiling), top - 4), (x(one.ceiling), top + 26)], "fair")
        plot.dot(x(one.model), top + 11, cls="hollow", title=f"model: {numbers.percent(one.model)}")
    return str(plot)


def residuals(load: Load, label: str, width: float) -> str | None:
    """Draw the distance of each run from the model's prediction of its cell, as a share of it."""
    predicted = {tuple(one.levels.values()): one.value for one in load.quantiles[label].predicted}
    points = [
        (at, value / at - 1.0)
        for cell in load.cells
        if (at := predicted.get(tuple(cell.levels.values()), math.nan)) > 0.0
        for value in finite(cell.values.get(label, []))
    ]
    if not points:
        return None
    plot = Plot(width, 240, f"Residuals of {label} at {load.name}", left=62, top=30)
    x = plot.x(*log_domain([at for at, _ in points]), log10)
    y = plot.y(*linear_domain([0.0, *(rest for _, rest in points)]))
    plot.axes(
        x,
        y,
        x_ticks=time_ticks(x.low, x.high),
        y_ticks=[(tick, wording.share_tick(tick)) for tick in linear_ticks(y.low, y.high, 4)],
        x_title=f"{label} of the cell, as the model predicts it",
        y_title="run compared with the prediction",
    )
    plot.line([(x.start, y(0.0)), (x.end, y(0.0))], "fair")
    strokes = "".join(f"M{x(at) - 4.0:.1f} {y(rest):.1f}h8" for at, rest in points)
    plot.add("path", d=strokes, class_="axis")
    return str(plot)


def drift(one: Drift, load: str, width: float) -> str | None:
    """Draw the control's value for each block."""
    values = finite(one.values)
    if not values:
        return None
    plot = Plot(width, 200, f"{one.quantile} of the control over the blocks, at {load}", left=62, top=30)
    x, y = plot.x(0.5, len(one.values) + 0.5), plot.y(*linear_domain(values))
    step = max(1, math.ceil(len(one.values) / 10))
    plot.axes(
        x,
        y,
        x_ticks=[(block, str(block)) for block in range(1, len(one.values) + 1, step)],
        y_ticks=[(tick, numbers.tick(tick)) for tick in linear_ticks(y.low, y.high, 4)],
        x_title="block",
        y_title=f"{one.quantile} at {numbers.cut(load, 40)}",
    )
    for block, value in enumerate(one.values, 1):
        if value == math.inf:
            plot.text(x(block), y.end + 4, numbers.INFINITE, anchor="middle", cls="infinite")
        elif value is not None:
            plot.dot(x(block), y(value), cls="point", title=f"block {block}: {numbers.latency(value)}")
    return str(plot)
