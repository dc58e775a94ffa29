"""Quantile curves of several arms in one chart, and their colours."""

from __future__ import annotations

from collections.abc import Sequence

from hindmost.core.store.measure import Curve
from hindmost.present import numbers
from hindmost.present.axes import tail_ticks, time_ticks
from hindmost.present.curves import drawable_points, grid, infinite_from, on_grid
from hindmost.present.svg import Plot, log10, log_domain, tail

COLOURS = 8
"""Number of colours. Further arms reuse them."""
POINTS = 90


def colour(place: int) -> str:
    """Return the CSS class of an arm's lines."""
    return f"side c{place % COLOURS}"


def draw_overlay(
    title: str, sides: Sequence[tuple[str, Curve | None]], width: float, height: float = 300.0
) -> str | None:
    """Draw the quantile curve of each arm. Return ``None`` if there is nothing to draw.

    Parameters
    ----------
    title : str
        Description for readers who cannot see the chart.
    sides : sequence of (str, Curve)
        Name and curve of each arm. The name is written where its curve becomes infinite.
    width, height : float
        In pixels.
    """
    curves = [drawable_points(curve) for _, curve in sides]
    values = [us for _, found in curves for us in found if us is not None]
    if not values:
        return None
    levels = [q for found, _ in curves for q in found]
    end = max(*levels, 0.9)
    plot = Plot(width, height, title, top=24)
    x, y = plot.x(0.0, end, tail), plot.y(*log_domain(values), log10)
    plot.axes(x, y, x_ticks=tail_ticks(end), y_ticks=time_ticks(y.low, y.high), x_title="percentile")
    picked = grid(levels, POINTS)
    for place, (name, curve) in enumerate(sides):
        read = zip(picked, on_grid(curve, picked), strict=True)
        plot.line([(x(q), y(us)) for q, us in read if us is not None], colour(place))
        if (late := infinite_from(curve)) is not None:
            note = f"{name} ∞ from p{numbers.about_level(late)}"
            plot.text(x(late) - 6, y.end + 10 + 14 * place, note, anchor="end", cls="tick")
    return str(plot)
