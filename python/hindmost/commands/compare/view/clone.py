"""A clone and its original (``hindmost.verification/1``): the terminal view and the page."""

from functools import partial
from typing import TYPE_CHECKING

from hindmost.commands.compare.view import clone_charts as charts
from hindmost.present import numbers
from hindmost.present.columns import align_columns
from hindmost.present.sheet import drawing, render

if TYPE_CHECKING:
    from hindmost.commands.compare.documents.clone import Ratio, Verification

IN_WORDS = {
    "equivalent": "equivalent: every ratio lies within its margin",
    "different": "different: at least one ratio lies outside its margin",
    "open": "open: it takes more pairs, or a quieter machine, to decide",
}
HEADS = (
    "load",
    "rate",
    "",
    "original",
    "clone",
    "simulated",
    "clone / original",
    "",
    "as logged",
    "",
    "original / itself",
)
AS_LOGGED = slice(8, 10)
"""Columns that are shown only if the cost of a request in the logs is known."""

VERDICT_CLASSES = {"equivalent": "valid", "different": "invalid", "open": "inconclusive"}
"""CSS classes of verdicts."""


def render_verification(document: "Verification") -> str:
    """Write a document ``hindmost.verification/1`` for the terminal."""
    rows = [heads(document), *table(document)]
    points = document["points"]
    lines = [
        f"{document['clone']} against {document['original']},"
        f" {numbers.plural(document['threads'], 'thread')}",
        f"{IN_WORDS[document['verdict']]} (margins: {margins(document)})",
        "",
        *(line.rstrip() for line in align_columns(rows, ">><>>>" + "<" * (len(rows[0]) - 6))),
        "",
        f"{numbers.percent(document['confidence'])} intervals over pairs of runs; requests of the original:"
        f" {', '.join(numbers.count(point['requests']) for point in points)}",
    ]
    costs = [
        f"{numbers.percent(point['load'])} {ratio(cost)}"
        for point in points
        if (cost := point["cost"]) is not None
    ]
    if costs:
        lines.append(f"CPU time per request of the original, relative to its logs: {'; '.join(costs)}")
        lines.append('"as logged": without the effect of that change on latency')
    for point in points:
        if point["left_out"]:
            lines.append(
                f"at {numbers.percent(point['load'])} {numbers.plural(point['left_out'], 'pair')} excluded:"
                f" {point['why']['text'] if point['why'] else 'interference'}"
            )
    return "\n".join(lines)


def render_verification_page(document: "Verification") -> str:
    """Write the page: one HTML file that needs no network and no scripts."""
    return render(
        "verification.html",
        doc=document,
        words=IN_WORDS[document["verdict"]],
        mark=VERDICT_CLASSES[document["verdict"]],
        margins=margins(document),
        curves=[(name, drawing(partial(charts.curve, document, name))) for name in document["margins"]],
        ratios=[(name, drawing(partial(charts.ratios, document, name))) for name in document["margins"]],
        heads=heads(document),
        as_logged=any(point["cost"] for point in document["points"]),
        rows=table(document),
    )


def margins(document: "Verification") -> str:
    """Return the margins as text."""
    return ", ".join(f"{name} {numbers.percent(margin)}" for name, margin in document["margins"].items())


def heads(document: "Verification") -> tuple[str, ...]:
    """Return the heads of the columns."""
    return _without_unknown_costs(document, HEADS)


def _without_unknown_costs(document: "Verification", row: tuple[str, ...]) -> tuple[str, ...]:
    if any(point["cost"] for point in document["points"]):
        return row
    return (*row[: AS_LOGGED.start], *row[AS_LOGGED.stop :])


def table(document: "Verification") -> list[tuple[str, ...]]:
    """Return one row per load and figure; the first row of a load has its rate."""
    rows: list[tuple[str, ...]] = []
    for point in document["points"]:
        head = (numbers.percent(point["load"]), numbers.rate(point["rate_per_s"]))
        for name, one in point["figures"].items():
            row = (
                *head,
                name,
                numbers.latency(one["original_us"]["value"]),
                numbers.latency(one["clone_us"]["value"]),
                numbers.latency(one["predicted_us"]["value"]),
                *(
                    text
                    for side in (one["clone"], one["as_logged"])
                    for text in (ratio(side), _outcome(side))
                ),
                ratio(one["floor"]),
            )
            rows.append(_without_unknown_costs(document, row))
            head = ("", "")
    return rows


def _outcome(one: "Ratio | None") -> str:
    return one["outcome"] if one else "not known"


def ratio(one: "Ratio | None") -> str:
    """Format a ratio and its interval."""
    if one is None:
        return numbers.MISSING
    if one["low"] is None:
        return f"{one['ratio']:.3f}"
    return f"{one['ratio']:.3f} [{one['low']:.3f}, {one['high']:.3f}]"
