"""Renders a view as a page: one self-contained HTML file without scripts, which opens offline and prints."""

from __future__ import annotations

from hindmost.present.blocks import View, select
from hindmost.present.sheet import render


def render_page(view: View) -> str:
    """Render a view; each chart is drawn for wide and for narrow screens."""
    return render("view.html", view=view, blocks=select(view.blocks, "page"))
