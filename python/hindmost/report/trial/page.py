"""The page of a trial: the sentence, the levels, their curve, and before and after as distributions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from hindmost.report.common import numbers
from hindmost.report.common.axes import time_ticks
from hindmost.report.common.overlay import overlaid
from hindmost.report.common.sheet import drawing, render
from hindmost.report.common.svg import Plot, log10, log_domain
from hindmost.report.trial.terminal import columns, heads, row
from hindmost.store.trial import Level, Trial

_NUMBER = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)\s*([^0-9\s]*)")


def render_trial_page(document: Trial) -> str:
    """Write the page: one HTML file with everything inside, without scripts."""
    decided = document["best"] == 0 or document["keep"] is not None
    return render(
        "trial.html",
        doc=document,
        mark="valid" if document["rounds"] and decided else "inconclusive",
        word="decided" if document["rounds"] and decided else "open",
        heads=heads(document),
        rows=[row(document, place) for place in range(len(document["levels"]))],
        figures=[
            (name, chart)
            for name in columns(document)
            if (chart := drawing(partial(by_level, document, name)))
        ],
        latencies=drawing(partial(latencies, document)),
        names=[one["level"] for one in shown(document)],
    )


def by_level(document: Trial, name: str, width: float) -> str | None:
    """Draw one figure of latency against the levels, with intervals over rounds."""
    places = places_of([one["level"] for one in document["levels"]])
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
    margin = (max(places) - min(places)) / max(2, 2 * (len(places) - 1)) or 0.5
    x = plot.x(min(places) - margin, max(places) + margin)
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


def places_of(levels: Sequence[str]) -> list[float]:
    """Where levels stand on an axis: numbers of one unit where they are, else one beside the other.

    >>> places_of(["0us", "160us", "40us"])
    [0.0, 160.0, 40.0]
    >>> places_of(["off", "10us"]), places_of(["1ms", "10us"])
    ([0.0, 1.0], [0.0, 1.0])
    """
    found = [_NUMBER.fullmatch(level) for level in levels]
    numbers_ = [float(one[1]) for one in found if one]
    units = {one[2] for one in found if one and float(one[1])}
    if len(numbers_) < len(levels) or len(units) > 1 or len(set(numbers_)) < len(levels):
        return [float(place) for place in range(len(levels))]
    return numbers_


def shown(document: Trial) -> list[Level]:
    """Before and after: the present state, and the best level where it is another."""
    levels, best = document["levels"], document["best"]
    return [levels[0], *([levels[best]] if best else levels[1:2])]


def latencies(document: Trial, width: float) -> str | None:
    """Draw the distribution of latency before and after."""
    sides = [(one["level"], one["distribution"]) for one in shown(document)]
    return overlaid("Latency before and after", sides, width)
