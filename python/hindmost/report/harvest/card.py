"""The reproduction card as Markdown, and as a page with its figures."""

from __future__ import annotations

from functools import partial

from hindmost.report.common.sheet import drawing, render
from hindmost.report.common.svg import Plot, Scale, linear_domain, linear_ticks, log10, log_domain, log_ticks
from hindmost.store.harvest import Card, Curve

FLOOR = 1e-12
"""What is below it, or nothing at all, stands at the foot of a logarithmic chart."""


def render_card(card: Card) -> str:
    """Write a row a figure."""
    rows = [
        f"| {one['figure']} | {one['paper']} | {one['ours']} | {one['verdict']} |" for one in card["entries"]
    ]
    head = [
        "# Chapter IV, reproduced",
        "",
        f"Synthetic data centers of {card['servers']:,} servers, made to the bands that the chapter"
        f" publishes; means of {card['seeds']} seeds (lowest to highest).",
        "",
        "| figure | paper | here | verdict |",
        "| --- | --- | --- | --- |",
    ]
    return "\n".join([*head, *rows]) + "\n"


def render_card_page(card: Card) -> str:
    """Write the page: one HTML file with everything inside, without scripts."""
    figures = [
        (one, drawing(partial(draw, one)), [line["name"] for line in one["series"]]) for one in card["curves"]
    ]
    return render("harvest.html", doc=card, figures=figures)


def draw(curve: Curve, width: float) -> str | None:
    """Draw a figure: a line a series, with its range over seeds."""
    points = [point for line in curve["series"] for point in line["points"]]
    if not points:
        return None
    plot = Plot(width, 300, curve["title"], top=24)
    plot.text(4, 12, curve["y"], cls="name")
    places = sorted({point["x"] for point in points})
    if curve["log"] and places[0] > 0 and places[-1] > 20 * places[0]:
        x = plot.x(places[0] / 1.2, places[-1] * 1.2, log10)
    else:
        air = 0.04 * (places[-1] - places[0]) or 1.0
        x = plot.x(places[0] - air, places[-1] + air)
    y, y_ticks = _vertical(plot, curve, [point[end] for point in points for end in ("low", "mean", "high")])
    plot.axes(x, y, x_ticks=[(at, f"{at:g}") for at in places], y_ticks=y_ticks, x_title=curve["x"])
    for number, line in enumerate(curve["series"]):
        plot.line([(x(one["x"]), y(one["mean"])) for one in line["points"]], f"side c{number}")
        for one in line["points"]:
            if one["high"] > one["low"]:
                plot.line([(x(one["x"]), y(one["low"])), (x(one["x"]), y(one["high"]))], f"side c{number}")
            title = (
                f"{line['name']} at {one['x']:g}: {one['mean']:.3g} ({one['low']:.3g} to {one['high']:.3g})"
            )
            plot.dot(x(one["x"]), y(one["mean"]), cls=f"c{number}", title=title)
    return str(plot)


def _vertical(plot: Plot, curve: Curve, values: list[float]) -> tuple[Scale, list[tuple[float, str]]]:
    if not curve["log"]:
        y = plot.y(*linear_domain(values, zero=min(values) >= 0.0))
        return y, [(at, f"{at:g}") for at in linear_ticks(y.low, y.high)]
    positive = [one for one in values if one > FLOOR] or [1.0]
    low, high = log_domain(positive, FLOOR)
    foot = low / 3 if len(positive) < len(values) else low
    y = plot.y(foot, high, _log)
    powers = [at for at in _powers(foot, high) if at >= low]
    ticks = [(at, f"{at:.0e}" if at < 1e-3 else f"{at:g}") for at in powers]
    return y, [*([(foot, "none")] if foot < low else []), *ticks]


def _log(value: float) -> float:
    return log10(max(value, FLOOR) * 1e6)


def _powers(low: float, high: float) -> list[float]:
    """Powers of ten in a range, or finer ticks where there are none; `log_ticks` ends at a millionth."""
    scale = 1e12
    return [at / scale for at in log_ticks(low * scale, high * scale)]
