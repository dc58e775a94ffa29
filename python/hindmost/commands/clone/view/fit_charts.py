"""Charts of a fit: densities over the data, tails, and the law's error at each level."""

from __future__ import annotations

from itertools import pairwise

from hindmost.commands.clone.documents.fit import FittedLaw
from hindmost.present import numbers
from hindmost.present.axes import tail_ticks, time_ticks
from hindmost.present.svg import Plot, linear_domain, linear_ticks, log10, log_domain, tail

SUPPORTED = 10
"""Samples needed on either side of a level to judge the error there."""


def density(part: FittedLaw, width: float) -> str | None:
    """Draw the histogram of the samples on a logarithmic axis, with the law and its components."""
    curves = part.curves
    edges, bars = curves.edges_us, curves.density
    top = max([*bars, *curves.law]) * 1.05
    plot = Plot(width, 300, f"Density of the service times of {part.name}, and of the law", top=14, left=30)
    x, y = plot.x(edges[0], edges[-1], log10), plot.y(0.0, top)
    plot.axes(x, y, x_ticks=time_ticks(edges[0], edges[-1]), y_ticks=[], x_title="service time")
    for (low, high), bar in zip(pairwise(edges), bars, strict=True):
        if bar > 0:
            plot.bar((x(low), y(bar), max(0.5, x(high) - x(low) - 0.5), y(0.0) - y(bar)), cls="band")
    middles = [(low * high) ** 0.5 for low, high in pairwise(edges)]
    for component in curves.components or ():
        points = [(x(us), y(d)) for us, d in zip(middles, component, strict=True) if d > top / 1000]
        plot.line(points, "send_delay")
    plot.line([(x(us), y(d)) for us, d in zip(middles, curves.law, strict=True)], "latency")
    return str(plot)


def tails(part: FittedLaw, width: float) -> str | None:
    """Draw the quantiles of samples and law on the tail scale."""
    curves = part.curves
    levels, samples, law = curves.levels, curves.samples_us, curves.law_us
    plot = Plot(width, 300, f"Quantiles of the service times of {part.name}, and of the law", top=24)
    x, y = plot.x(0.0, levels[-1], tail), plot.y(*log_domain([*samples, *law]), log10)
    plot.axes(x, y, x_ticks=tail_ticks(levels[-1]), y_ticks=time_ticks(y.low, y.high), x_title="percentile")
    plot.line([(x(q), y(us)) for q, us in zip(levels, samples, strict=True)], "capture")
    plot.line([(x(q), y(us)) for q, us in zip(levels, law, strict=True)], "latency")
    return str(plot)


def departures(part: FittedLaw, width: float) -> str | None:
    """Draw the relative error of the law's quantile, in percent, level by level."""
    curves = part.curves
    least = SUPPORTED / part.samples
    rows = [
        (q, 100 * (law / us - 1.0))
        for q, us, law in zip(curves.levels, curves.samples_us, curves.law_us, strict=True)
        if least <= q <= 1.0 - least
    ]
    if len(rows) < 2:
        return None
    low, high = linear_domain([*(value for _, value in rows), -1.0, 1.0])
    plot = Plot(width, 220, f"Quantiles of the law over those of the samples of {part.name}", top=24)
    x, y = plot.x(0.0, rows[-1][0], tail), plot.y(low, high)
    marks = [(t, f"{t:+g}{numbers.THIN}%" if t else "0") for t in linear_ticks(low, high)]
    plot.axes(x, y, x_ticks=tail_ticks(rows[-1][0]), y_ticks=marks, x_title="percentile")
    plot.add("path", d=f"M{x.start:.1f} {y(0.0):.1f}H{x.end:.1f}", class_="fair")
    plot.line([(x(q), y(value)) for q, value in rows], "latency")
    return str(plot)
