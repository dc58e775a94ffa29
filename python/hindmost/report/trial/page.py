"""The page of a trial: the sentence, the levels, their curve, and before and after as distributions."""

from __future__ import annotations

from functools import partial

from hindmost.report.common import numbers
from hindmost.report.common.axes import time_ticks
from hindmost.report.common.overlay import overlaid
from hindmost.report.common.sheet import drawing, render
from hindmost.report.common.svg import Plot, log10, log_domain
from hindmost.report.trial.terminal import columns, heads, row
from hindmost.store.trial import Level, Trial


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
    points = [
        (place, one["latency_us"][name], one["level"])
        for place, one in enumerate(document["levels"])
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
    x = plot.x(-0.5, len(document["levels"]) - 0.5)
    y = plot.y(*log_domain(values), log10)
    ticks = [(float(place), one["level"]) for place, one in enumerate(document["levels"])]
    plot.axes(x, y, x_ticks=ticks, y_ticks=time_ticks(y.low, y.high), x_title="level")
    plot.line([(x(place), y(one["value"])) for place, one, _ in points if one["value"]], "side c0")
    for place, one, level in points:
        value, low, high = one["value"], one["low"], one["high"]
        if low and high:
            plot.line([(x(place), y(low)), (x(place), y(high))], "side c0")
        if value:
            title = f"{level}: {name} {numbers.latency(value)}"
            plot.dot(
                x(place), y(value), cls="c0", title=title, radius=5.0 if place == document["best"] else 3.0
            )
    return str(plot)


def shown(document: Trial) -> list[Level]:
    """Before and after: the present state, and the best level where it is another."""
    levels, best = document["levels"], document["best"]
    return [levels[0], *([levels[best]] if best else levels[1:2])]


def latencies(document: Trial, width: float) -> str | None:
    """Draw the distribution of latency before and after."""
    sides = [(one["level"], one["distribution"]) for one in shown(document)]
    return overlaid("Latency before and after", sides, width)
