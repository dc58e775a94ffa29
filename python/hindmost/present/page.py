"""Renders a view as a page: one self-contained HTML file without scripts, which opens offline and prints."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hindmost.core.escapes import plain
from hindmost.present import writing
from hindmost.present.blocks import Draw, Section, View, select

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

MOST_SECTIONS = 6
"""Most sections of a page without links to them."""
_TEMPLATES = Path(__file__).parent / "templates"
_WIDE, _NARROW = 860, 360


def render_page(view: View) -> str:
    """Render a view; each chart is drawn for wide and for narrow screens."""
    from markupsafe import Markup

    from hindmost import __version__

    blocks = select(view.blocks, "page")
    sections = [block for block in blocks if isinstance(block, Section)]
    return load_template().render(
        view=view,
        blocks=blocks,
        links=sections if len(sections) > MOST_SECTIONS else [],
        style=Markup((_TEMPLATES / "page.css").read_text(encoding="utf-8").strip()),
        drawing=_draw,
        writing=writing,
        version=__version__,
    )


def _draw(draw: Draw) -> tuple[Markup, Markup] | None:
    """Draw a chart for wide and for narrow screens. Return None if there is nothing to draw."""
    from markupsafe import Markup

    wide, narrow = draw(_WIDE), draw(_NARROW)
    return (Markup(wide), Markup(narrow)) if wide and narrow else None


def _make_printable(value: object) -> object:
    """Replace control characters in texts; a server may send any."""
    from markupsafe import Markup

    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def load_template() -> jinja2.Template:
    """Return the template, compiled once per process."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_make_printable,
        keep_trailing_newline=True,
    )
    environment.filters["keep_units"] = writing.keep_units
    return environment.get_template("view.html")
