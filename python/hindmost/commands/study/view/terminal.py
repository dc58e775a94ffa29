"""A list of studies for the terminal, one line per study."""

import math
from typing import TYPE_CHECKING, cast

from hindmost.present import numbers, writing
from hindmost.present.columns import align_columns
from hindmost.present.document import clean

if TYPE_CHECKING:
    from hindmost.commands.study.document import Listing, StudyEntry

HEADS = ("date", "kind", "target", "rate", "p99", "verdict", "study")
TARGET = 28


def render_listing(document: "Listing") -> str:
    """Render a document ``hindmost.list/1`` as text."""
    doc = cast("Listing", clean(document))
    good = [one for one in doc["studies"] if one["fault"] is None]
    lines = align_columns([HEADS, *map(row, good)], "<<<>><<") if good else [f"no studies in {doc['folder']}"]
    lines += [
        f"unreadable: {one['folder']}: {one['fault']['text']}" for one in doc["studies"] if one["fault"]
    ]
    return "\n".join(line.rstrip() for line in lines)


def row(one: "StudyEntry") -> tuple[str, ...]:
    """Return the cells of a study, for text and page."""
    return (
        writing.moment(one["created"] or ""),
        one["kind"] or numbers.MISSING,
        numbers.cut(one["target"] or numbers.MISSING, TARGET),
        "flat out" if one["rate_per_s"] is None else numbers.rate(one["rate_per_s"]),
        figure(one, "p99"),
        "running" if one["busy"] else one["verdict"] or "no answer",
        one["folder"],
    )


def figure(one: "StudyEntry", name: str) -> str:
    """Format a percentile of a study with its interval."""
    found = one["latency_us"].get(name)
    if found is None:
        return numbers.MISSING
    value, low, high = found["value"], found["low"], found["high"]
    if value is None or value == math.inf or low is None:
        return numbers.latency(value)
    unit = numbers.unit_for([value])
    written = numbers.interval(value, low, high, unit)
    return f"{written.value} [{written.low}, {written.high}]{numbers.THIN}{unit.name}"
