"""The page of a study of batching: figures against the interval, the paper's figures, their table."""

from __future__ import annotations

from functools import partial

from hindmost.plan.batching import batching_text
from hindmost.report.batching import charts
from hindmost.report.batching.terminal import columns, heads, mark, row
from hindmost.report.common import numbers
from hindmost.report.common.overlay import colour
from hindmost.report.common.sheet import drawing, render
from hindmost.store.batching import Batching, BatchingRate


def render_batching_page(document: Batching) -> str:
    """Write the page: one HTML file with everything inside, without scripts.

    Parameters
    ----------
    document : Batching
        Document ``hindmost.batching/1``.
    """
    told = document["rounds"] > 0
    return render(
        "batching.html",
        doc=document,
        mark="valid" if told else "inconclusive",
        word="found" if told else "open",
        heads=heads(document),
        rates=[_rate(document, rate) for rate in document["rates"]],
        names=[numbers.rate(rate["rate_per_s"]) for rate in document["rates"]],
        improvement=drawing(partial(charts.improvement, document)),
        best=drawing(partial(charts.best_by_rate, document)),
        variability=drawing(partial(charts.variability, document)),
        colour=colour,
    )


def _rate(document: Batching, rate: BatchingRate) -> dict[str, object]:
    """What the page shows of one rate."""
    return {
        "name": numbers.rate(rate["rate_per_s"]),
        "rows": [
            (row(document, side, mark(rate, place)), place == rate["best"])
            for place, side in enumerate(rate["sides"])
        ],
        "figures": [
            (name, chart)
            for name in columns(document)
            if (chart := drawing(partial(charts.by_interval, rate, name)))
        ],
        "latencies": drawing(partial(charts.latencies, rate)),
        "told": [batching_text(side["batching"]) for side in charts.told(rate)],
        "sizes": drawing(partial(charts.sizes, rate)),
        "sized": [
            batching_text(side["batching"])
            for side in rate["sides"]
            if side["batching"] != "nagle" and side["sizes"]["requests"]
        ],
    }
