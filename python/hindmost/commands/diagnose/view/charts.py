"""Charts of a diagnosis: the percentile over time, each suspect's share, each experiment's pairs."""

from __future__ import annotations

from collections.abc import Sequence

from hindmost.commands.diagnose.document import Diagnosis, Evidence, Next, Pair, Replica
from hindmost.present import numbers
from hindmost.present.axes import time_ticks
from hindmost.present.svg import Plot, Scale, linear_domain, linear_ticks, log10, log_domain

COLOURS = 8
ROW = 30.0
LABEL = 190.0
MOST_SHARE = 2.0
"""Largest share drawn, in both directions. The bounds of a noisy experiment can be extremely wide."""


def course(document: Diagnosis, width: float) -> str | None:
    """Draw all pairs over time: the percentile with each suspect and without it."""
    parts = parts_of(document)
    names = suspects_of(document)
    drawn = [
        (pair, names.index(one["name"]), one["name"])
        for part in parts
        for one in _tested_evidence(part)
        for pair in one["measured"]
    ]
    drawn += [
        (pair, len(names) - 1, CORRECTION)
        for corrected in (document, document["next"])
        if corrected is not None and corrected["correction"] is not None
        for pair in corrected["correction"].get("measured", [])
    ]
    if not drawn:
        return None
    title = f"p{document['percentile']:g} in the course of the diagnosis"
    plot = Plot(width, 260, title, top=24)
    plot.text(4, 12, f"p{document['percentile']:g}", cls="name")
    y = _latency_scale(plot, [pair for pair, _, _ in drawn], document["normal_us"])
    end = max(pair["at_s"] for pair, _, _ in drawn)
    x = plot.x(0.0, max(1.0, end))
    ticks = [(at, f"{at:g} s") for at in linear_ticks(0.0, max(1.0, end))]
    plot.axes(x, y, x_ticks=ticks, y_ticks=time_ticks(y.low, y.high), x_title="since the first pair")
    _normal(plot, y, document["normal_us"])
    for pair, place, name in drawn:
        _pair(plot, x(pair["at_s"]), y, pair, f"c{place % COLOURS}", name)
    return str(plot)


CORRECTION = "with the correction"


def suspects_of(document: Diagnosis) -> list[str]:
    """Return the names in the order of their colours: suspects, the sham, the correction."""
    every = [one["name"] for part in parts_of(document) for one in _tested_evidence(part)]
    return [*dict.fromkeys(every), CORRECTION]


def parts_of(document: Diagnosis) -> list[Replica | Diagnosis | Next]:
    """Return the searches in their order: on the replica, on the host, for the remaining slowdown."""
    following = document["next"]
    replica = [] if document["replica"] is None else [document["replica"]]
    return [*replica, document, *([] if following is None else [following])]


def _tested_evidence(part: Replica | Diagnosis | Next) -> list[Evidence]:
    return [*part["suspects"], *([] if part["sham"] is None else [part["sham"]])]


def shares(
    suspects: Sequence[Evidence], names: Sequence[str], gates: tuple[float, float], width: float
) -> str | None:
    """Draw the share of the anomaly that each suspect explains, with bounds, and the two thresholds."""
    known = [one for one in suspects if one["share"] is not None]
    if not known:
        return None
    label = min(LABEL, 0.4 * width)
    plot = Plot(width, 46 + ROW * len(known), "Share of the anomaly", left=label, top=10)
    ends = [v for one in known for v in (one["share"], one["share_low"], one["share_high"]) if v is not None]
    low, high = linear_domain([*(min(MOST_SHARE, max(-MOST_SHARE, v)) for v in ends), 0.0, 1.0])
    x = plot.x(low, high)
    y = plot.y(0.0, float(len(known)))
    ticks = [(at, numbers.percent(at)) for at in linear_ticks(low, high)]
    plot.axes(x, y, x_ticks=ticks, y_ticks=[], x_title="share of the anomaly")
    for at in gates:
        plot.line([(x(at), y.start), (x(at), y.end)], "fair")
    for at in (0.0, 1.0):
        plot.line([(x(at), y.start), (x(at), y.end)], "axis")
    for place, one in enumerate(known):
        row = y(len(known) - place - 0.5)
        cls = f"c{names.index(one['name']) % COLOURS}"
        plot.text(label - 10, row + 4, numbers.cut(one["name"], int(label / 6.8)), anchor="end")
        share, floor, top = one["share"], one["share_low"], one["share_high"]
        assert share is not None
        plot.line(
            [(x(low if floor is None else floor), row), (x(high if top is None else top), row)], f"side {cls}"
        )
        plot.dot(x(share), row, cls=cls, title=f"{one['name']}: {numbers.percent(share)}", radius=5.0)
    return str(plot)


def pairs(
    measured: Sequence[Pair], normal_us: float | None, cls: str, title: str, width: float
) -> str | None:
    """Draw an experiment: each pair is a line from the percentile with the suspect to that without it."""
    if not measured:
        return None
    plot = Plot(width, 190, title)
    y = _latency_scale(plot, measured, normal_us)
    most = max(pair["round"] for pair in measured)
    x = plot.x(0.5, most + 0.5)
    every = max(1, most // 10)
    ticks = [
        (float(number), str(number)) for number in range(1, most + 1) if number % every == 0 or most < 11
    ]
    plot.axes(x, y, x_ticks=ticks, y_ticks=time_ticks(y.low, y.high), x_title="pair")
    _normal(plot, y, normal_us)
    for pair in measured:
        _pair(plot, x(pair["round"]), y, pair, cls, f"pair {pair['round']}")
    return str(plot)


def _latency_scale(plot: Plot, measured: Sequence[Pair], normal_us: float | None) -> Scale:
    values = [us for pair in measured for us in (pair["with_us"], pair["without_us"])]
    return plot.y(*log_domain(values if normal_us is None else [*values, normal_us]), log10)


def _normal(plot: Plot, y: Scale, normal_us: float | None) -> None:
    if normal_us is not None:
        plot.line([(plot.left, y(normal_us)), (plot.width - plot.right, y(normal_us))], "requested")


def _pair(plot: Plot, x: float, y: Scale, pair: Pair, cls: str, name: str) -> None:
    there, gone = y(pair["with_us"]), y(pair["without_us"])
    figures = (
        f"{name}: {numbers.latency(pair['with_us'])} with, {numbers.latency(pair['without_us'])} without"
    )
    order = "without first" if pair["without_first"] else "with first"
    plot.line([(x, there), (x, gone)], "between")
    plot.dot(x, there, cls="hollow", title=f"{figures}; {order}")
    plot.dot(x, gone, cls=cls, title=f"{figures}; {order}", radius=4.0)
