"""The answer: the causes, the recommended setting, its confirmation, and what weakens it."""

from __future__ import annotations

from collections.abc import Iterator

from hindmost.commands.attribute.document import Attribution, Confirmation, Levels, Load, QuantileAnswer, Side
from hindmost.commands.attribute.view import rows, wording
from hindmost.commands.attribute.view.tables import (
    Column,
    EffectRow,
    base_text,
    best_value,
    effect_columns,
    effect_rows,
    make_table,
)
from hindmost.core.store.estimates import UNKNOWN
from hindmost.present import numbers
from hindmost.present.blocks import Block, Facts, Item, Items, Only, Section, Table, Text, tone_of

_INTERACTIONS = 12
"""Number of interactions that have a row in the terminal, the largest first. The others are counted."""


def answer(doc: Attribution) -> Iterator[Block]:
    """Yield the blocks that the terminal and the page share, and the terminal's tables of effects."""
    yield from (Text(text) for text in doc.summary[1:])
    yield Only("terminal", [Text(f"{doc.name}, target {doc.target}: {wording.design_text(doc)}", "muted")])
    findings = [Item(text) for text in doc.findings if text not in doc.summary]
    yield Section("Other findings", [Items(findings), Only("page", [_prices(doc)]), Text(_applied(doc))])
    for load in doc.loads:
        brief = [_quantile(doc, load, label) for label in wording.labels(doc)]
        yield Only("terminal", brief)
    for place, one in enumerate(doc.confirmations, 1):
        anchor = f"confirmation-{place}"
        yield Section(f"Confirmation at {one.load}", list(_confirmation(doc, one)), anchor)
    reasons = [Item(one.text, one.level, tone_of(one.level), one.hint) for one in doc.reasons]
    failures = Only("terminal", [Items(_failures(doc))])
    yield Section("Why, and what to do", [failures, Items(reasons)], "reasons")


def _applied(doc: Attribution) -> str:
    if not doc.applied:
        return ""
    kept = wording.setting(doc.applied)
    return f"Applied: the host keeps {kept}. `hindmost host knobs restore` restores the original settings."


def _prices(doc: Attribution) -> Table:
    rows = []
    for one in doc.recommendation.prices:
        remarks = [(one.more_than_gained, "more than the gain"), (not one.shown, "not beyond doubt")]
        rows.append(
            (
                f"{one.quantile} at {one.load}",
                numbers.latency(one.before_us),
                numbers.latency(one.after_us),
                wording.ratio(one.ratio),
                "; ".join(text for holds, text in remarks if holds),
            )
        )
    heads = ("latency", "now", "then", "times", "remark")
    return Table(heads, rows, "<>>><", caption="Latency that the recommended setting raises")


def _quantile(doc: Attribution, load: Load, label: str) -> Section:
    """Return one quantile at one load: shown effects, the others briefly, the best setting."""
    answer = load.quantiles[label]
    what, where = "mean of all cells", "on average over the levels of the other factors"
    if not answer.average:
        what, where = "all factors at their first level", "with the other factors at their first level"
    effects = answer.average or answer.corner
    unit, every = effect_rows(doc, effects)
    joint = [row for row in every if row.effect.verdict in wording.SHOWN and len(row.effect.factors) > 1]
    main = [row for row in every if len(row.effect.factors) == 1 or row in joint[:_INTERACTIONS]]
    base = base_text(effects, what)
    caption = f"{base}; effects {where}" if base else f"effects {where}"
    return Section(
        f"{label} at {wording.load_text(load)}",
        [
            make_table([("", "<", [row.name for row in main]), *effect_columns(unit, main)], caption),
            Items([Item(text, word) for word, text in _others(doc, answer, every, main) if text]),
        ],
    )


def _others(
    doc: Attribution, answer: QuantileAnswer, every: list[EffectRow], main: list[EffectRow]
) -> Iterator[tuple[str, str]]:
    """Yield what a quantile's table does not show, each with its word."""
    pairs = [row for row in every if len(row.effect.factors) <= 2]
    shown = [row for row in every if row.effect.verdict in wording.SHOWN and row not in main]
    if shown:
        yield "", f"{numbers.plural(len(shown), 'smaller interaction')} shown on the page"
    small = [row.name for row in pairs if row.effect.verdict == "negligible" and row not in main]
    yield f"within {wording.delta(doc)}", ", ".join(small)
    undecided = [row for row in pairs if row.effect.verdict == "undecided"]
    yield "undecided (additional runs of each cell needed)", ", ".join(map(_open, undecided))
    many = [row for row in every if row not in pairs and row.effect.verdict not in wording.SHOWN]
    if many:
        yield "", f"{numbers.plural(len(many), 'term')} of three or more factors without a shown effect"
    for row in main:
        if row.aliases:
            yield "aliased", f"{row.name} cannot be separated from {wording.list_few(row.aliases)}"
    yield from (("reversal", one.text) for one in answer.reversals)
    yield "best", _best(answer)


def _open(row: EffectRow) -> str:
    return f"{row.name} ({numbers.count(row.effect.more_runs)})" if row.effect.more_runs else row.name


def _best(answer: QuantileAnswer) -> str:
    """Format the best cell and the cells tied with it."""
    if not answer.best:
        return ""
    first, *others = answer.best
    tied = [one.levels for one in others if one.tied]
    text = f"{wording.setting(first.levels)}: {best_value(answer)}"
    if not tied:
        return f"{text}; all other settings are slower"
    if len(tied) == len(others):
        return f"{text}; not yet distinguishable from any other"
    few = "; ".join(_changes(one, first.levels) for one in tied[:2])
    more = f" and {len(tied) - 2} more" if len(tied) > 2 else ""
    return f"{text}; not distinguishable from it: the same with {few}{more}"


def _changes(after: Levels, before: Levels) -> str:
    return wording.setting({name: level for name, level in after.items() if before.get(name) != level})


def _failures(doc: Attribution) -> list[Item]:
    """Return the cells without a figure, unless a reason names them."""
    named = [(one.values or {}).get("load") for one in doc.reasons if one.code == "failed-cell"]
    return [
        Item(f"{wording.setting(cell.levels)}: {cell.failure.text}", f"not run at {load.name}", "note")
        for load in doc.loads
        for cell in load.cells
        if cell.failure and load.name not in named
    ]


def _confirmation(doc: Attribution, one: Confirmation) -> Iterator[Block]:
    yield Text(one.text, wording.TONES[one.outcome])
    labels = sorted(one.ratio, key=numbers.label_order)
    settings = [
        (name, f"{wording.setting(side.levels)} ({numbers.plural(side.runs, 'fresh run')})")
        for name, side in _sides(one)
    ]
    promised = [f"{label} {wording.ratio(ratio)}" for label, ratio in one.predicted.items()]
    if promised:
        settings.append(("predicted", f"{', '.join(promised)} times as long"))
    yield Facts(settings)
    values = [[side.latency_us.get(label, UNKNOWN) for _, side in _sides(one)] for label in labels]
    unit = numbers.unit_for([value.value or 0.0 for pair in values for value in pair])
    shown = [wording.column(map(wording.ends, pair), unit=unit)[1] for pair in values]
    yield make_table(
        [
            ("", "<", labels),
            (f"before {unit.name}", ">", [str(before) for before, _ in shown]),
            (f"after {unit.name}", ">", [str(after) for _, after in shown]),
            ("after / before", ">", [wording.ratio(one.ratio[label]) for label in labels]),
            ("ratio of spreads", ">", [wording.ratio(one.spread_ratio.get(label)) for label in labels]),
        ]
    )
    yield Only("page", _fresh_runs(doc, one))


def _sides(one: Confirmation) -> list[tuple[str, Side]]:
    return [("before", one.before), ("after", one.after)]


def _fresh_runs(doc: Attribution, one: Confirmation) -> list[Block]:
    """Draw the fresh runs of both settings (Treadmill, Figure 12)."""
    found = [
        (f"{label} {name}", side, label)
        for label in wording.labels(doc)
        for name, side in _sides(one)
        if side.values.get(label)
    ]
    axis, charts = rows.strips(
        [(name, side.values[label], side.latency_us.get(label)) for name, side, label in found]
    )
    spreads = [numbers.latency(side.between_runs_sd_us.get(label)) for _, side, label in found]
    note = (
        "Alternating fresh runs of both settings (Treadmill, Figure 12): a stroke is a run, dot and bar are"
        f" their mean with its {numbers.percent(doc.confidence)} interval. Fresh runs are needed because the"
        " best of many settings is chosen partly by chance. After / before is the ratio of a typical pair, by"
        " signed ranks of the logarithms, so that one pair with interference has little weight. Spreads are"
        " compared by ranks, too."
    )
    columns: list[Column] = [
        ("fresh runs", "<", [name for name, *_ in found]),
        (axis, ">", charts),
        ("standard deviation between runs", ">", spreads),
    ]
    return [make_table(columns), Text(note, "muted")] if found else []
