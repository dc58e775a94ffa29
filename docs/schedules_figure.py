"""The figure of the rebuilt shapes: what ``--schedule var``, ``app`` and ``etc`` ask for over a run."""

from __future__ import annotations

from hindmost.core.plan.schedules import SHAPES, mean_rates
from hindmost.present.svg import Plot

WIDTH, HEIGHT = 720, 190
PIECES = 480
STYLE = """<style>
text { font: 12px sans-serif; fill: #666 }
.name { font-weight: bold; fill: #333 }
.line { fill: none; stroke: #2563a8; stroke-width: 2 }
.axis, .grid { stroke: #ccc }
.mean { stroke: #999; stroke-width: 1; stroke-dasharray: 4 3 }
</style>"""


def schedules_figure() -> str:
    """One drawing of three panels: the rate over its mean against the share of the period."""
    edges = [i / PIECES for i in range(PIECES + 1)]
    panels = []
    for place, (name, points) in enumerate(SHAPES.items()):
        width = WIDTH / len(SHAPES)
        plot = Plot(width, HEIGHT, f"--schedule {name}: rate over its mean, in one period", top=24)
        x, y = plot.x(0.0, 1.0), plot.y(0.0, 1.5)
        plot.axes(
            x,
            y,
            x_ticks=[(share, f"{share:g}") for share in (0.0, 0.5, 1.0)],
            y_ticks=[(rate, f"{rate:g}") for rate in (0.0, 0.5, 1.0, 1.5)],
            x_title="share of the period",
        )
        rates = mean_rates(points, 1.0, edges)
        plot.line([(x(0.0), y(1.0)), (x(1.0), y(1.0))], "mean")
        plot.line([(x((i + 0.5) / PIECES), y(rate)) for i, rate in enumerate(rates)], "rate")
        plot.text(x.start + 6, 14, name, cls="name")
        box = f'<svg x="{place * width:g}" width="{width:g}" height="{HEIGHT}"'
        panels.append(str(plot).replace("<svg", box, 1))
    whole = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
    label = 'aria-label="The rebuilt shapes of the Facebook traces: rate over its mean in one period"'
    return f"{whole} {label}>{STYLE}{''.join(panels)}</svg>\n"
