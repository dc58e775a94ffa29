"""View of ``hindmost study list``: the studies with links, and each target's trend over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from urllib.parse import quote

from hindmost.commands.study.document import Listing, StudyEntry
from hindmost.present import numbers, writing
from hindmost.present.axes import time_ticks
from hindmost.present.blocks import Cell, Chart, Item, Items, Section, Table, Tone, View
from hindmost.present.svg import Plot, log10, log_domain

TRENDS = {"p50": "c0", "p99": "c2"}
GOOD = ("valid", "equivalent", "same", "found", "answered")
LONGEST_TARGET = 28


def view(doc: Listing, root: str = ".") -> View:
    """Return the view of a list of studies; `root`: path of the listed folder, relative to the page."""
    readable = [one for one in doc.studies if one.fault is None]
    faults = [
        Item(f"{one.folder}: {one.fault.text}", "unreadable", "invalid") for one in doc.studies if one.fault
    ]
    trends = [
        Chart(
            partial(trend, studies, name),
            f"{name}: each study with the interval over its runs, in the order of the studies.",
            [(f"side {cls}", label) for label, cls in TRENDS.items()],
        )
        for name, studies in groups(readable).items()
    ]
    heads = ("study", "date", "kind", "target", "rate", "p99", "verdict")
    amount = "1 study" if len(readable) == 1 else f"{numbers.count(len(readable))} studies"
    return View(
        title=f"Studies in {doc.folder}",
        word="",
        tone="",
        headline=f"{amount} in {doc.folder}",
        meta=(writing.moment(doc.created),),
        schema=doc.schema,
        blocks=[
            Section("Trends", trends),
            Table(heads, [_row(one, root) for one in readable], "<<<<>><"),
            Items(faults),
        ],
    )


def _row(one: StudyEntry, root: str) -> tuple[str | Cell, ...]:
    verdict = "running" if one.busy else one.verdict or "no answer"
    tone: Tone = "valid" if verdict in GOOD else "invalid" if verdict == "invalid" else "inconclusive"
    return (
        Cell(one.folder, link=quote(f"{root}/{one.folder}/{one.page}") if one.page else ""),
        writing.moment(one.created or ""),
        one.kind or numbers.MISSING,
        numbers.cut(one.target or numbers.MISSING, LONGEST_TARGET),
        _rate(one),
        _figure(one, "p99"),
        Cell(verdict, tone),
    )


def _rate(one: StudyEntry) -> str:
    return "flat out" if one.rate_per_s is None else numbers.rate(one.rate_per_s)


def _figure(one: StudyEntry, name: str) -> str:
    """Format a percentile of a study with its interval."""
    found = one.latency_us.get(name)
    if found is None:
        return numbers.MISSING
    value, low, high = found.value, found.low, found.high
    if value is None or value == math.inf or low is None:
        return numbers.latency(value)
    unit = numbers.unit_for([value])
    written = numbers.interval(value, low, high, unit)
    return f"{written.value} [{written.low}, {written.high}]{numbers.THIN}{unit.name}"


def groups(studies: Sequence[StudyEntry]) -> dict[str, list[StudyEntry]]:
    """Return measurements of one target under one load, the oldest first. Single ones have no trend."""
    found: dict[str, list[StudyEntry]] = {}
    for one in studies:
        if one.kind == "measure" and one.latency_us:
            found.setdefault(f"{one.target}, {one.load}, {_rate(one)}", []).append(one)
    return {name: ones for name, ones in found.items() if len(ones) > 1}


def trend(studies: Sequence[StudyEntry], name: str, width: float) -> str | None:
    """Draw p50 and p99 of each study with their intervals, in the order of the studies."""
    known = [
        us
        for one in studies
        for label in TRENDS
        if (found := one.latency_us.get(label))
        for us in (found.value, found.low, found.high)
        if us is not None and math.isfinite(us)
    ]
    if not known:
        return None
    plot = Plot(width, 240, f"Trend of {name}", top=14)
    x, y = plot.x(-0.5, len(studies) - 0.5), plot.y(*log_domain(known), log10)
    ticks = [(float(place), (one.created or "")[5:10]) for place, one in enumerate(studies)]
    plot.axes(x, y, x_ticks=ticks, y_ticks=time_ticks(y.low, y.high))
    for label, cls in TRENDS.items():
        line = []
        for place, one in enumerate(studies):
            found = one.latency_us.get(label)
            if found is None or found.value is None:
                continue
            at = x(float(place))
            if found.low is not None and found.high is not None:
                plot.line([(at, y(found.low)), (at, y(found.high))], f"side {cls}")
            when = writing.moment(one.created or "")
            title = f"{one.folder}: {label} {numbers.latency(found.value)}, {when}"
            plot.dot(at, y(found.value), cls=cls, title=title)
            line.append((at, y(found.value)))
        plot.line(line, f"side thin {cls}")
    return str(plot)
