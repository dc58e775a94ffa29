"""The page of a comparison of targets."""

from functools import partial
from typing import TYPE_CHECKING, cast

from hindmost.report.common import numbers, writing
from hindmost.report.common.document import clean
from hindmost.report.common.overlay import colour
from hindmost.report.common.sheet import drawing, render
from hindmost.report.comparison import charts
from hindmost.report.comparison.tables import IN_WORDS, rows, side_line

if TYPE_CHECKING:
    from hindmost.store.comparison import Comparison

MARKS = {"same": "valid", "different": "inconclusive", "undecided": "inconclusive", "invalid": "invalid"}
"""Colours of verdicts."""
RESULTS = {"held": "valid", "crossed": "invalid", "undecided": "inconclusive"}
"""Colours of results of limits."""
MOST_RUNS_CHARTS = 3


def render_comparison_page(document: "Comparison") -> str:
    """Write the page: one HTML file that needs no network and no scripts."""
    doc = cast("Comparison", clean(document))
    names = sorted(doc["against"][0]["latency"], key=numbers.label_order)
    shown = [name for name in names if name != "mean"][-MOST_RUNS_CHARTS:]
    return render(
        "comparison.html",
        doc=doc,
        words=IN_WORDS[doc["verdict"]],
        mark=MARKS[doc["verdict"]],
        results=RESULTS,
        rows=rows(doc),
        several=len(doc["sides"]) > 2,
        sides=[(side, colour(place), side_line(side)) for place, side in enumerate(doc["sides"])],
        calm=any(one["calm"] for one in doc["against"]),
        hint_parts=writing.hint_parts,
        distributions=drawing(partial(charts.distributions, doc)),
        ratios=drawing(partial(charts.ratios, doc)),
        runs=[(name, drawing(partial(charts.runs, doc, name))) for name in shown],
    )
