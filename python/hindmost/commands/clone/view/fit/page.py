"""The page of a fit: one self-contained HTML file that opens offline and can be printed."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from hindmost.commands.clone.view.fit import charts as fit_charts
from hindmost.commands.clone.view.fit.terminal import order_text, ordered_candidates, pauses_texts
from hindmost.present import numbers
from hindmost.present.sheet import drawing, render


def render_fit_page(result: Mapping[str, Any]) -> str:
    """Render the page of one fit (document ``hindmost.fit/1``)."""

    def charts(part: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "density": drawing(partial(fit_charts.density, part)),
            "tails": drawing(partial(fit_charts.tails, part)),
            "departures": drawing(partial(fit_charts.departures, part)),
        }

    return render(
        "fit.html",
        fit=result,
        clone=result["clone"],
        parts=[(part, charts(part)) for part in (result["kinds"] or [result["law"]])],
        whole=(result["law"], charts(result["law"])) if result["kinds"] else None,
        ordered=ordered_candidates,
        by_load=by_load,
        order=order_text(result["order"]),
        pauses=pauses_texts(result["disturbance"]) if result["disturbance"] else [],
        differs=[row for one in result["own"] for row in one["rows"] if row["differs"]],
    )


def by_load(candidate: Mapping[str, Any]) -> dict[str, str]:
    """Return a candidate's errors for each load: of mean, p95 and p99, in percent."""
    found: dict[str, list[str]] = {}
    for name, error in candidate["errors"].items():
        found.setdefault(name.rpartition(" at ")[2], []).append(f"{100 * error:.2g}")
    return {load: f"{' / '.join(errors)}{numbers.THIN}%" for load, errors in found.items()}
