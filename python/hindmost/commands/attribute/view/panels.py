"""Charts side by side, one per quantile or pair: average effects, interactions, before and after, drift."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from hindmost.commands.attribute.view import wording
from hindmost.commands.attribute.view.rows import share_scale
from hindmost.present import numbers
from hindmost.present.document import finite
from hindmost.present.svg import Plot, Scale, linear_domain, linear_ticks

if TYPE_CHECKING:
    from markupsafe import Markup

    from hindmost.commands.attribute.document import Attribution, Confirmation, Drift, Effect, Reversal

COLOURS = 8


def _svg(plot: Plot) -> "Markup":
    from markupsafe import Markup

    return Markup(str(plot))


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _time_axis(y: Scale) -> list[tuple[float, str]]:
    return [(t, numbers.tick(t)) for t in linear_ticks(y.low, y.high, 4)]


Coding = Literal["average", "corner"]


def coding(document: "Attribution") -> Coding:
    """Return ``average`` if any answer has average effects to draw, else ``corner``."""
    answers = [answer for load in document["loads"] for answer in load["quantiles"].values()]
    return "average" if any(answer["average"] for answer in answers) else "corner"


def factors_alone(document: "Attribution", label: str) -> "Markup | None":
    """Draw the effect of each factor alone at each load, as a share (Treadmill, Figure 8)."""
    which = coding(document)
    factors = {one["name"]: one for one in document["factors"]}
    rows: dict[str, list[tuple[int, Effect]]] = {}
    for place, load in enumerate(document["loads"]):
        answer = load["quantiles"].get(label)
        for one in answer[which] if answer else []:
            if len(one["factors"]) == 1:
                rows.setdefault(wording.term(one, factors), []).append((place, one))
    if not rows:
        return None
    delta = document["delta"] or 0.0  # delta in time units is a different share at each load
    every = [one for found in rows.values() for _, one in found]
    ends = finite(v for one in every for v in (one["share_low"], one["share_high"]))
    step = 14.0 * len(document["loads"]) + 24.0
    plot = Plot(
        330, 34 + step * len(rows) + 40, f"Effects of each factor on {label}", left=22, right=22, top=30
    )
    ratio = document["scale"] == "ratio"
    x, ticks = share_scale([*ends, -delta, delta], plot.left, plot.width - plot.right, ratio=ratio)
    plot.text(0, 14, label, cls="name")
    bottom = plot.height - plot.bottom
    plot.bar((x(-delta), plot.top, x(delta) - x(-delta), bottom - plot.top), cls="band")
    edge = -math.inf
    for value in ticks:
        text = wording.share_tick(value, ratio=ratio)
        plot.add("path", d=f"M{x(value):.1f} {plot.top}V{bottom:.1f}", class_="grid")
        half = 3.9 * len(text)
        if x(value) - half > edge:
            plot.text(x(value), bottom + 18, text, anchor="middle", cls="tick")
            edge = x(value) + half + 4
    plot.add("path", d=f"M{x(0.0):.1f} {plot.top}V{bottom:.1f}", class_="zero")
    for number, (name, found) in enumerate(rows.items()):
        top = plot.top + 4 + step * number
        plot.text(12, top + 12, _short(name, 46))
        for place, one in found:
            at, cls = top + 24 + 14 * place, f"i{place % COLOURS}"
            low, high = one["share_low"], one["share_high"]
            if low is not None and high is not None:
                plot.line([(x(low), at), (x(high), at)], f"pair {cls}")
            share, verdict = wording.percent(one["share"]), wording.verdict(one)
            text = f"{document['loads'][place]['name']}: {share}, {verdict}"
            if one["share"] is not None:
                plot.dot(x(one["share"]), at, cls=cls, title=text, radius=4.0)
    title = "change from the first level" if ratio else "share of the mean of all cells"
    plot.text((x.start + x.end) / 2, plot.height - 4, title, anchor="middle", cls="name")
    return _svg(plot)


def interaction(one: "Reversal", label: str, load: str) -> "Markup":
    """Draw the effect of one factor at each level of another, with the line of no effect."""
    effects = one["effects_us"]
    values = finite(v for e in effects for v in (e["value"], e["low"], e["high"]))
    plot = Plot(300, 210, one["text"], left=62, right=14, top=30, bottom=44)
    plot.text(0, 14, _short(f"effect of {one['factor']} on {label}, {load}", 44), cls="name")
    low, high = linear_domain([*values, 0.0])
    x, y = plot.x(-0.5, len(effects) - 0.5), plot.y(low, high)
    plot.axes(
        x,
        y,
        x_ticks=[(place, _short(level, 16)) for place, level in enumerate(one["at"])],
        y_ticks=[(t, wording.tick(t, sign=True)) for t in linear_ticks(y.low, y.high, 4)],
        x_title=_short(one["by"], 40),
    )
    plot.add("path", d=f"M{x.start} {y(0.0):.1f}H{x.end}", class_="zero")
    known = [(place, e["value"]) for place, e in enumerate(effects) if e["value"] is not None]
    plot.line([(x(place), y(value)) for place, value in known], "pair thin i0")
    for place, e in enumerate(effects):
        if e["value"] is None:
            continue
        cls = "raises" if e["value"] > 0 else "lowers"
        if e["low"] is not None and e["high"] is not None:
            plot.line([(x(place), y(e["low"])), (x(place), y(e["high"]))], f"span {cls}")
        title = f"{one['by']} = {one['at'][place]}: {numbers.latency(e['value'])}"
        plot.dot(x(place), y(e["value"]), cls=f"mark {cls}", title=title, radius=4.5)
    return _svg(plot)


def before_after(one: "Confirmation", label: str) -> "Markup | None":
    """Draw the fresh runs of both settings with their means (Treadmill, Figure 12)."""
    sides = [("before", one["before"]), ("after", one["after"])]
    values = finite(v for _, side in sides for v in side["values"].get(label, []))
    if not values:
        return None
    plot = Plot(260, 240, f"{label} of the runs before and after", left=62, right=10, top=30, bottom=28)
    plot.text(0, 14, label, cls="name")
    x, y = plot.x(-0.5, 1.5), plot.y(*_axis_range(values, one, label))
    plot.axes(x, y, x_ticks=[(0.0, "before"), (1.0, "after")], y_ticks=_time_axis(y))
    for place, (name, side) in enumerate(sides):
        runs = side["values"].get(label, [])
        for shift, value in zip(spread(runs, y), runs, strict=True):
            if value is not None and value != math.inf:
                plot.dot(
                    x(place) + shift,
                    y(value),
                    cls="single",
                    title=f"{name}: {numbers.latency(value)}",
                    radius=2.6,
                )
        if infinite := runs.count(math.inf):
            plot.text(
                x(place), plot.top + 4, f"{numbers.INFINITE} {infinite}×", anchor="middle", cls="infinite"
            )
        mean = side["latency_us"].get(label)
        if mean and mean["value"] is not None:
            at = x(place) + 38
            if mean["low"] is not None and mean["high"] is not None:
                plot.line([(at, y(mean["low"])), (at, y(mean["high"]))], "span mean")
            plot.dot(
                at,
                y(mean["value"]),
                cls="mark mean",
                title=f"mean {numbers.latency(mean['value'])}",
                radius=4.5,
            )
    return _svg(plot)


def _axis_range(values: Sequence[float], one: "Confirmation", label: str) -> tuple[float, float]:
    """Return the axis range for runs and their means. Very wide intervals are cut off."""
    low, high = min(values), max(values)
    air = max(high - low, 0.02 * high) / 2
    means = [side["latency_us"].get(label) for side in (one["before"], one["after"])]
    ends = finite(end for mean in means if mean for end in (mean["low"], mean["high"]))
    return linear_domain([*values, *(min(max(end, low - air), high + air) for end in ends)])


def spread(runs: Sequence[float | None], y: Scale, apart: float = 5.4) -> list[float]:
    """Return a sideways shift for each dot, in pixels, so that no two dots overlap (a beeswarm)."""
    shifts = [0.0] * len(runs)
    placed: list[tuple[float, float]] = []
    known = [(y(v), place) for place, v in enumerate(runs) if v is not None and v != math.inf]
    for at, place in sorted(known):
        near = [(x, other) for x, other in placed if abs(other - at) < apart]
        tries = (sign * step * apart / 3 for step in range(24) for sign in (1, -1))
        free = (t for t in tries if all(math.hypot(t - x, other - at) >= apart for x, other in near))
        shifts[place] = next(free, 0.0)
        placed.append((shifts[place], at))
    return shifts


def drift(one: "Drift", name: str) -> "Markup | None":
    """Draw the control's value for each block."""
    values = finite(one["values"])
    if not values:
        return None
    title = f"{one['quantile']} of the control over the blocks, at {name}"
    plot = Plot(330, 200, title, left=62, right=14, top=30)
    plot.text(0, 14, f"{one['quantile']} at {_short(name, 40)}", cls="name")
    x, y = plot.x(0.5, len(one["values"]) + 0.5), plot.y(*linear_domain(values))
    step = max(1, math.ceil(len(one["values"]) / 10))
    plot.axes(
        x,
        y,
        x_ticks=[(n, str(n)) for n in range(1, len(one["values"]) + 1, step)],
        y_ticks=_time_axis(y),
        x_title="block",
    )
    for block, value in enumerate(one["values"], 1):
        if value == math.inf:
            plot.text(x(block), y.end + 4, numbers.INFINITE, anchor="middle", cls="infinite")
        elif value is not None:
            plot.dot(
                x(block), y(value), cls="point", title=f"block {block}: {numbers.latency(value)}", radius=3.0
            )
    return _svg(plot)
