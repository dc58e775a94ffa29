"""Stacked bars of the variance: between cells, between runs of a cell, and sampling within a run."""

from typing import TYPE_CHECKING

from hindmost.commands.attribute.view import wording
from hindmost.present import numbers
from hindmost.present.svg import Plot

if TYPE_CHECKING:
    from hindmost.commands.attribute.document import Attribution, VarianceShares

PARTS = (("cells", "i0"), ("runs", "i2"), ("sampling", "i7"))


def explained_variance(document: "Attribution") -> list[tuple[str, str, "VarianceShares"]]:
    """Return load, quantile and shares of the variance for which they are known."""
    return [
        (load["name"], label, found)
        for load in document["loads"]
        for label in wording.sort_quantiles(document, list(load["quantiles"]))
        if (found := load["quantiles"][label]["explained"])
    ]


def stack(document: "Attribution", width: float) -> str | None:
    """Draw a bar for each quantile at each load, with the ceiling and the model's share (Figure 11)."""
    rows = explained_variance(document)
    if not rows:
        return None
    plot = Plot(
        width, 30 + 34 * len(rows) + 40, "Variance of what runs report", left=110 if width > 500 else 84
    )
    x = plot.x(0.0, 1.0)
    bottom = plot.height - plot.bottom
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        plot.add("path", d=f"M{x(tick):.1f} {plot.top}V{bottom:.1f}", class_="grid")
        plot.text(x(tick), bottom + 18, numbers.percent(tick), anchor="middle", cls="tick")
    for number, (load, label, one) in enumerate(rows):
        top = plot.top + 8 + 34 * number
        name = f"{label}, {load}"
        room = 16 if width > 500 else 12
        plot.text(
            plot.left - 8, top + 15, name if len(name) <= room else f"{name[: room - 1]}…", anchor="end"
        )
        at = 0.0
        for part, cls in PARTS:
            share: float = one[part] or 0.0  # type: ignore[literal-required]
            box = (x(at), top, x(at + share) - x(at), 22.0)
            plot.bar(box, cls=cls, title=f"{name}: {part} {numbers.percent(share)}")
            at += share
        plot.add("path", d=f"M{x(one['ceiling']):.1f} {top - 4:g}v30", class_="ceiling")
        plot.dot(x(one["model"]), top + 11, cls="model", title=f"model: {numbers.percent(one['model'])}")
    plot.text(
        (x.start + x.end) / 2,
        plot.height - 4,
        "share of the variance between all runs",
        anchor="middle",
        cls="name",
    )
    return str(plot)
