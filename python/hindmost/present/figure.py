"""The figures of a page as self-contained SVG, for notebooks and papers."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path

from hindmost.core.escapes import plain
from hindmost.present.blocks import Block, Chart, Details, Section, View, select

_DRAWN = re.compile(
    r'<svg viewBox="0 0 ([\d.]+) ([\d.]+)" role="img" aria-label="([^"]*)">(.*?)</svg>', re.DOTALL
)
_COLOURS = re.compile(r"^:root \{.*?^\}", re.DOTALL | re.MULTILINE)
_RULES = re.compile(r"(?:^|(?<=\} ))svg [.a-z][^{}]*\{[^}]*\}", re.MULTILINE)
_WIDE = 860
_LINE, _SAMPLE, _LETTER = 20.0, 34.0, 6.6
"""Height of a legend's line, width of its sample, and average width of a letter, in pixels."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a page. It needs no screen, font or network.

    Attributes
    ----------
    name : str
        A short name, for example ``runs``. Empty if the page gives none.
    title : str
        What the figure shows.
    svg : str
        The drawing with its legend, as a complete SVG document in the page's light colours.
    """

    name: str
    title: str
    svg: str

    def save(self, path: str | Path) -> Path:
        """Write the figure as an SVG file."""
        path = Path(path)
        path.write_text(self.svg, encoding="utf-8")
        return path

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        """Return the title, because the drawing is long."""
        return f"Figure({self.title!r})"

    @property
    def image(self) -> str:
        """An ``<img>`` with the drawing inside, whose style cannot affect the rest of the page."""
        data = b64encode(self.svg.encode()).decode()
        return (
            f'<img alt="{escape(self.title)}" style="max-width: 100%" src="data:image/svg+xml;base64,{data}">'
        )


def figures(view: View) -> list[Figure]:
    """Return the figures of a page in their order, as drawn for wide screens."""
    sheet = (Path(__file__).parent / "templates/page.css").read_text(encoding="utf-8")
    style = " ".join([*_COLOURS.findall(sheet)[:1], *_RULES.findall(sheet)])
    charts = _charts(select(view.blocks, "page"))
    return [_self_contained(chart, drawn, style) for chart in charts if (drawn := chart.draw(_WIDE))]


def _charts(blocks: Sequence[Block]) -> Iterator[Chart]:
    for block in blocks:
        if isinstance(block, Chart):
            yield block
        elif isinstance(block, Section | Details):
            yield from _charts(block.blocks)


def _self_contained(chart: Chart, drawn: str, style: str) -> Figure:
    found = _DRAWN.fullmatch(drawn)
    assert found, "a chart is one plot"
    width, height, label, body = float(found[1]), float(found[2]), found[3], found[4]
    items, below = _legend(chart.legend, width, height)
    style = style.replace("color-scheme: light dark;", "")
    base = "svg { font-family: system-ui, sans-serif; background: var(--panel); color: var(--ink) }"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height + below:g}"'
    box = f'viewBox="0 0 {width:g} {height + below:g}" role="img" aria-label="{label}"'
    svg = f"{head} {box}><style>{style} {base}</style>{body}{items}</svg>"
    return Figure(chart.name, unescape(label), svg)


def _legend(legend: Sequence[tuple[str, str]], width: float, top: float) -> tuple[str, float]:
    """Return the legend below a chart, line by line, and its height."""
    parts: list[str] = []
    x, y = 10.0, top + _LINE / 2
    for cls, text in legend:
        room = _SAMPLE + _LETTER * len(text) + 18.0
        if x > 10.0 and x + room > width:
            x, y = 10.0, y + _LINE
        sample = f'<path d="M0 4H28" class="line {cls}"/>'
        parts.append(f'<g transform="translate({x:g} {y - 4:g})">{sample}</g>')
        parts.append(f'<text x="{x + _SAMPLE:g}" y="{y + 4:g}">{escape(plain(text))}</text>')
        x += room
    return "".join(parts), (y - top + _LINE / 2 + 4.0 if legend else 0.0)
