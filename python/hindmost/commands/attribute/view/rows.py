"""Small charts within the rows of a table, all on one axis in the table's head."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hindmost.commands.attribute.view import wording
from hindmost.present import numbers
from hindmost.present.document import finite
from hindmost.present.svg import Plot, Scale, linear, linear_domain, linear_ticks, log10, log_ticks

if TYPE_CHECKING:
    from markupsafe import Markup

    from hindmost.commands.attribute.document import Cell, PooledEffect
    from hindmost.commands.attribute.view.tables import Configuration, EffectRow

WIDTH, HEIGHT, AXIS = 220.0, 22.0, 20.0
WIDE_RANGE = 5.0
"""Ratio of the largest to the smallest value above which a time axis is logarithmic."""


class Row(Plot):
    """A chart with the height of one line of text."""

    def __init__(self, scale: Scale, ticks: Sequence[float], title: str) -> None:
        super().__init__(WIDTH, HEIGHT, title)
        self.scale = scale
        self.middle = HEIGHT / 2
        for tick in ticks:
            self.add("path", d=f"M{scale(tick):.1f} 0V{HEIGHT:g}", class_="grid")

    def band(self, low: float, high: float, cls: str) -> None:
        """Shade a range."""
        start, end = self.scale(low), self.scale(high)
        self.bar((start, 0.0, end - start, HEIGHT), cls=cls)

    def span(self, low: float | None, high: float | None, cls: str) -> None:
        """Draw an interval. An interval without an end extends to the edge."""
        if low is None and high is None:
            return
        ends = (self.scale.low if low is None else low, self.scale.high if high is None else high)
        start, end = (self.scale(one) for one in ends)
        self.add("path", d=f"M{start:.1f} {self.middle:g}H{end:.1f}", class_=f"line {cls}")

    def mark(self, value: float | None, cls: str) -> None:
        """Draw a value. An infinite value is a sign at the edge."""
        if value is None:
            return
        if math.isinf(value):
            self.text(self.scale.end, self.middle + 5, numbers.INFINITE, anchor="end", cls="infinite")
        else:
            self.dot(self.scale(value), self.middle, cls=cls, radius=4.0)


def _svg(plot: Plot) -> "Markup":
    from markupsafe import Markup

    return Markup(str(plot))


def _axis(scale: Scale, ticks: Sequence[float], texts: Sequence[str], title: str) -> "Markup":
    plot = Plot(WIDTH, AXIS, title)
    edge = -math.inf
    for tick, text in zip(ticks, texts, strict=True):
        at, half = scale(tick), 3.9 * len(text)
        plot.add("path", d=f"M{at:.1f} {AXIS - 4:g}v4", class_="axis")
        if at - half > max(edge, 0.0) and at + half < WIDTH:
            plot.text(at, 11, text, anchor="middle", cls="tick")
            edge = at + half + 3
    return _svg(plot)


def _time_scale(values: Sequence[float]) -> tuple[Scale, list[float]]:
    positive = [v for v in values if v > 0]
    if positive and max(positive) / min(positive) > WIDE_RANGE:
        scale = Scale(min(positive) / 1.1, max(positive) * 1.1, 16.0, WIDTH - 16, log10)
        return scale, log_ticks(scale.low, scale.high)
    scale = Scale(*linear_domain(values), 16.0, WIDTH - 16, linear)
    return scale, linear_ticks(scale.low, scale.high, 5)


def _time_axis(scale: Scale, ticks: Sequence[float]) -> "Markup":
    return _axis(scale, ticks, [wording.tick(t) for t in ticks], "axis of latency")


def forest(rows: Sequence["EffectRow"], delta: float, *, ratio: bool) -> "tuple[Markup, list[Markup]]":
    """Draw effects as shares: the axis, and each effect's interval over the band of delta.

    On a ratio scale, half as long and twice as long are equally far from no effect.
    """
    ends = finite(v for row in rows for v in (row.effect["share_low"], row.effect["share_high"]))
    scale, ticks = share_scale([*ends, -delta, delta], 16.0, WIDTH - 16, ratio=ratio)
    drawn = []
    for row in rows:
        one = row.effect
        cls = one["verdict"] if row.shown_among_all else ""
        plot = Row(scale, ticks, f"{row.name}: {row.share} {row.share_interval}, {row.verdict}")
        plot.band(-delta, delta, "band")
        plot.add("path", d=f"M{scale(0.0):.1f} 0V{HEIGHT:g}", class_="zero")
        plot.span(one["share_low"], one["share_high"], f"span {cls}")
        if one["share"] is not None:
            plot.mark(one["share"], f"mark {cls}")
        drawn.append(_svg(plot))
    texts = [wording.share_tick(t, ratio=ratio) for t in ticks]
    return _axis(scale, ticks, texts, "axis of effects, as shares"), drawn


_FARTHEST = 100.0
"""Largest ratio on an axis. Intervals beyond it extend to the edge."""
_TIMES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0, 1.25, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


def _of_share(share: float) -> float:
    return math.log(max(1.0 + share, 1.0 / _FARTHEST))


def share_scale(
    shares: Sequence[float], start: float, end: float, *, ratio: bool
) -> tuple[Scale, list[float]]:
    """Return a scale for shares, with its ticks. A ratio scale is logarithmic."""
    low, high = min([*shares, 0.0]), max([*shares, 0.0])
    if not ratio:
        scale = Scale(low * 1.06, high * 1.06, start, end)
        return scale, linear_ticks(scale.low, scale.high, 5)
    low, high = max(low, 1.0 / _FARTHEST - 1.0), min(high, _FARTHEST - 1.0)
    scale = Scale(low, high, start, end, _of_share)
    if high - low < 1.0:
        return scale, linear_ticks(low, high, 5)
    return scale, [t - 1.0 for t in _TIMES if low <= t - 1.0 <= high]


def predictions(rows: Sequence["Configuration"]) -> "tuple[Markup, list[Markup]]":
    """Draw the predicted latency of configurations with their intervals (Treadmill, Figure 7)."""
    ends = finite(
        v for row in rows for v in (row.prediction["value"], row.prediction["low"], row.prediction["high"])
    )
    scale, ticks = _time_scale(ends)
    drawn = []
    for row in rows:
        one = row.prediction
        cls = "tied" if row.place else ""
        plot = Row(scale, ticks, f"{wording.setting(row.levels)}: {row.shown.value} {row.shown.interval}")
        plot.span(one["low"], one["high"], f"span {cls}")
        plot.mark(one["value"], f"mark {cls}" if row.run else f"mark hollow {cls}")
        drawn.append(_svg(plot))
    return _time_axis(scale, ticks), drawn


def strips(cells: Sequence["Cell"], label: str) -> "tuple[Markup, list[Markup]]":
    """Draw the value of each run of each cell as a short stroke, and their mean with its interval."""
    values = [cell["values"].get(label, []) for cell in cells]
    means = [cell["latency_us"].get(label) for cell in cells]
    ends = finite(v for one in values for v in one)
    scale, ticks = _time_scale(ends + finite(m["value"] for m in means if m))
    drawn = []
    for cell, runs, mean in zip(cells, values, means, strict=True):
        plot = Row(scale, ticks, f"{wording.setting(cell['levels'])}: {numbers.plural(len(runs), 'run')}")
        known = finite(runs)
        if mean and mean["value"] is not None:
            plot.span(mean["low"], mean["high"], "span mean")
        if known:
            plot.add("path", d="".join(f"M{scale(v):.1f} 3v{HEIGHT - 6:g}" for v in known), class_="stroke")
        if mean and mean["value"] is not None:
            plot.mark(mean["value"], "mark mean")
        if late := runs.count(math.inf):
            times = f"{numbers.INFINITE} {late}×"
            plot.text(WIDTH - 2, plot.middle + 5, times, anchor="end", cls="label")
        drawn.append(_svg(plot))
    return _time_axis(scale, ticks), drawn


def draw_pooled_intervals(effects: Sequence["PooledEffect"]) -> "tuple[Markup, list[Markup]]":
    """Draw intervals that account for runs, and within them intervals that treat requests as independent."""
    ends = finite(
        v for one in effects for v in (one["low"], one["high"], one["naive_low"], one["naive_high"])
    )
    scale = Scale(min([*ends, 0.0]) * 1.06, max([*ends, 0.0]) * 1.06, 16.0, WIDTH - 16)
    ticks = linear_ticks(scale.low, scale.high, 5)
    drawn = []
    for one in effects:
        plot = Row(scale, ticks, f"{one['term']}: {numbers.latency(one['value'])}")
        plot.add("path", d=f"M{scale(0.0):.1f} 0V{HEIGHT:g}", class_="zero")
        plot.span(one["low"], one["high"], "span")
        plot.span(one["naive_low"], one["naive_high"], "span naive")
        drawn.append(_svg(plot))
    return _time_axis(scale, ticks), drawn
