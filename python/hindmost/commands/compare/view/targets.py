"""View of a comparison of targets: limits, percentiles, distributions, runs and the compared arms."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from hindmost.commands.compare.documents.targets import Comparison, Limit, Outcome, Result, Side
from hindmost.commands.compare.view import targets_charts as charts
from hindmost.commands.compare.view.levels import list_excluded
from hindmost.commands.compare.view.targets_table import details, percentiles
from hindmost.present import numbers, writing
from hindmost.present.blocks import (
    Block,
    Chart,
    Details,
    Facts,
    Item,
    Items,
    Only,
    Section,
    Table,
    Text,
    Tone,
    View,
    tone_of,
)
from hindmost.present.overlay import colour

VERDICTS: dict[Outcome, tuple[str, Tone]] = {
    "same": ("the same", "valid"),
    "different": ("different", "inconclusive"),
    "undecided": ("not decided", "inconclusive"),
    "invalid": ("invalid", "invalid"),
}
"""Word and tone of each verdict."""
RESULTS: dict[Result, Tone] = {"held": "valid", "crossed": "invalid", "undecided": "inconclusive"}
MOST_DIFFERENCES = 4
"""Differences with a line of their own."""
MOST_RUNS_CHARTS = 3


def view(doc: Comparison) -> View:
    """Return the view of a comparison."""
    word, tone = VERDICTS[doc.verdict]
    how = "interleaved pairs of runs" if doc.how == "live" else "stored measurements"
    return View(
        title=" against ".join(side.label for side in doc.sides),
        word=word,
        tone=tone,
        headline=doc.headline,
        meta=(how, f"same: within {numbers.percent(doc.margin)}", writing.moment(doc.created)),
        schema=doc.schema,
        blocks=[
            Section("Limits", [Items([*map(_limit, doc.limits)])]),
            Section("Percentiles", [*_percentiles(doc)]),
            *_charts(doc),
            Section("Arms", [*_arms(doc)]),
        ],
    )


def _limit(limit: Limit) -> Item:
    return Item(f"`{limit.text}`: {limit.said}", limit.result, RESULTS[limit.result])


def _percentiles(doc: Comparison) -> Iterator[Block]:
    unit = "pair of runs" if doc.how == "live" else "run"
    over = "interleaved pairs of runs" if doc.how == "live" else "runs"
    yield percentiles(doc)
    rows = "all rows and looks" if doc.looks else "all rows"
    yield Text(
        f"{numbers.percent(doc.confidence)} intervals over {over}, by ranks; p adjusted for {rows}; same:"
        f" within {numbers.percent(doc.margin)}",
        "muted",
    )
    several = len(doc.sides) > 2
    isolated = any(one.isolated for one in doc.against)
    about = (
        f"Latency from the scheduled time of a request. Ratio and difference: of a typical {unit}. Same means"
        f" that the 90{numbers.THIN}% interval of the ratio lies within the margin."
    )
    if isolated:
        about += " Isolated latency excludes interference, which counts as censoring."
    if any(one.decided_on == "isolated" for one in doc.against):
        about += " It decides; a pair counts the more, the more precise it is."
    if doc.looks:
        looks = " or ".join(map(str, doc.looks))
        about += f" A look after {looks} rounds may decide; intervals and p hold for all looks together."
    yield Only("page", [Text(about, "muted")])
    yield from list_excluded([one.text for one in doc.left_out])
    yield Details(
        f"{'Differences, unadjusted' if several else 'Unadjusted'} p-values, and those of the textbook test",
        [details(doc), Text("If the first two p differ widely, there are too few runs for either.", "muted")],
    )
    yield Chart(
        partial(charts.ratios, doc),
        "Ratio of each percentile with its interval; ratios within the band count as the same."
        + (" Hollow: isolated latency." if isolated else ""),
        _legend(doc)[1:] if several else (),
    )


def _charts(doc: Comparison) -> Iterator[Block]:
    about = "All requests of all runs together. The table above shows which differences are certain."
    yield Section("Distributions", [Chart(partial(charts.distributions, doc), about, _legend(doc))])
    names = [name for name in sorted(doc.against[0].latency, key=numbers.label_order) if name != "mean"]
    about = "of each run that counts, in the order of the runs; the line is the summary over runs."
    yield Section(
        "Runs",
        [Chart(partial(charts.runs, doc, name), f"{name} {about}") for name in names[-MOST_RUNS_CHARTS:]],
    )


def _legend(doc: Comparison) -> list[tuple[str, str]]:
    return [(colour(place), side.label) for place, side in enumerate(doc.sides)]


def _arms(doc: Comparison) -> Iterator[Block]:
    yield Facts([(side.label, _describe(side)) for side in doc.sides])
    yield Items([Item(one.text, one.level, tone_of(one.level), one.hint) for one in doc.reasons])
    differences = [f"{one.what}: {' / '.join(one.values)}" for one in doc.unlike]
    rest = "; ".join(differences[MOST_DIFFERENCES:])
    shown = [Item(text, "differs") for text in differences[:MOST_DIFFERENCES]]
    yield Items([*shown, *([Item(rest, "also differ")] if rest else [])])
    rows = [(side.label, writing.moment(side.created), side.folder) for side in doc.sides]
    yield Details("Times and folders", [Table(("arm", "measured", "folder"), rows, "<<<")])


def _describe(side: Side) -> str:
    rate = "flat out" if side.rate_per_s is None else numbers.rate(side.rate_per_s)
    runs = numbers.plural(len(side.runs), "run")
    if side.made != len(side.runs):
        runs += f" of {side.made}"
    isolated = len(next(iter(side.isolated_values_us.values()), ()))
    if isolated not in (0, len(side.runs)):
        runs += f" ({isolated} with isolated latency)"
    return f"{side.target.name} at {rate}, {runs}, {side.verdict}"
