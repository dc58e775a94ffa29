"""What all pages share: templates, style, and each chart in two widths."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hindmost.core.escapes import plain
from hindmost.present import numbers, writing

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

_HERE = Path(__file__).parent
_WIDE, _NARROW = 860, 360


def render(template: str, **context: object) -> str:
    """Render a template. It has `style`, `drawing`, `numbers`, `writing` and `version`."""
    from hindmost import __version__

    shared = {
        "style": asset("templates/page.css"),
        "drawing": drawing,
        "numbers": numbers,
        "writing": writing,
        "version": __version__,
    }
    return load_template(template).render(shared | context)


def load_template(template: str) -> jinja2.Template:
    """Return a template, compiled once per process."""
    return _environment().get_template(template)


def drawing(draw: Callable[[float], str | None]) -> tuple[Markup, Markup] | None:
    """Draw a chart for wide and for narrow screens. Return None if there is nothing to draw."""
    from markupsafe import Markup

    wide, narrow = draw(_WIDE), draw(_NARROW)
    return (Markup(wide), Markup(narrow)) if wide and narrow else None


def asset(name: str) -> Markup:
    """Return a file of this package to insert into a page unchanged."""
    from markupsafe import Markup

    return Markup((_HERE / name).read_text(encoding="utf-8").strip())


def _make_printable(value: object) -> object:
    """Replace control characters in texts; a server may send any."""
    from markupsafe import Markup

    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_make_printable,
        keep_trailing_newline=True,
    )
    environment.filters["keep_units"] = writing.keep_units
    return environment
