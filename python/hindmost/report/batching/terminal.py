"""A study of batching (``hindmost.batching/1``) for the terminal: the sentence, then each rate."""

from __future__ import annotations

import shutil
import sys
import textwrap

from hindmost.plan.batching import batching_text
from hindmost.report.common import numbers
from hindmost.store.batching import Against, Batching, BatchingRate, BatchingSide


def render_batching(document: Batching, width: int | None = None) -> str:
    """Write it for a terminal `width` columns wide."""
    if width is None:
        width = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100
    lines = [textwrap.fill(document["headline"], max(40, width), break_long_words=False)]
    for rate in document["rates"]:
        lines += ["", *_table(document, rate)]
    rounds = numbers.plural(document["rounds"], "round")
    aside = f", {len(document['aside'])} excluded" if document["aside"] else ""
    lines += ["", f"{rounds}{aside}; * lowest {document['by']}, ~ not told from it; ratios to Nagle's"]
    return "\n".join(lines)


def columns(document: Batching) -> list[str]:
    """Figures that a table shows: mean, spread, and the tail."""
    names = [name for name in document["rates"][0]["sides"][0]["latency_us"] if name not in ("mean", "sd")]
    tail = [name for name in names if name in ("p99", document["by"])] or names[-1:]
    return ["mean", "sd", *dict.fromkeys(name for name in tail if name != "mean")]


def row(document: Batching, side: BatchingSide, mark: str) -> list[str]:
    """The cells of one side."""
    figures = [_figure(side, name) for name in columns(document)]
    each = [numbers.number(side[key]) for key in ("requests_per_write", "requests_per_segment", "size_cv")]
    return [f"{mark}{batching_text(side['batching'])}", *each, *figures, _ratio(side, document["by"])]


def heads(document: Batching) -> list[str]:
    """Their names."""
    return ["batching", "a write", "a segment", "size sd/mean", *columns(document), f"{document['by']} ratio"]


def mark(rate: BatchingRate, place: int) -> str:
    """What stands before a side: best, or not told from it."""
    return "* " if place == rate["best"] else "~ " if place in rate["not_told"] else "  "


def _table(document: Batching, rate: BatchingRate) -> list[str]:
    rows = [["  " + heads(document)[0], *heads(document)[1:]]]
    rows += [row(document, side, mark(rate, place)) for place, side in enumerate(rate["sides"])]
    sizes = [max(len(one[i]) for one in rows) for i in range(len(rows[0]))]
    title = f"{numbers.rate(rate['rate_per_s'])} on {numbers.plural(document['connections'], 'connection')}"
    return [
        title,
        *(
            "  ".join(
                [f"{one[0]:<{sizes[0]}}", *(f"{c:>{s}}" for c, s in zip(one[1:], sizes[1:], strict=True))]
            )
            for one in rows
        ),
    ]


def _figure(side: BatchingSide, name: str) -> str:
    one = side["latency_us"].get(name)
    return numbers.MISSING if one is None else numbers.latency(one["value"])


def _ratio(side: BatchingSide, by: str) -> str:
    one: Against | None = side["against"].get("nagle", {}).get(by)
    if one is None or one["ratio"]["value"] is None:
        return numbers.MISSING
    ratio = one["ratio"]
    ends = (
        ""
        if ratio["low"] is None or ratio["high"] is None
        else f" [{numbers.number(ratio['low'], 2)}, {numbers.number(ratio['high'], 2)}]"
    )
    return f"{numbers.number(ratio['value'], 2)}{ends}"
