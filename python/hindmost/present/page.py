"""Renders a view as a page: one self-contained HTML file without scripts, which opens offline and prints."""

from __future__ import annotations

from hindmost.present.blocks import Section, View, select
from hindmost.present.sheet import render

MOST_SECTIONS = 6
"""Most sections of a page without links to them."""


def render_page(view: View) -> str:
    """Render a view; each chart is drawn for wide and for narrow screens."""
    blocks = select(view.blocks, "page")
    sections = [block for block in blocks if isinstance(block, Section)]
    links = sections if len(sections) > MOST_SECTIONS else []
    return render("view.html", view=view, blocks=blocks, links=links)
