"""View of a comparison of levels: figures and ratios of each level, and latency before and after."""

from __future__ import annotations

from functools import partial

from hindmost.commands.compare.documents.setting import Level, Trial
from hindmost.commands.compare.view import setting_charts as charts
from hindmost.commands.compare.view.levels import (
    describe_excluded,
    describe_isolated,
    figure_name,
    format_ratio,
    list_excluded,
    shown_figures,
)
from hindmost.present import numbers, writing
from hindmost.present.blocks import Chart, Section, Table, Text, View
from hindmost.present.overlay import colour


def view(doc: Trial) -> View:
    """Return the view of a comparison of levels."""
    is_decided = doc.verdict != "undecided"
    intervals = "with 95 % intervals"
    if doc.comparisons > 1:
        intervals = f"with intervals that hold for all {doc.comparisons} comparisons together at 95 %"
    names = shown_figures(doc.levels[0].latency_us, ("p50", "p99", doc.by))
    shared = "all levels in each, " if len(doc.stages) == 1 else ""
    ratios = f"{doc.by} by level as a ratio to the present level, over rounds, {intervals}; dashed: no change"
    by_level = (
        f"by level, with 95 % intervals over rounds; the large dot is the level with the lowest {doc.by}"
    )
    compared = "All requests of all rounds that count, at the present level and at the best of the others"
    legend = [(colour(place), one.level) for place, one in enumerate(charts.before_and_after(doc))]
    return View(
        title=doc.headline,
        word="decided" if is_decided else "open",
        tone="valid" if is_decided else "inconclusive",
        headline=doc.headline,
        meta=(
            f"{doc.target} at {numbers.rate(doc.rate_per_s)}",
            f"{_rounds(doc)}, {shared}in random order",
            writing.moment(doc.created),
        ),
        schema=doc.schema,
        blocks=[
            Section(
                "Levels",
                [
                    _table(doc, names),
                    Text(
                        f"{_rounds(doc)}; * lowest {doc.by}; ratios to {doc.levels[0].level}, the present"
                        f" level, over rounds, {intervals}, by signed ranks",
                        "muted",
                    ),
                    *describe_isolated(doc.isolated),
                    *list_excluded(describe_excluded(doc.aside)),
                    Chart(partial(charts.ratio_by_level, doc), f"{ratios}."),
                    *(
                        Chart(partial(charts.figure_by_level, doc, name), f"{figure_name(name)} {by_level}.")
                        for name in names
                    ),
                ],
            ),
            Section(
                "Before and after",
                [
                    Chart(
                        partial(charts.latencies, doc),
                        f"{compared}, whose {doc.by} is higher." if doc.best == 0 else f"{compared}.",
                        legend,
                    )
                ],
            ),
        ],
    )


def _rounds(doc: Trial) -> str:
    _, *later = (one.rounds for one in doc.stages)
    text = numbers.plural(doc.rounds, "round")
    return text + (f" and {' and '.join(map(str, later))} near the best level" if later else "")


def _table(doc: Trial, names: list[str]) -> Table:
    ratio_names = list(dict.fromkeys((doc.by, "mean")))

    def ratios(level: Level) -> list[str]:
        changes = [level.against.get(name) for name in ratio_names]
        return [format_ratio(None if one is None else one.ratio) for one in changes]

    rows = [
        (
            f"{'* ' if place == doc.best else '  '}{level.level}",
            *(numbers.latency(level.latency_us[name].value) for name in names),
            *ratios(level),
        )
        for place, level in enumerate(doc.levels)
    ]
    return Table(("  level", *names, *(f"{name} ratio" for name in ratio_names)), rows, best=doc.best)
