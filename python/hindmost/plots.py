"""Plots of statistics for Python users, as SVG that needs no screen and no other library."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from hindmost.present import numbers
from hindmost.present.blocks import Chart, View
from hindmost.present.figure import Figure, figures
from hindmost.present.svg import Plot, linear_domain, linear_ticks
from hindmost.stats.requests.lack_of_fit import ShareBelow
from hindmost.stats.requests.linear_quantile import FitCheck


def plot_fit(check: FitCheck) -> list[Figure]:
    """Plot the shares of samples below a quantile regression, by fitted value first and then by column.

    Where the model is right, the intervals contain the dashed line, the quantile's level. A bow means that a
    term is missing, for example the square of this column.

    Parameters
    ----------
    check : FitCheck
        From ``QuantileRegression.check_fit``.

    Returns
    -------
    list of Figure
        One for each column of at least three values, in notebooks shown as a drawing. ``figure.save(path)``
        writes an SVG file.
    """
    by_column: dict[str, list[ShareBelow]] = {}
    for share in check.shares:
        by_column.setdefault(share.by, []).append(share)
    charts = [
        Chart(partial(_draw_shares, check.quantile, name, shares), name=name)
        for name, shares in by_column.items()
    ]
    return figures(View(title="check of a fit", blocks=charts))


def _draw_shares(quantile: float, name: str, shares: Sequence[ShareBelow], width: float) -> str:
    axis = "fitted value" if name == "(fitted)" else name
    plot = Plot(width, 260, f"Share of samples below the fit of quantile {quantile:g}, by {axis}", top=30)
    x = plot.x(*linear_domain([end for one in shares for end in (one.low, one.high)]))
    y = plot.y(
        *linear_domain([quantile, *(end for one in shares for end in (one.share_low, one.share_high))])
    )
    plot.axes(
        x,
        y,
        x_ticks=[(tick, f"{tick:g}") for tick in linear_ticks(x.low, x.high)],
        y_ticks=[(tick, numbers.percent(tick)) for tick in linear_ticks(y.low, y.high, 4)],
        x_title=axis,
        y_title="share of samples below the fit",
    )
    plot.line([(x.start, y(quantile)), (x.end, y(quantile))], "fair")
    for one in shares:
        middle = x((one.low + one.high) / 2.0)
        plot.line([(x(one.low), y(one.share)), (x(one.high), y(one.share))], "side c0")
        plot.line([(middle, y(one.share_low)), (middle, y(one.share_high))], "side c0")
        title = f"{numbers.percent(one.share)} of {one.samples} samples, {one.low:g} to {one.high:g}"
        plot.dot(middle, y(one.share), cls="c0", title=title)
    return str(plot)
