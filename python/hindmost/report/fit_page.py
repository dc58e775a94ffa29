"""The page of a fit: one HTML file with everything inside, that opens offline and can be printed."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from hindmost.report import fit_charts, numbers
from hindmost.report.fit_terminal import gaps_text, order_text, ordered_candidates

_HERE = Path(__file__).parent
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_WIDE, _NARROW = 860, 360


def render_fit_page(result: Mapping[str, Any]) -> str:
    """Write the page of one fit (document ``hindmost.fit/1``)."""
    import jinja2
    from markupsafe import Markup

    from hindmost import __version__

    def drawing(draw: Callable[[float], str | None]) -> tuple[Markup, Markup] | None:
        wide, narrow = draw(_WIDE), draw(_NARROW)
        return (Markup(wide), Markup(narrow)) if wide and narrow else None

    def charts(part: Mapping[str, Any]) -> dict[str, tuple[Markup, Markup] | None]:
        return {
            "density": drawing(partial(fit_charts.density, part)),
            "tails": drawing(partial(fit_charts.tails, part)),
            "departures": drawing(partial(fit_charts.departures, part)),
        }

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    template = environment.get_template("fit.html")
    return template.render(
        fit=result,
        clone=result["clone"],
        parts=[(part, charts(part)) for part in (result["kinds"] or [result["law"]])],
        whole=(result["law"], charts(result["law"])) if result["kinds"] else None,
        numbers=numbers,
        ordered=ordered_candidates,
        order=order_text(result["order"]),
        gaps=gaps_text(result["disturbance"]) if result["disturbance"] else None,
        policy=_POLICY,
        version=__version__,
        style=Markup((_HERE / "templates/page.css").read_text(encoding="utf-8").strip()),
    )
