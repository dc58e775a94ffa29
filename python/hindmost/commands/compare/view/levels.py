"""Tables and charts of a setting's levels and of batching modes, which look alike."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from hindmost.commands.compare.documents.setting import Span
from hindmost.commands.compare.documents.targets import Ratio
from hindmost.present import numbers
from hindmost.present.columns import align_columns


def render_levels(headline: str, tables: Iterable[Sequence[str]], foot: str, width: int | None = None) -> str:
    """Write a headline, tables and a line about them for a terminal `width` columns wide."""
    if width is None:
        width = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100
    width = max(40, width)
    lines = [textwrap.fill(headline, width, break_long_words=False)]
    for table in tables:
        lines += ["", *table]
    return "\n".join([*lines, "", textwrap.fill(foot, width, break_long_words=False)])


def align(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Align a table: the first column to the left, the others to the right."""
    cells = [tuple(row) for row in (heads, *rows)]
    return [line.rstrip() for line in align_columns(cells, "<" + ">" * (len(heads) - 1))]


def shown_figures(latency: Mapping[str, object], wanted: Sequence[str]) -> list[str]:
    """Return the figures of a table: mean, sd, and the `wanted` percentiles, or else the last one."""
    names = [name for name in latency if name not in ("mean", "sd")]
    return ["mean", "sd", *([name for name in names if name in wanted] or names[-1:])]


def format_ratio(ratio: Ratio | Span | None) -> str:
    """Format a ratio and its interval, if they are known."""
    if ratio is None or ratio["value"] is None:
        return numbers.MISSING
    low, high = ratio["low"], ratio["high"]
    ends = "" if low is None or high is None else f" [{numbers.number(low, 2)}, {numbers.number(high, 2)}]"
    return f"{numbers.number(ratio['value'], 2)}{ends}"


def figure_title(name: str) -> str:
    """Return the title of a figure's chart."""
    return "standard deviation" if name == "sd" else name
