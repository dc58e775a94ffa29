"""The evidence, which only the page shows: all effects, all settings, all runs, the design, the host."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from hindmost.commands.attribute.document import Attribution, Effect, Load, QuantileAnswer
from hindmost.commands.attribute.view import charts, rows, wording
from hindmost.commands.attribute.view.tables import (
    Column,
    base_text,
    best_value,
    effect_columns,
    effect_rows,
    level_columns,
    make_table,
)
from hindmost.core.store.estimates import UNKNOWN
from hindmost.present import numbers, writing
from hindmost.present.blocks import (
    Block,
    Cell,
    Chart,
    Details,
    Facts,
    Item,
    Items,
    Section,
    Table,
    Text,
    Tone,
)

Build = Callable[[Attribution, Load, str], Sequence[Block]]
"""Builds the blocks of a quantile at a load; empty if it has none."""


def evidence(doc: Attribution) -> Iterator[Block]:
    """Yield the sections of the page that follow the answer."""
    interval = f"{numbers.percent(doc.confidence)} interval"
    average = " on average" if wording.on_average(doc) else ""
    yield Section(f"Effect of each factor{average}", _averages(doc), "averages")
    yield _section(
        doc,
        "Interactions that change a sign",
        "reversals",
        "A factor's effect at each level of another factor: it raises the quantile at one and lowers it at"
        " another.",
        _reversals,
    )
    base = "a change of its base (from)" if doc.scale == "ratio" else "a share of the mean of all cells"
    yield _section(
        doc,
        "All effects",
        "effects",
        "A row is a factor that changes from its first level to another, or several factors that change"
        " together (×). Then it shows their joint effect beyond their separate effects. The bar is its"
        f" {interval} as {base}; the band is {wording.delta(doc)}, within which effects are too small to"
        " matter. More runs: the additional runs of each cell that would probably decide the term.\n"
        "The adjusted p is the probability that runs in which no factor has an effect would show an effect"
        " this clear anywhere among all terms, quantiles and loads:"
        f" {wording.ADJUSTMENTS[doc.adjustment]}. The verdicts raises and lowers are based on it. A bar"
        " belongs to one term alone, so a few bars exclude zero by chance. By permutation: how often runs"
        " that are assigned to the settings at random, within blocks, differ as much for this one term. It"
        " assumes no distribution of the runs.",
        _effects,
    )
    yield _section(
        doc,
        "Every configuration, the best first",
        "configurations",
        f"What the model predicts for each combination (Treadmill, Figure 7), with its {interval}. A full"
        " dot was run; a hollow one is only predicted, and never recommended. Behind the best: its value"
        " minus the best other's, with bounds that hold for all rows together. Settings that the runs cannot"
        " separate from the best are tied. Levels in bold differ from the control.",
        _configurations,
        [_best(doc), Text(f"Rule for the recommendation: {doc.recommendation.rule}.", "muted")],
    )
    yield Section("Explained variance", _variance(doc), "explained")
    yield _section(
        doc,
        "Does the model fit?",
        "fit",
        "A stroke is one run, and its height the distance from the model's prediction of its cell, with what"
        " the runs of its block share. A column of strokes beside the dashed line is a cell that the model"
        " does not predict. If columns become taller to the right, slow cells scatter more than the model"
        " assumes.",
        _fit,
    )
    mean = "geometric mean" if doc.scale == "ratio" else "mean"
    yield _section(
        doc,
        "The runs of every cell",
        "runs",
        f"A stroke is one run on a fresh server. Dot and bar are their {mean} and its interval. Cells are in"
        " the order of the design. The control has one more run in each block. Isolated latency is what the"
        " server does with its CPUs to itself, without interference; the next column shows measured latency."
        " Runs that the instrument distorted are left out.",
        _runs,
    )
    yield Section("Did the machine drift?", _drift(doc), "drift")
    yield Section("Design and procedure", _design(doc), "design")
    yield Section("Why not pool all requests?", _pooled(doc), "pooled")
    yield Section("Host", _host(doc), "host")


def _section(
    doc: Attribution, title: str, anchor: str, note: str, build: Build, more: Sequence[Block] = ()
) -> Section:
    """Return a section with the tables of all loads, or an empty one."""
    found = _by_load(doc, build)
    notes = [Text(text, "muted") for text in note.split("\n")]
    return Section(title, [*notes, *found, *more] if found else [], anchor)


def _by_load(doc: Attribution, build: Build) -> list[Block]:
    """Return a section for each load. The study's own quantile comes first, the others are folded."""
    found: list[Block] = []
    for load in doc.loads:
        known = [(label, blocks) for label in wording.labels(doc) if (blocks := build(doc, load, label))]
        if known:
            (label, first), *others = known
            folded = [Details(label, blocks) for label, blocks in others]
            found.append(Section(wording.load_text(load), [Section(label, first), *folded]))
    return found


def _averages(doc: Attribution) -> list[Block]:
    if not any(answer.average or answer.corner for load in doc.loads for answer in load.quantiles.values()):
        return []
    others, hides = "are at their first level", "this chart shows only half of it"
    if wording.on_average(doc):
        others = "take each of their levels equally often (Treadmill, Figure 8)"
        hides = "the average hides it"
    note = (
        f"Each factor changes from its first level to another, while all others {others}. A bar is a"
        f" {numbers.percent(doc.confidence)} interval, the band is {wording.delta(doc)}: effects within it"
        f" are too small to matter. If an effect changes its sign with another factor, {hides}: see the"
        " interactions."
    )
    legend = [
        (f"side c{place % charts.COLOURS}", wording.load_text(load)) for place, load in enumerate(doc.loads)
    ]
    drawn = [Chart(partial(charts.factors_alone, doc, label)) for label in wording.labels(doc)]
    return [replace(drawn[0], legend=legend), *drawn[1:], Text(note, "muted")]


def _reversals(doc: Attribution, load: Load, label: str) -> list[Block]:
    found = load.quantiles[label].reversals
    if not found:
        return []
    effects = [
        (f"{one.factor} = {one.level} while {one.by} is {level}", value)
        for one in found
        for level, value in zip(one.at, one.effects_us, strict=True)
    ]
    axis, drawn = rows.changes(effects)
    unit, shown = wording.column((wording.ends(value) for _, value in effects), sign=True)
    columns: list[Column] = [
        ("effect", "<", [name for name, _ in effects]),
        (axis, ">", drawn),
        (unit.name, ">", [one.value for one in shown]),
        ("interval", ">", [one.interval for one in shown]),
    ]
    return [make_table(columns), Items([Item(one.text) for one in found])]


def _effects(doc: Attribution, load: Load, label: str) -> list[Block]:
    answer = load.quantiles[label]
    average = "On average over all levels of the other factors, the largest effect first"
    corner = (
        "From the starting point (the paper's corner): with all other factors at their first level. To"
        " predict a setting, add up all rows whose factors it changes (Treadmill, Table IV)"
    )
    return [
        *_effect_tables(doc, answer.average, average, "mean of all cells", ranked=True),
        *([_together(answer)] if answer.together else []),
        *_effect_tables(doc, answer.corner, corner, "all factors at their first level", ranked=False),
    ]


def _together(answer: QuantileAnswer) -> Table:
    """Build the tests of terms that have several rows."""
    return Table(
        ("all levels together", "F", "degrees of freedom", "p", "adjusted p"),
        [
            (
                one.term.replace(":", wording.TIMES),
                wording.number(one.statistic, 2),
                f"{one.numerator}, {wording.number(one.denominator, 1)}",
                wording.p_value(one.p),
                wording.p_value(one.adjusted),
            )
            for one in answer.together
        ],
        caption="Whether a factor of more than two levels matters at all, on average over the others: one"
        " test of all its rows (Wald, over blocks), adjusted over all such tests",
    )


def _effect_tables(
    doc: Attribution, effects: Sequence[Effect], caption: str, what: str, *, ranked: bool
) -> Iterator[Block]:
    unit, found = effect_rows(doc, effects, ranked=ranked)
    if not found:
        return
    terms = [row.effect for row in found]
    axis, drawn = rows.forest(terms, wording.band(doc, effects), ratio=doc.scale == "ratio")
    permuted = ["" if one.permuted is None else wording.p_value(one.permuted) for one in terms]
    figures = effect_columns(unit, found)
    columns: list[Column] = [
        ("term", "<", [row.name for row in found]),
        (axis, ">", drawn),
        ("from", ">", [numbers.latency(one.base) for one in terms]),
        *figures[:-1],
        ("by permutation", ">", permuted),
        figures[-1],
        ("more runs", ">", [numbers.count(one.more_runs) if one.more_runs else "" for one in terms]),
        ("or", "<", [wording.list_few(row.aliases) for row in found]),
    ]
    base = base_text(effects, what)
    whole = make_table(columns, f"{caption}; {base}" if base else caption)
    few, many = (
        [cells for one, cells in zip(terms, whole.rows, strict=True) if (len(one.factors) > 2) is large]
        for large in (False, True)
    )
    yield replace(whole, rows=few)
    if many:
        summary = f"{numbers.plural(len(many), 'term')} of three or more factors"
        yield Details(summary, [replace(whole, rows=many)])


def _configurations(doc: Attribution, load: Load, label: str) -> list[Block]:
    """Build the table of every cell that the model covers, the fastest first, compared with the best cell."""
    answer = load.quantiles[label]
    if not answer.predicted:
        return []
    ranked = sorted(answer.predicted, key=lambda one: one.value if wording.is_known(one.value) else math.inf)
    places = ["best" if one is answer.best[0] else "tied" * one.tied for one in answer.best]
    _, behind = wording.column((wording.ends(one.behind_us) for one in answer.best), sign=True)
    compared = {
        tuple(sorted(one.levels.items())): (place, str(text))
        for one, place, text in zip(answer.best, places, behind, strict=True)
    }
    found = [compared.get(tuple(sorted(one.levels.items())), ("", "")) for one in ranked]
    first = [bool(place) for place, _ in found]
    axis, drawn = rows.predictions(list(zip(ranked, first, strict=True)))
    unit, shown = wording.column((one.value, one.low, one.high) for one in ranked)
    remarks: list[str | Cell] = []
    for one, (place, _) in zip(ranked, found, strict=True):
        text = ", ".join(filter(None, (place, "" if one.run else "predicted only")))
        remarks.append(Cell(text, "valid" if place else ""))
    columns: list[Column] = [
        *level_columns(doc, [one.levels for one in ranked]),
        (axis, ">", drawn),
        (unit.name, ">", [one.value for one in shown]),
        ("interval", ">", [one.interval for one in shown]),
        ("behind the best", ">", [text for _, text in found]),
        ("", "<", remarks),
    ]
    return [make_table(columns)]


def _best(doc: Attribution) -> Table:
    """Build the table of the best cell for each quantile and load, with its ties and its confirmation."""
    fresh = {(one.load, one.quantile): one for one in doc.confirmations}
    found = [
        (load, label, answer.best)
        for load in doc.loads
        for label in wording.labels(doc)
        if (answer := load.quantiles[label]).best
    ]
    separated: list[str] = []
    outcomes: list[str | Cell] = []
    for load, label, (first, *others) in found:
        tied = sum(one.tied for one in others)
        some = "no others" if tied == len(others) else f"all others but {tied}"
        separated.append(some if tied else "all others")
        one = fresh.get((load.name, label))
        known = one is not None and one.after.levels == first.levels
        outcomes.append(Cell(one.outcome, wording.TONES[one.outcome]) if one and known else "")
    columns: list[Column] = [
        ("lowest", "<", [f"{label} at {load.name}" for load, label, _ in found]),
        *level_columns(doc, [best[0].levels for *_, best in found]),
        ("predicted", ">", [best_value(load.quantiles[label]) for load, label, _ in found]),
        ("separated from", "<", separated),
        ("fresh runs", "<", outcomes),
    ]
    return make_table(
        columns,
        "The lowest predicted figure for each load and quantile. This is no recommendation, because the"
        " lowest of many figures is partly chance",
    )


def _variance(doc: Attribution) -> list[Block]:
    found = wording.explained(doc)
    heads = ("", "cells", "runs", "sampling", "model R²", "ceiling", "pseudo-R², on runs")
    table = [
        (
            name,
            *map(numbers.percent, (one.cells, one.runs, one.sampling, one.model, one.ceiling)),
            wording.number(one.pseudo_r2, 2),
        )
        for name, one in found
    ]
    legend = [
        ("side c0", "between cells: what the factors can explain"),
        ("side c2", "between runs of one cell"),
        ("side c7", "sampling within a run"),
    ]
    caption = (
        "Variance of the single runs' values. The dashed line is the ceiling, the share that a perfect model"
        " of the cells would explain; no model can explain differences between runs of the same cell. The"
        " dot is the model's share."
    )
    return [Chart(partial(charts.variance, doc), caption, legend), Table(heads, table)] if found else []


def _fit(doc: Attribution, load: Load, label: str) -> list[Block]:
    """Build the test of the model, and the chart of its residuals."""
    one = load.quantiles[label].fit
    if one is None:
        return []
    text = "The model has a coefficient for every cell that was run, so it predicts their means exactly."
    if one.spare:
        text = f"The model has {numbers.plural(one.spare, 'coefficient')} fewer than cells."
    if one.worst is not None:
        text += (
            f" {wording.setting(one.worst)} deviates most clearly: by {wording.percent(one.deviation_share)}."
            f" If the model is right, some cell deviates this clearly with p {wording.p_value(one.p)}."
        )
    return [Text(text), Chart(partial(charts.residuals, load, label))]


def _runs(doc: Attribution, load: Load, label: str) -> list[Block]:
    """Build the table of each cell's runs. Next to isolated latency it shows measured latency."""
    cells, isolated = load.cells, wording.is_isolated(load)
    if not cells:
        return []
    axis, drawn = rows.strips(
        [(wording.setting(one.levels), one.values.get(label, []), one.latency_us.get(label)) for one in cells]
    )
    unit, shown = wording.column(wording.ends(one.latency_us.get(label, UNKNOWN)) for one in cells)
    measured = [numbers.latency(one.measured_us.get(label, UNKNOWN).value) for one in cells]
    failed = [Cell(f"no figure: {one.failure.text}", "invalid") if one.failure else "" for one in cells]
    columns: list[Column] = [
        *level_columns(doc, [one.levels for one in cells]),
        (axis, ">", drawn),
        (f"{'isolated mean' if isolated else 'mean'}, {unit.name}", ">", [one.value for one in shown]),
        ("interval", ">", [one.interval for one in shown]),
        ("as measured", ">", measured if isolated else [""] * len(cells)),
        ("runs", ">", [str(one.runs) for one in cells]),
        ("as control", ">", [str(one.extra or "") for one in cells]),
        ("left out", ">", [str(one.invalid or "") for one in cells]),
        ("", "<", failed),
    ]
    return [make_table(columns)]


def _drift(doc: Attribution) -> list[Block]:
    found = [(load.name, load.drift) for load in doc.loads if load.drift]
    note = (
        f"The control ({wording.setting(doc.design.control)}) runs once more in each block. If its latency"
        " drifts, so does everything else. Cells run in random order within each block, so drift affects all"
        " of them alike."
    )
    items = [
        Item(
            f"{one.quantile} at {load}: {wording.percent(one.share_per_block)} per block,"
            f" p {wording.p_value(one.p)}",
            "drift" if one.drifting else "steady",
            "note" if one.drifting else "valid",
        )
        for load, one in found
    ]
    drawn = [Chart(partial(charts.drift, one, load)) for load, one in found]
    return [Text(note, "muted"), *drawn, Items(items)] if found else []


def _design(doc: Attribution) -> list[Block]:
    text = wording.design_text(doc)
    columns: list[Column] = [
        ("factor", "<", [one.name for one in doc.factors]),
        ("sets", "<", [one.sets for one in doc.factors]),
        ("levels, the first is the low level", "<", [", ".join(one.levels) for one in doc.factors]),
        ("about", "<", [one.about for one in doc.factors]),
    ]
    forbidden = "; ".join(map(wording.setting, doc.design.forbidden))
    aliases = [
        (term.replace(":", wording.TIMES), ", ".join(others).replace(":", wording.TIMES))
        for term, others in doc.design.aliases.items()
    ]
    split = ""
    if hard := [one.name for one in doc.factors if one.change_s is not None]:
        split = (
            f" {', '.join(hard)} keeps its level for several runs in a row (split plot): each block sets it"
            f" {doc.design.whole_plots} times, in random order. Effects are compared between blocks, so their"
            " intervals contain what differs from one change to the next."
        )
    return [
        Text(
            f"{text[0].upper()}{text[1:]}. Each block runs every cell once in random order (seed"
            f" {doc.design.seed}), each on a freshly started server; the run is the unit of all intervals."
            + split
        ),
        make_table(columns),
        Text(f"Never run together: {forbidden}." if forbidden else ""),
        Table(
            ("term", "aliases"),
            aliases,
            "<<",
            caption="Aliases: effects that this design cannot separate. The effect of the term on the left"
            " may belong to any term on the right; usually the simplest one is responsible.",
        ),
        Details(
            "Study file, as it was resolved",
            [Facts([(key, json.dumps(value, ensure_ascii=False)) for key, value in doc.plan.items()])],
        ),
    ]


def _pooled(doc: Attribution) -> list[Block]:
    found = _by_load(doc, _pooled_effects)
    text = (
        "Treadmill regresses the quantile of all requests of a cell together. That answers a different"
        " question, because a pooled tail is longer if runs differ. The textbook's interval treats all"
        " requests as independent. They are not: requests of one run share its server, its memory layout and"
        " its time. The narrow dark bars are these naive intervals; the wide bars account for runs. A naive"
        " interval that excludes zero is no evidence."
    )
    summary = "The published procedure, and why its intervals are too narrow"
    return [Details(summary, [Text(text), *found])] if found else []


def _pooled_effects(doc: Attribution, load: Load, label: str) -> list[Block]:
    pooled = load.quantiles[label].pooled
    if not pooled:
        return []
    effects = [one for one in pooled.effects if one.term != "(Intercept)"]
    unit, shown = wording.column(((one.value, one.low, one.high) for one in effects), sign=True)
    _, naive = wording.column(
        ((one.value, one.naive_low, one.naive_high) for one in effects), sign=True, unit=unit
    )
    axis, drawn = rows.pooled_intervals(effects)
    columns: list[Column] = [
        ("term", "<", [one.term.replace(":", wording.TIMES) for one in effects]),
        (axis, ">", drawn),
        (unit.name, ">", [one.value for one in shown]),
        ("interval over runs", ">", [one.interval for one in shown]),
        ("naive interval", ">", [Cell(one.interval, "muted") for one in naive]),
    ]
    about = (
        f"The variance of an effect is {numbers.number(pooled.design_effect)} times the variance with"
        f" independent requests (median cell). Pseudo-R² on requests: {wording.number(pooled.pseudo_r2, 4)}."
    )
    return [Text(about, "muted"), make_table(columns)]


def _host(doc: Attribution) -> list[Block]:
    tones: dict[str, Tone] = {"fine": "valid", "unfit": "invalid"}
    findings = []
    for one in doc.host.get("findings") or ():
        why = f". {one['why']}" if one["why"] else ""
        text = f"{one['title']}: {writing.format_value('', one['value'])}{why}"
        hint = None if one["mark"] == "fine" else one["hint"]
        findings.append(Item(text, one["mark"], tones.get(one["mark"], "note"), hint))
    facts = writing.pairs(doc.host.get("facts") or {})
    none = "" if findings or facts else "No facts about the host were stored."
    return [Items(findings), Facts(facts), Text(none)]
