"""Small charts in the rows of a table, all on one axis, which is drawn in the table's head."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hindmost.commands.attribute.document import Effect, PooledEffect, Prediction
from hindmost.commands.attribute.view import wording
from hindmost.core.store.estimates import Value
from hindmost.present import numbers
from hindmost.present.blocks import Cell
from hindmost.present.numbers import finite
from hindmost.present.svg import Plot, Scale, linear, linear_domain, linear_ticks, log10, log_ticks

WIDTH, HEIGHT, AXIS = 220.0, 22.0, 20.0
START, END = 16.0, WIDTH - 16.0
WIDE_RANGE = 5.0
"""Ratio of the largest to the smallest value above which a time axis is logarithmic."""
Charts = tuple[Cell, list[Cell]]
"""The axis for the table's head, and the chart of each row."""


class Row(Plot):
    """A chart with the height of one line of text."""

    def __init__(self, scale: Scale, ticks: Sequence[float], title: str) -> None:
        super().__init__(WIDTH, HEIGHT, title)
        self.scale = scale
        self.middle = HEIGHT / 2
        for tick in ticks:
            self.rule(tick, "grid")

    def rule(self, value: float, cls: str) -> None:
        """Draw a vertical line."""
        self.add("path", d=f"M{self.scale(value):.1f} 0V{HEIGHT:g}", class_=cls)

    def span(self, low: float | None, high: float | None, cls: str) -> None:
        """Draw an interval. An interval without an end extends to the edge."""
        if not wording.is_known(low) and not wording.is_known(high):
            return
        start = self.scale(low if wording.is_known(low) else self.scale.low)
        end = self.scale(high if wording.is_known(high) else self.scale.high)
        self.line([(start, self.middle), (end, self.middle)], cls)

    def mark(self, value: float | None, cls: str) -> None:
        """Draw a value. An infinite value is a sign at the edge."""
        if not wording.is_known(value):
            return
        if math.isinf(value):
            self.text(self.scale.end, self.middle + 5, numbers.INFINITE, anchor="end", cls="infinite")
        else:
            self.dot(self.scale(value), self.middle, cls=cls, radius=4.0)

    def cell(self) -> Cell:
        """Return the chart as a cell."""
        return Cell("", svg=str(self))


def _axis(scale: Scale, ticks: Sequence[float], texts: Sequence[str], title: str) -> Cell:
    plot = Plot(WIDTH, AXIS, title)
    edge = -math.inf
    for tick, text in zip(ticks, texts, strict=True):
        at, half = scale(tick), 3.9 * len(text)
        plot.add("path", d=f"M{at:.1f} {AXIS - 4:g}v4", class_="axis")
        if at - half > max(edge, 0.0) and at + half < WIDTH:
            plot.text(at, 11, text, anchor="middle", cls="tick")
            edge = at + half + 3
    return Cell("", svg=str(plot))


def _time_axis(scale: Scale, ticks: Sequence[float]) -> Cell:
    return _axis(scale, ticks, [wording.tick(tick) for tick in ticks], "axis of latency")


def _time_scale(values: Sequence[float]) -> tuple[Scale, list[float]]:
    positive = [value for value in values if value > 0]
    if positive and max(positive) / min(positive) > WIDE_RANGE:
        scale = Scale(min(positive) / 1.1, max(positive) * 1.1, START, END, log10)
        return scale, log_ticks(scale.low, scale.high)
    scale = Scale(*linear_domain(values), START, END, linear)
    return scale, linear_ticks(scale.low, scale.high, 5)


def _zero_scale(values: Sequence[float]) -> tuple[Scale, list[float]]:
    scale = Scale(min([*values, 0.0]) * 1.06, max([*values, 0.0]) * 1.06, START, END)
    return scale, linear_ticks(scale.low, scale.high, 5)


_FARTHEST = 100.0
"""Largest ratio on an axis. Intervals beyond it extend to the edge."""
_TIMES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0, 1.25, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)


def _of_share(share: float) -> float:
    return math.log(max(1.0 + share, 1.0 / _FARTHEST))


def share_scale(
    shares: Sequence[float], start: float, end: float, *, ratio: bool
) -> tuple[Scale, list[float]]:
    """Return a scale for shares, with its ticks.

    On a ratio scale, half as long and twice as long are equally far from no effect.
    """
    low, high = min([*shares, 0.0]), max([*shares, 0.0])
    if not ratio:
        scale = Scale(low * 1.06, high * 1.06, start, end)
        return scale, linear_ticks(scale.low, scale.high, 5)
    low, high = max(low, 1.0 / _FARTHEST - 1.0), min(high, _FARTHEST - 1.0)
    scale = Scale(low, high, start, end, _of_share)
    if high - low < 1.0:
        return scale, linear_ticks(low, high, 5)
    return scale, [t - 1.0 for t in _TIMES if low <= t - 1.0 <= high]


def forest(effects: Sequence[Effect], delta: float, *, ratio: bool) -> Charts:
    """Draw the interval of each effect, as a share, over the band of effects too small to matter."""
    ends = finite(end for one in effects for end in (one.share_low, one.share_high))
    scale, ticks = share_scale([*ends, -delta, delta], START, END, ratio=ratio)
    drawn = []
    for one in effects:
        cls = f"mark {wording.EFFECT_TONES[one.verdict]}"
        plot = Row(scale, ticks, f"{one.term}: {wording.percent(one.share)}, {wording.VERDICTS[one.verdict]}")
        plot.bar((scale(-delta), 0.0, scale(delta) - scale(-delta), HEIGHT), cls="band")
        plot.rule(0.0, "axis")
        plot.span(one.share_low, one.share_high, cls)
        plot.mark(one.share, cls)
        drawn.append(plot.cell())
    texts = [wording.share_tick(tick, ratio=ratio) for tick in ticks]
    return _axis(scale, ticks, texts, "axis of effects, as shares"), drawn


def changes(effects: Sequence[tuple[str, Value]]) -> Charts:
    """Draw effects in microseconds, each with a title."""
    ends = finite(end for _, one in effects for end in wording.ends(one))
    scale, ticks = _zero_scale(ends)
    drawn = []
    for title, one in effects:
        cls = f"mark {'invalid' if (one.value or 0.0) > 0.0 else 'valid'}"
        plot = Row(scale, ticks, title)
        plot.rule(0.0, "axis")
        plot.span(one.low, one.high, cls)
        plot.mark(one.value, cls)
        drawn.append(plot.cell())
    return _time_axis(scale, ticks), drawn


def predictions(rows: Sequence[tuple[Prediction, bool]]) -> Charts:
    """Draw the predicted latency of each cell (Treadmill, Figure 7), and whether it may be the best."""
    scale, ticks = _time_scale(finite(end for one, _ in rows for end in (one.value, one.low, one.high)))
    drawn = []
    for one, first in rows:
        cls = f"mark {'valid' if first else ''}"
        plot = Row(scale, ticks, wording.setting(one.levels))
        plot.span(one.low, one.high, cls)
        plot.mark(one.value, cls if one.run else "hollow")
        drawn.append(plot.cell())
    return _time_axis(scale, ticks), drawn


def strips(rows: Sequence[tuple[str, Sequence[float | None], Value | None]]) -> Charts:
    """Draw each run of a row as a short stroke, and the mean with its interval."""
    ends = finite(value for _, runs, mean in rows for value in (*runs, mean.value if mean else None))
    scale, ticks = _time_scale(ends)
    drawn = []
    for name, runs, mean in rows:
        plot = Row(scale, ticks, f"{name}: {numbers.plural(len(runs), 'run')}")
        if mean and mean.value is not None:
            plot.span(mean.low, mean.high, "latency")
        if strokes := "".join(f"M{scale(value):.1f} 3v{HEIGHT - 6:g}" for value in finite(runs)):
            plot.add("path", d=strokes, class_="axis")
        if mean:
            plot.mark(mean.value, "latency dot")
        if late := runs.count(math.inf):
            times = f"{numbers.INFINITE} {late}×"
            plot.text(WIDTH - 2, plot.middle + 5, times, anchor="end")
        drawn.append(plot.cell())
    return _time_axis(scale, ticks), drawn


def pooled_intervals(effects: Sequence[PooledEffect]) -> Charts:
    """Draw intervals that account for runs, and within them intervals that treat requests as independent."""
    ends = finite(end for one in effects for end in (one.low, one.high, one.naive_low, one.naive_high))
    scale, ticks = _zero_scale(ends)
    drawn = []
    for one in effects:
        plot = Row(scale, ticks, f"{one.term}: {numbers.latency(one.value)}")
        plot.rule(0.0, "axis")
        plot.span(one.low, one.high, "capture")
        plot.span(one.naive_low, one.naive_high, "latency")
        drawn.append(plot.cell())
    return _time_axis(scale, ticks), drawn
