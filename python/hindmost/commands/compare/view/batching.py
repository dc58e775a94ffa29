"""Batching modes (``hindmost.batching/1``): the table for the terminal, and the page."""

from __future__ import annotations

from functools import partial

from hindmost.commands.compare.documents.batching import Batching, BatchingRate, BatchingSide
from hindmost.commands.compare.view import batching_charts as charts
from hindmost.commands.compare.view.levels import align, format_ratio, render_levels, shown_figures
from hindmost.core.plan.batching import batching_text
from hindmost.present import numbers
from hindmost.present.overlay import colour
from hindmost.present.sheet import drawing, render


def render_batching(document: Batching, width: int | None = None) -> str:
    """Write the document for a terminal `width` columns wide."""
    connections = numbers.plural(document["connections"], "connection")
    heads = _heads(document)
    tables = [
        [f"{numbers.rate(rate['rate_per_s'])} on {connections}", *align(heads, _rows(document, rate))]
        for rate in document["rates"]
    ]
    rounds = numbers.plural(document["rounds"], "round")
    excluded = f", {len(document['aside'])} excluded" if document["aside"] else ""
    foot = f"{rounds}{excluded}; * lowest {document['by']}, ~ no difference shown to it; ratios to Nagle's"
    return render_levels(document["headline"], tables, foot, width)


def render_batching_page(document: Batching) -> str:
    """Write the page: one HTML file that needs no network and no scripts."""
    counted = document["rounds"] > 0
    return render(
        "batching.html",
        doc=document,
        mark="valid" if counted else "inconclusive",
        word="found" if counted else "open",
        heads=_heads(document),
        rates=[_rate_context(document, rate) for rate in document["rates"]],
        names=[numbers.rate(rate["rate_per_s"]) for rate in document["rates"]],
        improvement=drawing(partial(charts.improvement, document)),
        best=drawing(partial(charts.best_by_rate, document)),
        variability=drawing(partial(charts.variability, document)),
        colour=colour,
    )


def _rate_context(document: Batching, rate: BatchingRate) -> dict[str, object]:
    return {
        "name": numbers.rate(rate["rate_per_s"]),
        "best": rate["best"],
        "rows": _rows(document, rate),
        "figures": [
            (name, chart)
            for name in _figures(document)
            if (chart := drawing(partial(charts.by_interval, rate, name)))
        ],
        "latencies": drawing(partial(charts.latencies, rate)),
        "modes": [batching_text(arm["batching"]) for arm in charts.main_modes(rate)],
        "sizes": drawing(partial(charts.sizes, rate)),
        "sized": [batching_text(arm["batching"]) for arm in charts.with_sizes(rate)],
    }


def _figures(document: Batching) -> list[str]:
    return shown_figures(document["rates"][0]["sides"][0]["latency_us"], ("p99", document["by"]))


def _heads(document: Batching) -> list[str]:
    by = document["by"]
    return ["  batching", "a write", "a segment", "size sd/mean", *_figures(document), f"{by} ratio"]


def _rows(document: Batching, rate: BatchingRate) -> list[list[str]]:
    rows = []
    for place, arm in enumerate(rate["sides"]):
        mark = "* " if place == rate["best"] else "~ " if place in rate["not_told"] else "  "
        batches = [arm["requests_per_write"], arm["requests_per_segment"], arm["size_cv"]]
        figures = [_figure(arm, name) for name in _figures(document)]
        one = arm["against"].get("nagle", {}).get(document["by"])
        ratio = format_ratio(None if one is None else one["ratio"])
        rows.append(
            [f"{mark}{batching_text(arm['batching'])}", *map(numbers.number, batches), *figures, ratio]
        )
    return rows


def _figure(arm: BatchingSide, name: str) -> str:
    one = arm["latency_us"].get(name)
    return numbers.MISSING if one is None else numbers.latency(one["value"])
