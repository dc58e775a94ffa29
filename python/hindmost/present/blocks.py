"""What a view consists of. A command describes its answer once, and three renderers show it.

The modules `terminal`, `page` and `markdown` of this package render a `View`. Texts are plain: a renderer
escapes them. In texts, backticks enclose commands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Tone = Literal["", "strong", "muted", "valid", "inconclusive", "invalid", "note"]
"""How a text looks. The last four are the colours of a verdict."""
Draw = Callable[[float], str | None]
"""Draws a chart of a width in pixels as SVG; None if there is nothing to draw."""


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph. Muted ones explain how to read what stands above."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a list: a marked word, a sentence, and what to do."""

    text: str
    word: str = ""
    tone: Tone = ""
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    items: Sequence[Item]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that is not plain text.

    ``detail``: a second, smaller text, such as an interval; the terminal aligns it. ``heat``: share, 0..1, by
    which the page colours it. ``svg``: a drawing that the page shows in its place. ``hover``: what the page
    shows under the pointer. ``link``: relative URL of what the text names.
    """

    text: str
    tone: Tone = ""
    detail: str = ""
    heat: float = 0.0
    svg: str = ""
    hover: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows below column heads; a head may be drawn, too. The first cell of each row is its head.

    ``sides``: ``<`` (text, which may be wrapped) or ``>`` (number) for each column; by default the first
    column is text. ``best``: index of the row to emphasise. ``caption``: what it shows. ``least``: number of
    columns that a narrow terminal keeps when it leaves out the last ones; by default all.
    """

    heads: Sequence[str | Cell]
    rows: Sequence[Sequence[str | Cell]]
    sides: str = ""
    best: int | None = None
    caption: str = ""
    least: int | None = None

    def side(self, column: int) -> str:
        """Return the side of a column."""
        return self.sides[column] if self.sides else "><"[column == 0]


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing, on the page alone.

    ``legend``: CSS classes of a line sample and its text. ``name``: short name for notebooks. ``empty``: what
    the page says if there is nothing to draw.
    """

    draw: Draw
    caption: str = ""
    legend: Sequence[tuple[str, str]] = ()
    name: str = ""
    empty: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Next:
    """What to do next: words, or a command, which the terminal does not break into lines."""

    hint: str


@dataclass(frozen=True, slots=True)
class Details:
    """Blocks that the page shows when they are opened, and the others leave out."""

    summary: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Only:
    """Blocks for one renderer."""

    where: Literal["terminal", "page", "markdown"]
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks below a heading. A section without blocks is left out.

    ``anchor``: name for links, which a long page lists at its top.
    """

    title: str
    blocks: Sequence[Block]
    anchor: str = ""

    @property
    def id(self) -> str:
        """The anchor, or the title as one."""
        return self.anchor or self.title.lower().replace(" ", "-")


Block = Text | Items | Table | Chart | Facts | Next | Details | Only | Section


@dataclass(frozen=True, slots=True)
class View:
    """The answer of a command.

    ``title``: of the browser's window. ``word``, ``tone``: the verdict. ``headline``: the answer in one
    sentence. ``meta``: what was measured, and when; on the page alone. ``subject``: what was measured, for a
    terminal and Markdown whose first table is the answer, in place of the headline. ``schema``: of the
    document that is shown.
    """

    title: str
    word: str = ""
    tone: Tone = ""
    headline: str = ""
    blocks: Sequence[Block] = ()
    meta: Sequence[str] = ()
    schema: str = ""
    subject: Sequence[str] = ()


def select(blocks: Sequence[Block], where: str) -> list[Block]:
    """Return the blocks for one renderer, without empty ones."""
    chosen: list[Block] = []
    for block in blocks:
        match block:
            case Only():
                chosen += select(block.blocks, where) if block.where == where else []
            case Section():
                if inner := select(block.blocks, where):
                    chosen.append(Section(block.title, inner, block.anchor))
            case Details():
                if where == "page" and (inner := select(block.blocks, where)):
                    chosen.append(Details(block.summary, inner))
            case Chart():
                chosen += [block] if where == "page" else []
            case (
                Table(rows=content)
                | Items(items=content)
                | Facts(pairs=content)
                | Text(text=content)
                | Next(hint=content)
            ):
                chosen += [block] if content else []
    return chosen


def tone_of(level: str) -> Tone:
    """Return the tone of a level or verdict; an unknown one is inconclusive."""
    return level if level in ("valid", "invalid", "note") else "inconclusive"  # type: ignore[return-value]
