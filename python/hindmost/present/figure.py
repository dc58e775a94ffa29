"""Extracting a page's figures as self-contained SVG, for notebooks and papers."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path

_TOKENS = re.compile(r'<section\b|<ul class="legend.*?</ul>|<figure\b.*?</figure>', re.DOTALL)
_NAME = re.compile(r'id="chart-([^"]*)"')
_DRAWN = re.compile(
    r'<svg viewBox="0 0 ([\d.]+) ([\d.]+)" role="img" aria-label="([^"]*)">(.*?)</svg>', re.DOTALL
)
_ITEM = re.compile(r"<li>(?:<svg[^>]*>(.*?)</svg>|<span[^>]*--c: ([^\"]*)\"></span>)(.*?)</li>", re.DOTALL)
_COLOURS = re.compile(r"^:root \{.*?^\}", re.DOTALL | re.MULTILINE)
_RULES = re.compile(r"(?:^|(?<=\} ))svg [.a-z][^{}]*\{[^}]*\}", re.MULTILINE)
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


def figures(page: str) -> list[Figure]:
    """Return the figures of a page in their order. Of a figure in two widths, return the wide one."""
    style = " ".join([*_COLOURS.findall(page)[:1], *_RULES.findall(page)])
    found: dict[str, Figure] = {}
    legend: Sequence[tuple[str, str, str]] = ()
    for token in _TOKENS.findall(page):
        if token == "<section":  # a legend applies to the charts of its own section
            legend = ()
        elif token.startswith("<ul"):
            legend = _ITEM.findall(token)
        else:
            name = _NAME.search(token)
            for width, height, label, body in _DRAWN.findall(token):
                title = unescape(label)
                if title not in found:
                    svg = _self_contained((float(width), float(height)), label, body, style, legend)
                    found[title] = Figure(name[1] if name else "", title, svg)
    return list(found.values())


def _self_contained(
    size: tuple[float, float], label: str, body: str, style: str, legend: Sequence[tuple[str, str, str]]
) -> str:
    width, height = size
    items, below = _legend(legend, width, height)
    style = style.replace("color-scheme: light dark;", "")
    base = "svg { font-family: system-ui, sans-serif; background: var(--panel); color: var(--ink) }"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height + below:g}"'
    box = f'viewBox="0 0 {width:g} {height + below:g}" role="img" aria-label="{label}"'
    return f"{head} {box}><style>{style} {base}</style>{body}{items}</svg>"


def _legend(legend: Sequence[tuple[str, str, str]], width: float, top: float) -> tuple[str, float]:
    """Return the legend below a chart, line by line, and its height."""
    parts: list[str] = []
    x, y = 10.0, top + _LINE / 2
    for sample, colour, text in legend:
        room = _SAMPLE + _LETTER * len(unescape(text)) + 18.0
        if x > 10.0 and x + room > width:
            x, y = 10.0, y + _LINE
        mark = sample or f'<rect width="12" height="10" x="8" y="-1" fill="{colour}"/>'
        parts.append(f'<g transform="translate({x:g} {y - 4:g})">{mark}</g>')
        parts.append(f'<text x="{x + _SAMPLE:g}" y="{y + 4:g}">{text}</text>')
        x += room
    return "".join(parts), (y - top + _LINE / 2 + 4.0 if legend else 0.0)
