"""Renders a view as Markdown, for reports and the page of a CI job."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hindmost.core.escapes import plain
from hindmost.present import numbers
from hindmost.present.blocks import Block, Cell, Facts, Item, Items, Next, Section, Table, Text, View, select


def render_markdown(view: View) -> str:
    """Render verdict, headline, texts and tables; charts are left out."""
    headline = ", ".join(view.subject) or view.headline
    head = f"{view.word}: {headline}" if view.word else headline
    parts = [f"# {_inline(head)}", *_parts(select(view.blocks, "markdown"), 2)]
    return "\n\n".join(parts).replace(numbers.THIN, "\u00a0") + "\n"


def _parts(blocks: Sequence[Block], level: int) -> Iterator[str]:
    for block in blocks:
        match block:
            case Section():
                yield f"{'#' * level} {_inline(block.title)}"
                yield from _parts(block.blocks, level + 1)
            case Text():
                yield _inline(block.text)
            case Items():
                yield "\n".join(f"- {_item(one)}" for one in block.items)
            case Facts():
                yield "\n".join(f"- {_inline(name)}: {_inline(value)}" for name, value in block.pairs)
            case Next():
                yield f"Next: {_inline(block.hint)}"
            case Table():
                yield _table(block)


def _item(one: Item) -> str:
    word = f"{_inline(one.word)}: " if one.word else ""
    hint = f" Hint: {_inline(one.hint)}" if one.hint else ""
    return f"{word}{_inline(one.text)}{hint}"


def _table(table: Table) -> str:
    rules = ["---" if table.side(column) == "<" else "---:" for column in range(len(table.heads))]
    head, *rows = ([_cell(cell) for cell in cells] for cells in (table.heads, *table.rows))
    lines = [f"| {' | '.join(cells)} |" for cells in (head, rules, *rows)]
    return "\n".join([*([_inline(table.caption), ""] if table.caption else []), *lines])


def _cell(cell: str | Cell) -> str:
    if isinstance(cell, str):
        return _inline(cell)
    text = _inline(f"{cell.text} {cell.detail}".strip())
    return f"[{text}](<{cell.link}>)" if cell.link else text


def _inline(text: str) -> str:
    """Escape a text outside backticks, so that a server's words are no markup and do not end a table row."""
    words = re.sub(r"[ \t\r\n]+", " ", plain(text)).strip(" ")  # but keep the narrow space before a unit
    parts = words.split("`")
    if len(parts) % 2 == 0:  # an unpaired backtick is no command
        return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", words)
    return "`".join(
        part.replace("|", "\\|") if place % 2 else re.sub(r"([\\*_{}\[\]<>#|])", r"\\\1", part)
        for place, part in enumerate(parts)
    )
