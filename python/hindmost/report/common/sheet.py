"""What all pages share: their templates, their style, and each chart in two widths."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hindmost.report.common import numbers, writing

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

_HERE = Path(__file__).parents[1]
_WIDE, _NARROW = 860, 360


def render(template: str, **context: object) -> str:
    """Fill a template of this room; the style, `numbers`, `writing` and our version are at hand in each."""
    from hindmost import __version__

    shared = {
        "style": asset("templates/page.css"),
        "numbers": numbers,
        "writing": writing,
        "version": __version__,
    }
    return loaded(template).render(shared | context)


def loaded(template: str) -> jinja2.Template:
    """A template of this room, compiled once in a process."""
    return _environment().get_template(template)


def drawing(draw: Callable[[float], str | None]) -> tuple[Markup, Markup] | None:
    """Draw a chart for wide screens and for narrow ones; None where there is nothing to draw."""
    from markupsafe import Markup

    wide, narrow = draw(_WIDE), draw(_NARROW)
    return (Markup(wide), Markup(narrow)) if wide and narrow else None


def asset(name: str) -> Markup:
    """A file of this room, to be put into a page as it is."""
    from markupsafe import Markup

    return Markup((_HERE / name).read_text(encoding="utf-8").strip())


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters["glued"] = writing.glued
    return environment
