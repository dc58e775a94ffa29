"""The summary of a measurement in Markdown, for the page of a CI job."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from hindmost.commands.measure.view import tables, view
from hindmost.commands.measure.view.limits import MARKS
from hindmost.core.store.measure import Measure
from hindmost.present import numbers
from hindmost.present.document import clean
from hindmost.present.writing import VERDICT_MARKS, moment

NAMED = 5
"""Number of reasons shown, the most serious first."""


def render_markdown(result: Mapping[str, Any]) -> str:
    """Render verdict, limits, latency with intervals, and the most serious reasons.

    Parameters
    ----------
    result
        Document ``hindmost.measure/2``.
    """
    doc = cast(Measure, clean(result))
    mark = VERDICT_MARKS.get(doc["verdict"], "?")
    parts = [f"## {mark} {doc['verdict']}: {_inline(view.target_line(doc))}"]
    parts.append(_inline(" ".join(view.headline(doc)).strip()))
    if limits := doc.get("limits"):
        rows = [
            (f"`{one['limit']}`", f"{MARKS[one['result']]} {one['result']}", _inline(one["text"]))
            for one in limits
        ]
        parts.append(_table(("limit", "result", "figure"), rows))
        hints = [f"- `{one['limit']}`: {_inline(one['hint'])}" for one in limits if one["hint"]]
        parts.append("\n".join(hints))
    parts.append(_latency(doc))
    parts.append(
        _inline(f"Throughput: {view.throughput(doc)}. Requests: {view.accounting(doc['counts'])[0]}.")
    )
    reasons = [f"- {one['level']}: {_inline(one['text'])}" for one in doc["reasons"][:NAMED]]
    if len(doc["reasons"]) > NAMED:
        reasons.append(f"- and {len(doc['reasons']) - NAMED} more, on the page `report.html`")
    parts.append("\n".join(reasons))
    study = f"study `{doc['study']}`, {moment(doc['created'])}, Hindmost {doc['version']}"
    parts.append(f"{view.runs_text(doc)}; {study}".replace(numbers.THIN, "\u00a0"))
    return "\n\n".join(part for part in parts if part) + "\n"


def _latency(doc: Measure) -> str:
    """Return the table of quantiles: value and interval of each kind of time."""
    table = tables.quantile_table(doc)
    rows = [(row.label, *(_cell(row.cells[name]) for name in table.columns), row.runs) for row in table.rows]
    names = [f"{view.COLUMNS.get(name, name)}, {table.unit.name}" for name in table.columns]
    return _table(("", *names, "runs"), rows) if rows else ""


def _cell(one: tables.Cell) -> str:
    known = (one.interval.low, one.interval.high) != (numbers.MISSING, numbers.MISSING)
    return f"{one.interval.value} [{one.interval.low}, {one.interval.high}]" if known else one.interval.value


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines).replace(numbers.THIN, "\u00a0")


def _inline(text: str) -> str:
    """Escape a text, so that a server's words are no markup and do not end a table row."""
    return re.sub(r"([\\*_{}\[\]<>#|])", r"\\\1", " ".join(text.split()))
