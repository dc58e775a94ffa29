"""Renders a view for the terminal: the answer first, readable without colour, on a screen or in a log."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from io import StringIO
from typing import TYPE_CHECKING

from hindmost.core.escapes import plain
from hindmost.present import numbers
from hindmost.present.blocks import Block, Cell, Facts, Items, Next, Section, Table, Text, Tone, View, select

if TYPE_CHECKING:
    import rich.text
    from rich.console import Console

STYLES: dict[Tone, str] = {
    "": "",
    "strong": "bold",
    "muted": "dim",
    "valid": "bold green",
    "inconclusive": "bold yellow",
    "invalid": "bold red",
    "note": "yellow",
}
_STAND_IN = "\ue000"
"""In place of the narrow space before a unit, where rich would break a line."""


def render_terminal(view: View, *, width: int | None = None, color: bool | None = None) -> str:
    """Render a view.

    Parameters
    ----------
    width
        Number of columns. Default: the terminal's, or 80.
    color
        Whether to use colour. Default: on a terminal, unless ``NO_COLOR`` is set.
    """
    from rich.text import Text as Line

    out = StringIO()
    console = _new_console(out, width, color)
    head = Line(plain(view.word), style=STYLES[view.tone])
    if view.word:
        head.append("  ")
    headline = "  ".join(view.subject) or view.headline
    _print_text(console, head + Line(plain(headline), style="default not bold"), indent=2)
    if blocks := select(view.blocks, "terminal"):
        console.print()
        _print_blocks(console, blocks)
    lines = out.getvalue().replace(_STAND_IN, numbers.THIN).splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _new_console(out: StringIO, width: int | None, color: bool | None) -> Console:
    """Return a console that writes to `out`. Its width is the terminal's, COLUMNS, or 80."""
    from rich.console import Console

    if color is None:
        color = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    if width is None:
        width = shutil.get_terminal_size((80, 24)).columns
    return Console(
        file=out,
        width=max(40, width),
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )


def _print_blocks(console: Console, blocks: Sequence[Block]) -> None:
    """Print blocks; a blank line precedes sections, tables and facts that are not the first block."""
    from rich.text import Text as Line

    for place, block in enumerate(blocks):
        if place and isinstance(block, Section | Table | Facts):
            console.print()
        match block:
            case Section():
                console.print(Line(plain(block.title), style="bold"))
                _print_blocks(console, block.blocks)
            case Text():
                _print_text(console, _line(block.text, block.tone))
            case Items():
                for one in block.items:
                    head = Line(f"{plain(one.word)}: " if one.word else "", style=STYLES[one.tone])
                    _print_text(console, head + _line(one.text, ""), indent=2)
                    if one.hint:
                        _print_command(console, "  hint: ", one.hint)
            case Facts():
                _print_facts(console, block)
            case Next():
                _print_command(console, "next: ", block.hint)
            case Table():
                _print_table(console, block)


def _print_text(console: Console, text: rich.text.Text, *, indent: int = 0) -> None:
    """Print a text. Continuation lines are indented by ``indent``."""
    from rich.text import Text as Line

    for number, line in enumerate(_wrap(text, console, console.width - indent)):
        console.print(Line(" " * indent if number else "") + line, soft_wrap=True)


def _wrap(text: rich.text.Text, console: Console, width: int) -> list[rich.text.Text]:
    """Break a text into lines, but never within a number."""
    text.plain = text.plain.replace(numbers.THIN, _STAND_IN)
    return list(text.wrap(console, width))


def _print_command(console: Console, head: str, hint: str) -> None:
    """Print a hint on one line, so that users can copy the command."""
    from rich.text import Text as Line

    console.print(Line(head, style="cyan") + _line(hint, ""), soft_wrap=True)


def _print_facts(console: Console, facts: Facts) -> None:
    from rich.text import Text as Line

    long = max(len(name) for name, _ in facts.pairs) + 2
    for name, value in facts.pairs:
        for number, line in enumerate(_wrap(_line(value, ""), console, console.width - long)):
            head = f"{'' if number else plain(name):<{long}}"
            console.print(Line.assemble((head, "bold"), line), soft_wrap=True)


def _line(text: str, tone: Tone) -> rich.text.Text:
    from rich.text import Text as Line

    return Line(plain(text).replace("`", ""), style=STYLES[tone] or "default not bold")


def _print_table(console: Console, table: Table) -> None:
    from rich.table import Table as Grid

    if table.caption:
        _print_text(console, _line(table.caption, ""), indent=2)
    columns = [_column(table, place) for place in range(len(table.heads))]
    widths = [max(map(len, lines)) for lines in columns]
    wrapped = [at for at, width in enumerate(widths) if table.side(at) == "<" and width > _MOST_FIXED]
    if wrapped[1:]:  # the first column has the names of rows: it is wrapped only if no other can be
        wrapped = [at for at in wrapped if at]
    needed = [GAP + (_MOST_FIXED if at in wrapped else width) for at, width in enumerate(widths)]
    shown = len(columns)
    while table.least is not None and shown > table.least and sum(needed[:shown]) - GAP > console.width:
        shown -= 1
    grid = Grid(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for place, (head, *_) in enumerate(columns[:shown]):
        grid.add_column(head, no_wrap=place not in wrapped, overflow="fold")
    for place, row in enumerate(zip(*(cells for _, *cells in columns[:shown]), strict=True)):
        grid.add_row(*row, style="bold" if place == table.best else "")
    if sum(needed[:shown]) - GAP > console.width:  # numbers are never cut off: the terminal wraps the lines
        grid.width = sum(needed[:shown]) - GAP
    console.print(grid, crop=False)
    if left_out := ", ".join(head.plain.strip() for head, *_ in columns[shown:]):
        _print_text(console, _line(f"in a wider terminal, or on the page: {left_out}", "muted"))


GAP = 2
"""Spaces between columns."""
_MOST_FIXED = 24
"""Widest column of texts that is never wrapped, and the least width of those that are."""


def _column(table: Table, place: int) -> list[rich.text.Text]:
    """Return the lines of a column, its head first. Numbers and their details are aligned."""
    from rich.text import Text as Line

    found = (table.heads[place], *(row[place] for row in table.rows))
    cells = [cell if isinstance(cell, Cell) else Cell(cell) for cell in found]
    head, *texts = (_keep(one.text) for one in cells)
    details = [_keep(one.detail) for one in cells[1:]]
    gap = " "
    if table.side(place) == ">":
        wide, most, gap = max(map(len, texts)), max(map(len, details)), "  "
        wide = max(wide, len(head) - (most and GAP + most))  # a long head extends over the details
        head, texts = f"{head:>{wide}}", [f"{text:>{wide}}" for text in texts]
        details = [f"{detail:<{most}}" for detail in details]
    lines = [Line(head)]
    for one, text, detail in zip(cells[1:], texts, details, strict=True):
        lines.append(Line(text, style=STYLES[one.tone]))
        lines[-1].append(f"{gap}{detail}" if detail else "", style="not bold dim")
    return lines


def _keep(text: str) -> str:
    return plain(text).replace("`", "").replace(numbers.THIN, _STAND_IN)
