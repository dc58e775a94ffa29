"""The index page of a folder: its studies with links, and each target's trend over time."""

import math
from functools import partial
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from hindmost.commands.study.view.terminal import row
from hindmost.present import numbers, writing
from hindmost.present.axes import time_ticks
from hindmost.present.document import clean
from hindmost.present.sheet import drawing, render
from hindmost.present.svg import Plot, log10, log_domain

if TYPE_CHECKING:
    from hindmost.commands.study.document import Listing, StudyEntry

TRENDS = {"p50": "c0", "p99": "c2"}
MARKS = {
    "valid": "valid",
    "equivalent": "valid",
    "same": "valid",
    "found": "valid",
    "answered": "valid",
    "invalid": "invalid",
}


def render_listing_page(document: "Listing", root: str = ".") -> str:
    """Render the index page. `root` is the relative path from the page to the listed folder."""
    doc = cast("Listing", clean(document))
    rows = [
        (
            row(one),
            MARKS.get(one["verdict"] or "", "inconclusive"),
            quote(f"{root}/{one['folder']}/{one['page']}") if one["page"] else None,
        )
        for one in reversed(doc["studies"])
        if one["fault"] is None
    ]
    return render(
        "listing.html",
        doc=doc,
        rows=rows,
        faults=[one for one in doc["studies"] if one["fault"]],
        trends=[(name, drawing(partial(trend, found, name))) for name, found in groups(doc).items()],
    )


def groups(doc: "Listing") -> "dict[str, list[StudyEntry]]":
    """Return measurements of one target under one load, the oldest first. Single ones have no trend."""
    found: dict[str, list[StudyEntry]] = {}
    for one in doc["studies"]:
        if one["kind"] == "measure" and one["latency_us"]:
            rate = "flat out" if one["rate_per_s"] is None else numbers.rate(one["rate_per_s"])
            found.setdefault(f"{one['target']}, {one['load']}, {rate}", []).append(one)
    return {name: ones for name, ones in found.items() if len(ones) > 1}


def trend(studies: "list[StudyEntry]", name: str, width: float) -> str | None:
    """Draw p50 and p99 of each study with their intervals, in the order of the studies."""
    known = [
        us
        for one in studies
        for label in TRENDS
        if (found := one["latency_us"].get(label))
        for us in (found["value"], found["low"], found["high"])
        if us is not None and math.isfinite(us)
    ]
    if not known:
        return None
    plot = Plot(width, 240, f"Trend of {name}", top=14)
    x, y = plot.x(-0.5, len(studies) - 0.5), plot.y(*log_domain(known), log10)
    ticks = [(float(place), (one["created"] or "")[5:10]) for place, one in enumerate(studies)]
    plot.axes(x, y, x_ticks=ticks, y_ticks=time_ticks(y.low, y.high))
    for label, cls in TRENDS.items():
        line = []
        for place, one in enumerate(studies):
            found = one["latency_us"].get(label)
            if found is None or found["value"] is None:
                continue
            at = x(float(place))
            if found["low"] is not None and found["high"] is not None:
                plot.line([(at, y(found["low"])), (at, y(found["high"]))], f"side {cls}")
            when = writing.moment(one["created"] or "")
            title = f"{one['folder']}: {label} {numbers.latency(found['value'])}, {when}"
            plot.dot(at, y(found["value"]), cls=cls, title=title)
            line.append((at, y(found["value"])))
        plot.line(line, f"side thin {cls}")
    return str(plot)
