"""Charts of a diagnosis: the percentile over time, each suspect's share, each experiment's pairs."""

from __future__ import annotations

from collections.abc import Sequence

from hindmost.commands.diagnose.document import Correction, Diagnosis, Evidence, Pair, Search
from hindmost.present import numbers
from hindmost.present.axes import time_ticks
from hindmost.present.svg import Plot, Scale, linear_domain, linear_ticks, log10, log_domain

COLOURS = 8
ROW = 30.0
LABEL = 190.0
MOST_SHARE = 2.0
"""Largest share drawn, in both directions. The bounds of a noisy experiment can be extremely wide."""
CORRECTION = "with the correction"


def searches_of(doc: Diagnosis) -> list[Search]:
    """Return the searches in their order: on the replica, on the host, for the remaining slowdown."""
    return [one for one in (doc.replica, doc, doc.next) if one is not None]


def tested(part: Search) -> list[Evidence]:
    """Return what was tested: suspects and the sham."""
    return [*part.suspects, *([] if part.sham is None else [part.sham])]


def names_of(doc: Diagnosis) -> list[str]:
    """Return the names in the order of their colours: suspects, the sham, the correction."""
    return [*dict.fromkeys(one.name for part in searches_of(doc) for one in tested(part)), CORRECTION]


def colour_of(doc: Diagnosis, name: str) -> str:
    """Return the CSS class of a suspect, the sham or the correction, which is the same in all charts."""
    return f"c{names_of(doc).index(name) % COLOURS}"


def correction_pairs(doc: Diagnosis) -> list[Pair]:
    """Return all pairs with and without a correction."""
    corrections = [part.correction for part in (doc, doc.next) if part is not None and part.correction]
    return [pair for one in corrections for pair in one.measured or []]


def course(doc: Diagnosis, width: float) -> str | None:
    """Draw all pairs over time: the percentile with each suspect and without it."""
    drawn = [(pair, one.name) for part in searches_of(doc) for one in tested(part) for pair in one.measured]
    drawn += [(pair, CORRECTION) for pair in correction_pairs(doc)]
    if not drawn:
        return None
    plot = Plot(width, 260, f"p{doc.percentile:g} in the course of the diagnosis", top=24)
    plot.text(4, 12, f"p{doc.percentile:g}", cls="name")
    y = _latency_scale(plot, [pair for pair, _ in drawn], doc.normal_us)
    end = max(1.0, *(pair.at_s for pair, _ in drawn))
    x = plot.x(0.0, end)
    ticks = [(at, f"{at:g} s") for at in linear_ticks(0.0, end)]
    plot.axes(x, y, x_ticks=ticks, y_ticks=time_ticks(y.low, y.high), x_title="since the first pair")
    _normal(plot, y, doc.normal_us)
    for pair, name in drawn:
        _pair(plot, x(pair.at_s), y, pair, colour_of(doc, name), name)
    return str(plot)


def shares(doc: Diagnosis, part: Search, width: float) -> str | None:
    """Draw the share of the anomaly that each suspect explains, with bounds, and the two thresholds."""
    known = [(one, one.share) for one in part.suspects if one.share is not None]
    if not known:
        return None
    label = min(LABEL, 0.4 * width)
    plot = Plot(width, 46 + ROW * len(known), "Share of the anomaly", left=label, top=10)
    ends = [v for one, share in known for v in (share, one.share_low, one.share_high) if v is not None]
    low, high = linear_domain([*(min(MOST_SHARE, max(-MOST_SHARE, v)) for v in ends), 0.0, 1.0])
    x = plot.x(low, high)
    y = plot.y(0.0, float(len(known)))
    ticks = [(at, numbers.percent(at)) for at in linear_ticks(low, high)]
    plot.axes(x, y, x_ticks=ticks, y_ticks=[], x_title="share of the anomaly")
    for at, cls in (
        (doc.explains_above, "fair"),
        (doc.ruled_out_below, "fair"),
        (0.0, "axis"),
        (1.0, "axis"),
    ):
        plot.line([(x(at), y.start), (x(at), y.end)], cls)
    for place, (one, share) in enumerate(known):
        row, cls = y(len(known) - place - 0.5), colour_of(doc, one.name)
        plot.text(label - 10, row + 4, numbers.cut(one.name, int(label / 6.8)), anchor="end")
        floor = low if one.share_low is None else one.share_low
        top = high if one.share_high is None else one.share_high
        plot.line([(x(floor), row), (x(top), row)], f"side {cls}")
        plot.dot(x(share), row, cls=cls, title=f"{one.name}: {numbers.percent(share)}", radius=5.0)
    return str(plot)


def pairs(doc: Diagnosis, one: Evidence | Correction, width: float) -> str | None:
    """Draw an experiment: each pair is a line from the percentile with the suspect to that without it."""
    if not one.measured:
        return None
    name, title = CORRECTION, "Pairs without and with the correction"
    if isinstance(one, Evidence):
        name, title = one.name, f"Pairs with and without {one.name}"
    plot = Plot(width, 190, title)
    y = _latency_scale(plot, one.measured, doc.normal_us)
    most = max(pair.round for pair in one.measured)
    x = plot.x(0.5, most + 0.5)
    every = max(1, most // 10)
    ticks = [
        (float(number), str(number)) for number in range(1, most + 1) if number % every == 0 or most < 11
    ]
    plot.axes(x, y, x_ticks=ticks, y_ticks=time_ticks(y.low, y.high), x_title="pair")
    _normal(plot, y, doc.normal_us)
    for pair in one.measured:
        _pair(plot, x(pair.round), y, pair, colour_of(doc, name), f"pair {pair.round}")
    return str(plot)


def _latency_scale(plot: Plot, measured: Sequence[Pair], normal_us: float | None) -> Scale:
    values = [us for pair in measured for us in (pair.with_us, pair.without_us)]
    return plot.y(*log_domain(values if normal_us is None else [*values, normal_us]), log10)


def _normal(plot: Plot, y: Scale, normal_us: float | None) -> None:
    if normal_us is not None:
        plot.line([(plot.left, y(normal_us)), (plot.width - plot.right, y(normal_us))], "requested")


def _pair(plot: Plot, x: float, y: Scale, pair: Pair, cls: str, name: str) -> None:
    there, gone = y(pair.with_us), y(pair.without_us)
    figures = f"{name}: {numbers.latency(pair.with_us)} with, {numbers.latency(pair.without_us)} without"
    order = "without first" if pair.without_first else "with first"
    plot.line([(x, there), (x, gone)], "between")
    plot.dot(x, there, cls="hollow", title=f"{figures}; {order}")
    plot.dot(x, gone, cls=cls, title=f"{figures}; {order}", radius=4.0)
