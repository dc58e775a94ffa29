"""Renders a view for the terminal: the answer first, readable without colour, on a screen or in a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from hindmost.core.escapes import plain
from hindmost.present import numbers
from hindmost.present.blocks import Block, Cell, Facts, Items, Section, Table, Text, Tone, View, select
from hindmost.present.console import console_text, new_console, print_reason, print_text

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

    console = new_console(width, color)
    head = Line(plain(view.word), style=STYLES[view.tone])
    if view.word:
        head.append("  ")
    print_text(console, head + Line(plain(view.headline), style="default not bold"), indent=2)
    if blocks := select(view.blocks, "terminal"):
        console.print()
        print_blocks(console, blocks)
    return console_text(console).replace(_STAND_IN, numbers.THIN)


def print_blocks(console: Console, blocks: Sequence[Block]) -> None:
    """Print blocks; a blank line precedes sections, and tables that are not the first block."""
    from rich.text import Text as Line

    for place, block in enumerate(blocks):
        match block:
            case Section():
                if place:
                    console.print()
                console.print(Line(plain(block.title), style="bold"))
                print_blocks(console, block.blocks)
            case Text():
                print_text(console, _line(block.text, block.tone))
            case Items():
                for one in block.items:
                    head = Line(f"{plain(one.word)}: " if one.word else "", style=STYLES[one.tone])
                    print_text(console, head + _line(one.text, ""), indent=2)
                    print_reason(console, None, one.hint, indent=2)
            case Facts():
                long = max(len(name) for name, _ in block.pairs) + 2
                for name, value in block.pairs:
                    print_text(console, f"{plain(name):<{long}}{plain(value)}", indent=long)
            case Table():
                if place:
                    console.print()
                _print_table(console, block)


def _line(text: str, tone: Tone) -> rich.text.Text:
    from rich.text import Text as Line

    return Line(plain(text).replace("`", ""), style=STYLES[tone] or "default not bold")


def _print_table(console: Console, table: Table) -> None:
    from rich.table import Table as Grid

    if table.caption:
        print_text(console, _line(table.caption, ""), indent=2)
    widths = [_width(table, column) for column in range(len(table.heads))]
    wrapped = [at for at, width in enumerate(widths) if table.side(at) == "<" and width > _MOST_FIXED]
    if wrapped[1:]:  # the first column has the names of rows: it is wrapped only if no other can be
        wrapped = [at for at in wrapped if at]
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column, name in enumerate(table.heads):
        justify: Literal["left", "right"] = "left" if table.side(column) == "<" else "right"
        grid.add_column(_cell(name), justify=justify, no_wrap=column not in wrapped, overflow="fold")
    for place, cells in enumerate(table.rows):
        style = "bold" if place == table.best else ""
        grid.add_row(*(_cell(cell) for cell in cells), style=style)
    needed = sum(2 + (_MOST_FIXED if at in wrapped else width) for at, width in enumerate(widths)) - 2
    if needed > console.width:  # numbers are never cut off: the terminal wraps the lines
        grid.width = needed
    console.print(grid, crop=False)


_MOST_FIXED = 24
"""Widest column of texts that is never wrapped, and the least width of those that are."""


def _width(table: Table, column: int) -> int:
    cells = [table.heads[column], *(cells[column] for cells in table.rows)]
    return max(len(_cell(cell).plain) for cell in cells)


def _cell(cell: str | Cell) -> rich.text.Text:
    from rich.text import Text as Line

    if isinstance(cell, str):
        return Line(_keep(cell))
    line = Line(_keep(cell.text), style=STYLES[cell.tone])
    if cell.detail:
        line.append(f" {_keep(cell.detail)}", style="not bold dim")
    return line


def _keep(text: str) -> str:
    return plain(text).replace("`", "").replace(numbers.THIN, _STAND_IN)
