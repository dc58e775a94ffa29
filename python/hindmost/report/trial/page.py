"""The page of a trial: the sentence, the levels, their curve, and before and after as distributions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from hindmost.plan.levels import numbers_of
from hindmost.report.common import numbers
from hindmost.report.common.axes import time_ticks
from hindmost.report.common.overlay import draw_overlay
from hindmost.report.common.sheet import drawing, render
from hindmost.report.common.svg import Plot, log10, log_domain, log_ticks
from hindmost.report.trial.terminal import columns, heads, rounds, row, together
from hindmost.store.trial import Level, Trial


def render_trial_page(document: Trial) -> str:
    """Write the page: one HTML file with everything inside, without scripts."""
    decided = document["verdict"] != "undecided"
    return render(
        "trial.html",
        doc=document,
        mark="valid" if decided else "inconclusive",
        word="decided" if decided else "open",
        heads=heads(document),
        rows=[row(document, place) for place in range(len(document["levels"]))],
        figures=[
            (name, chart)
            for name in columns(document)
            if (chart := drawing(partial(by_level, document, name)))
        ],
        rounds=rounds(document),
        together=together(document) if document["comparisons"] > 1 else "",
        ratios=drawing(partial(ratios, document)),
        latencies=drawing(partial(latencies, document)),
        names=[one["level"] for one in shown(document)],
    )


def by_level(document: Trial, name: str, width: float) -> str | None:
    """Draw one figure of latency against the levels, with intervals over rounds."""
    places = _places(document)
    points = [
        (place, one["latency_us"][name], one["level"])
        for place, one in zip(places, document["levels"], strict=True)
        if one["latency_us"][name]["value"] is not None
    ]
    ends = [(end, one) for _, one, _ in points for end in ("low", "high")]
    values = [value for end, one in ends if (value := one[end])] + [  # type: ignore[literal-required]
        one["value"] for _, one, _ in points if one["value"]
    ]
    if not values:
        return None
    plot = Plot(width, 240, f"{name} of latency by level", top=24)
    plot.text(4, 12, "standard deviation" if name == "sd" else name, cls="name")
    x = plot.x(*_span(places))
    y = plot.y(*log_domain(values), log10)
    ticks = sorted((place, one["level"]) for place, one in zip(places, document["levels"], strict=True))
    plot.axes(x, y, x_ticks=ticks, y_ticks=time_ticks(y.low, y.high), x_title="level")
    line = sorted((place, one["value"]) for place, one, _ in points if one["value"])
    plot.line([(x(place), y(value)) for place, value in line], "side c0")
    best = None if document["best"] is None else places[document["best"]]
    for place, one, level in points:
        value, low, high = one["value"], one["low"], one["high"]
        if low and high:
            plot.line([(x(place), y(low)), (x(place), y(high))], "side c0")
        if value:
            title = f"{level}: {name} {numbers.latency(value)}"
            plot.dot(x(place), y(value), cls="c0", title=title, radius=5.0 if place == best else 3.0)
    return str(plot)


def ratios(document: Trial, width: float) -> str | None:
    """Draw the figure that is to be low as a ratio to the present state, which no drift of the host bends."""
    by, places = document["by"], _places(document)
    points = [
        (place, one["against"][by]["ratio"], one["level"])
        for place, one in zip(places, document["levels"], strict=True)
        if by in one["against"]
    ]
    if len(points) < 2:
        return None
    values = [1.0, *(v for _, one, _ in points for v in (one["value"], one["low"], one["high"]) if v)]
    plot = Plot(width, 240, f"{by} by level, as a ratio to {document['levels'][0]['level']}", top=24)
    plot.text(4, 12, f"{by} / {document['levels'][0]['level']}", cls="name")
    x = plot.x(*_span(places))
    y = plot.y(*log_domain(values), log10)
    ticks = sorted((place, one["level"]) for place, one in zip(places, document["levels"], strict=True))
    plot.axes(x, y, x_ticks=ticks, y_ticks=[(t, f"{t:g}") for t in log_ticks(y.low, y.high)], x_title="level")
    plot.line([(x(x.low), y(1.0)), (x(x.high), y(1.0))], "fair")
    line = sorted([(places[0], 1.0), *((place, one["value"]) for place, one, _ in points)])
    plot.line([(x(place), y(value)) for place, value in line], "side c0")
    best = None if document["best"] is None else places[document["best"]]
    for place, one, level in points:
        if one["low"] and one["high"]:
            plot.line([(x(place), y(one["low"])), (x(place), y(one["high"]))], "side c0")
        title = f"{level}: {one['value']:.2f} of the present state"
        plot.dot(x(place), y(one["value"]), cls="c0", title=title, radius=5.0 if place == best else 3.0)
    return str(plot)


def _places(document: Trial) -> list[float]:
    """Where levels stand on an axis: numbers of one unit where they are, else one next to the other."""
    found = numbers_of([one["level"] for one in document["levels"]])
    return [float(place) for place in range(len(document["levels"]))] if found is None else found[0]


def _span(places: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis, with a margin."""
    margin = (max(places) - min(places)) / max(2, 2 * (len(places) - 1)) or 0.5
    return min(places) - margin, max(places) + margin


def shown(document: Trial) -> list[Level]:
    """Before and after: the present state and the best of the others, which may be no better."""
    levels, by = document["levels"], document["by"]
    if document["best"]:
        return [levels[0], levels[document["best"]]]
    known = [one for one in levels[1:] if one["latency_us"][by]["value"] is not None]
    return [levels[0], *sorted(known, key=lambda one: one["latency_us"][by]["value"] or 0.0)[:1]]


def latencies(document: Trial, width: float) -> str | None:
    """Draw the distribution of latency before and after."""
    sides = [(one["level"], one["distribution"]) for one in shown(document)]
    return draw_overlay("Latency before and after", sides, width)
