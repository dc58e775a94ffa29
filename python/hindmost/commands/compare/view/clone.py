"""View of a comparison of a clone with its original: latency by load, ratios and their margins."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from hindmost.commands.compare.documents.clone import Outcome, Ratio, Verification, VerifiedPoint
from hindmost.commands.compare.view import clone_charts as charts
from hindmost.present import numbers, writing
from hindmost.present.blocks import Block, Chart, Item, Items, Section, Table, Text, Tone, View

VERDICTS: dict[Outcome, tuple[Tone, str]] = {
    "equivalent": ("valid", "every ratio lies within its margin"),
    "different": ("invalid", "at least one ratio lies outside its margin"),
    "open": ("inconclusive", "it takes more pairs, or a quieter machine, to decide"),
}
"""Tone and meaning of each verdict."""


def view(doc: Verification) -> View:
    """Return the view of a comparison of a clone with its original."""
    tone, meaning = VERDICTS[doc.verdict]
    return View(
        title=f"{doc.clone} against {doc.original}",
        word=doc.verdict,
        tone=tone,
        headline=f"{doc.clone} against {doc.original}, {numbers.plural(doc.threads, 'thread')}: {meaning}",
        meta=(f"capacity of the clone {numbers.rate(doc.capacity_per_s)}", writing.moment(doc.created)),
        schema=doc.schema,
        blocks=[*_charts(doc), Section("Numbers", [*_numbers(doc)])],
    )


def _charts(doc: Verification) -> Iterator[Section]:
    legend = [("side c0", "original"), ("side c2", "clone"), ("fair", "clone, simulated")]
    about = "of latency, from the scheduled time of a request; bars are 95 % intervals over runs."
    curves = [
        Chart(partial(charts.curve, doc, name), f"{name} {about}", () if place else legend)
        for place, name in enumerate(doc.margins)
    ]
    yield Section("Latency by load", curves)
    as_logged = ("side c3", "the same, with the cost of requests in the logs")
    floor = ("side c0", "original / itself, the noise floor")
    legend = [("side c2", "clone / original"), *([as_logged] if _has_costs(doc) else []), floor]
    about = "the band is the margin. A bar inside the band means equivalent, a bar outside means different."
    ratios = [
        Chart(partial(charts.ratios, doc, name), f"{name}: {about}", () if place else legend)
        for place, name in enumerate(doc.margins)
    ]
    yield Section("Ratios and margins", ratios)


def _numbers(doc: Verification) -> Iterator[Block]:
    has_costs = _has_costs(doc)
    heads = ("load", "rate", "", "original", "clone", "simulated", "clone / original", "")
    as_logged = ("as logged", "") if has_costs else ()
    rows = [row for point in doc.points for row in _rows(point, has_costs=has_costs)]
    sides = ">><>>>><><>" if has_costs else ">><>>>><>"
    yield Table((*heads, *as_logged, "original / itself"), rows, sides)
    margins = ", ".join(f"{name} {numbers.percent(margin)}" for name, margin in doc.margins.items())
    yield Text(f"{numbers.percent(doc.confidence)} intervals over pairs of runs; margins: {margins}", "muted")
    if has_costs:
        costs = [f"{numbers.percent(one.load)} {ratio(one.cost)}" for one in doc.points if one.cost]
        yield Text(
            f"CPU time per request of the original, relative to its logs: {'; '.join(costs)}. As logged:"
            " without the effect of that change on latency."
        )
    yield Items([Item(_describe(point)) for point in doc.points])


def _has_costs(doc: Verification) -> bool:
    return any(point.cost for point in doc.points)


def _describe(point: VerifiedPoint) -> str:
    text = (
        f"{numbers.percent(point.load)}: {numbers.plural(point.pairs, 'pair')},"
        f" {numbers.count(point.requests)} requests of the original"
    )
    if point.left_out:
        why = point.why.text if point.why else "interference"
        text += f"; {numbers.plural(point.left_out, 'pair')} excluded: {why}"
    return text


def _rows(point: VerifiedPoint, *, has_costs: bool) -> Iterator[tuple[str, ...]]:
    head = (numbers.percent(point.load), numbers.rate(point.rate_per_s))
    for name, one in point.figures.items():
        series_us = (one.original_us.value, one.clone_us.value, one.predicted_us.value)
        compared = (one.clone, one.as_logged) if has_costs else (one.clone,)
        yield (
            *head,
            name,
            *map(numbers.latency, series_us),
            *(text for side in compared for text in (ratio(side), side.outcome if side else "not known")),
            ratio(one.floor),
        )
        head = ("", "")


def ratio(one: Ratio | None) -> str:
    """Format a ratio and its interval."""
    if one is None:
        return numbers.MISSING
    if one.low is None:
        return f"{one.ratio:.3f}"
    return f"{one.ratio:.3f} [{one.low:.3f}, {one.high:.3f}]"
