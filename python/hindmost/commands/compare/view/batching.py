"""View of a comparison of batching modes: the modes by rate, and the best interval against the rate."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from hindmost.commands.compare.documents.batching import Batching, BatchingRate, BatchingSide
from hindmost.commands.compare.view import batching_charts as charts
from hindmost.commands.compare.view.levels import (
    describe_excluded,
    describe_isolated,
    figure_name,
    format_ratio,
    list_excluded,
    shown_figures,
)
from hindmost.core.plan.batching import batching_text
from hindmost.present import numbers, writing
from hindmost.present.blocks import Block, Chart, Only, Section, Table, Text, View
from hindmost.present.overlay import colour


def view(doc: Batching) -> View:
    """Return the view of a comparison of batching modes."""
    names = [numbers.rate(rate.rate_per_s) for rate in doc.rates]
    connections = numbers.plural(doc.connections, "connection")
    return View(
        title=f"Batching at {', '.join(names)}",
        word="found" if doc.rounds else "open",
        tone="valid" if doc.rounds else "inconclusive",
        headline=doc.headline,
        meta=(
            connections,
            f"{numbers.plural(doc.rounds, 'round')}, all batching modes in each, in random order",
            writing.moment(doc.created),
        ),
        schema=doc.schema,
        blocks=[
            *(
                Section(f"At {name} on {connections}", [*_at_rate(doc, rate)], f"rate-{number}")
                for number, (name, rate) in enumerate(zip(names, doc.rates, strict=True), 1)
            ),
            *describe_isolated(doc.isolated),
            *list_excluded(describe_excluded(doc.aside)),
            Section("By rate", [*_by_rate(doc, names)]),
        ],
    )


def _at_rate(doc: Batching, rate: BatchingRate) -> Iterator[Block]:
    figures = shown_figures(doc.rates[0].sides[0].latency_us, ("p99", doc.by))
    heads = ("  batching", "a write", "a segment", "size sd/mean", *figures, f"{doc.by} ratio")
    rows = [_row(doc, rate, place, figures) for place in range(len(rate.sides))]
    yield Table(heads, rows, best=rate.best)
    yield Text(
        f"{numbers.plural(doc.rounds, 'round')}; * lowest {doc.by}, ~ no difference shown to it; ratios to"
        " Nagle's",
        "muted",
    )
    about = (
        "Latency from the scheduled time of a request, so it includes the wait for its batch. Requests per"
        " segment use the kernel's count, since the kernel makes Nagle's batches after the write call."
    )
    yield Only("page", [Text(about, "muted")])
    about = "by interval, with 95 % intervals over rounds; dashed: no batching and Nagle's algorithm."
    for name in figures:
        yield Chart(partial(charts.by_interval, rate, name), f"{figure_name(name)} {about}")
    about = (
        "All requests of all rounds that count: no batching, Nagle's algorithm, and the best interval (the"
        " paper's Figure 6)."
    )
    chart = Chart(partial(charts.latencies, rate), about, _legend(charts.main_modes(rate)))
    yield Section("Distribution of latency", [chart])
    about = (
        "Requests per write call (the paper's Figure 4). The kernel makes Nagle's batches after the call, so"
        " only their mean is known."
    )
    chart = Chart(partial(charts.sizes, rate), about, _legend(charts.with_sizes(rate)))
    yield Section("Sizes of batches", [chart])


def _legend(sides: list[BatchingSide]) -> list[tuple[str, str]]:
    return [(colour(place), batching_text(side.batching)) for place, side in enumerate(sides)]


def _row(doc: Batching, rate: BatchingRate, place: int, figures: list[str]) -> tuple[str, ...]:
    side = rate.sides[place]
    mark = "* " if place == rate.best else "~ " if place in rate.not_told else "  "
    to_nagle = side.against.get("nagle", {}).get(doc.by)
    return (
        f"{mark}{batching_text(side.batching)}",
        *map(numbers.number, (side.requests_per_write, side.requests_per_segment, side.size_cv)),
        *(
            numbers.latency(side.latency_us[name].value) if name in side.latency_us else numbers.MISSING
            for name in figures
        ),
        format_ratio(None if to_nagle is None else to_nagle.ratio),
    )


def _by_rate(doc: Batching, names: list[str]) -> Iterator[Block]:
    yield Chart(
        partial(charts.improvement, doc),
        "How much each interval lowers the mean latency of Nagle's algorithm (the paper's Figure 5 a); the"
        " large dot is the best at its rate.",
        [(colour(place), name) for place, name in enumerate(names)],
    )
    yield Chart(
        partial(charts.best_by_rate, doc),
        f"The interval with the lowest {doc.by} at each rate (the paper's Figure 5 b).",
    )
    yield Chart(
        partial(charts.variability, doc),
        "Standard deviation of service latency over its mean. The paper's Figure 7 shows one stage inside the"
        " server; a client sees all stages together.",
        [(colour(0), "nagle"), (colour(1), "best interval")],
    )
