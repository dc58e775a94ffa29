"""Display of a result in a notebook: the verdict, a table of figures, one picture. Its style stays local."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from hindmost.core.escapes import plain
from hindmost.present import numbers
from hindmost.present.figure import Figure

COLOURS = {
    "valid": "#18703a",
    "answered": "#18703a",
    "equivalent": "#18703a",
    "invalid": "#b3261e",
    "different": "#b3261e",
}
"""Colours of verdicts. Any other verdict is inconclusive."""
MOST_ROWS = 24


def fragment(
    verdict: str,
    headline: str,
    rows: Sequence[Mapping[str, Any]],
    notes: Sequence[str],
    figure: Figure | None,
) -> str:
    """Return the HTML of a result.

    Parameters
    ----------
    rows : sequence of mappings
        A table with numbers in microseconds. Only the first rows are shown.
    notes : sequence of str
        Remarks that belong to the figures.
    """
    colour = COLOURS.get(verdict, "#855800")
    head = f'<b style="color: {colour}; text-transform: uppercase">{escape(plain(verdict))}</b>'
    parts = [f"<div><p>{head} {escape(plain(headline))}</p>"]
    if rows:
        parts.append(_table(rows[:MOST_ROWS]))
        if len(rows) > MOST_ROWS:
            parts.append(f"<p>and {len(rows) - MOST_ROWS} more rows</p>")
    parts += [f"<p>{escape(plain(note))}</p>" for note in notes]
    if figure is not None:
        parts.append(figure.image)
    return "".join([*parts, "</div>"])


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    head = "".join(f"<th>{escape(plain(name))}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell(row.get(name)))}</td>" for name in names) + "</tr>"
        for row in rows
    )
    return f"<table><caption>times in µs</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return numbers.number(value) if not math.isnan(value) else numbers.MISSING
    return numbers.MISSING if value is None else plain(str(value))
