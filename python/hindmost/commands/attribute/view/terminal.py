"""An attribution for the terminal: the answer, the causes, the recommended setting."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from hindmost.commands.attribute.view import wording
from hindmost.commands.attribute.view.tables import (
    EffectRow,
    best_of,
    best_text,
    design_text,
    effect_rows,
    failures,
    format_confirmation,
    intercept,
)
from hindmost.present import numbers
from hindmost.present.columns import align_columns
from hindmost.present.document import clean
from hindmost.present.writing import keep_units

if TYPE_CHECKING:
    from hindmost.commands.attribute.document import Attribution, Confirmation, Load, QuantileAnswer

WIDTH = 100
_LABEL = 34
"""Columns for a term. A longer term has its own line."""
_INTERACTIONS = 12
"""Number of interactions that have a line, the largest first. The others are counted."""


def render_attribution(document: "Mapping[str, Any] | Attribution") -> str:
    """Render a document ``hindmost.attribution/2`` as text of at most 100 columns."""
    doc = cast("Attribution", clean(document))
    mark, _ = wording.STATES[doc["verdict"]]
    lines = _wrap(f"{mark} {doc['verdict']}  {doc['name']}, target {doc['target']}: {design_text(doc)}", 2)
    lines += ["", *(line for text in doc["summary"] for line in _wrap(text))]
    lines += [line for text in wording.new_findings(doc) for line in _wrap(f"- {text}", 2)]
    for load in doc["loads"]:
        for label in wording.sort_quantiles(doc, [name for name in load["quantiles"] if name != "mean"]):
            if found := _answer(doc, load, label, load["quantiles"][label]):
                lines += ["", *found]
        for cell in failures(doc, load):
            text = cell["failure"]["text"] if cell["failure"] else ""
            lines += _wrap(f"not run at {load['name']}: {wording.setting(cell['levels'])}: {text}", 2)
    for one in doc["confirmations"]:
        lines += ["", *_confirmation(one)]
    if doc["applied"]:
        lines += ["", *_wrap(f"applied: the host keeps {wording.setting(doc['applied'])}", 2)]
    if doc["reasons"]:
        lines.append("")
    for reason in doc["reasons"]:
        lines += _wrap(f"{reason['level']}: {reason['text']}", 2)
        if reason["hint"]:
            # Unwrapped, so that the user can copy a whole command.
            lines.append(f"  hint: {reason['hint'].replace('`', '')}")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _wrap(text: str, indent: int = 0) -> list[str]:
    return textwrap.wrap(keep_units(text), WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False)


def _answer(doc: "Attribution", load: "Load", label: str, answer: "QuantileAnswer") -> list[str]:
    """Return the lines of one quantile at one load: shown effects, the others briefly, the best setting."""
    effects, base, where = (
        answer["average"],
        "mean of all cells",
        "on average over the levels of the other factors",
    )
    if not effects:
        effects, base = answer["corner"], "all factors at their first level"
        where = "with the other factors at their first level"
    if not effects and not answer["best"]:
        return []
    unit, rows = effect_rows(doc, effects)
    joint = [row for row in rows if row.shown_among_all and len(row.effect["factors"]) > 1]
    shown = [row for row in rows if len(row.effect["factors"]) == 1 or row in joint[:_INTERACTIONS]]
    start = intercept(effects)
    base = f"{base} {start}; effects " if start else ""
    lines = _wrap(f"{label} at {wording.load_text(load)}: {base}{where}", 2)
    if shown:
        lines += _table(shown, unit.name)
    if more := len(joint[_INTERACTIONS:]):
        lines.append(f"  and {numbers.plural(more, 'smaller interaction')} shown on the page")
    pairs = [row for row in rows if len(row.effect["factors"]) <= 2]
    if rest := [row.name for row in pairs if row not in shown and row.effect["verdict"] == "negligible"]:
        lines += _wrap(f"  within {wording.delta(doc)}: {', '.join(rest)}", 4)
    if rest := [_open(row) for row in pairs if row.effect["verdict"] == "undecided"]:
        lines += _wrap(f"  undecided (additional runs of each cell needed): {', '.join(rest)}", 4)
    if many := len([row for row in rows if row not in pairs and not row.shown_among_all]):
        lines.append(f"  {numbers.plural(many, 'term')} of three or more factors without a shown effect")
    lines += [
        line
        for row in shown
        if row.aliases
        for line in _wrap(
            f"  aliased: {row.name} cannot be separated from {wording.list_few(row.aliases)}", 4
        )
    ]
    lines += [line for one in answer["reversals"] for line in _wrap(f"  ! {one['text']}", 4)]
    first, tied = best_of(answer)
    if first:
        lines += _wrap(f"  best: {best_text(answer, first, tied)}", 4)
    return lines


def _open(row: EffectRow) -> str:
    return f"{row.name} ({row.more})" if row.more else row.name


def _table(rows: Sequence[EffectRow], unit: str) -> list[str]:
    head = ("", unit, f"interval {unit}", "share", "adj. p", "")
    cells = [
        (
            row.name if len(row.name) <= _LABEL else "",
            row.shown.value,
            row.shown.interval,
            row.share,
            row.p,
            row.verdict,
        )
        for row in rows
    ]
    lines = []
    written = align_columns([head, *cells], "<><>><")
    for row, line in zip([None, *rows], written, strict=True):
        if row and len(row.name) > _LABEL:
            lines += _wrap(f"  {row.name}", 4)
        lines.append(f"  {line}")
    return lines


def _confirmation(one: "Confirmation") -> list[str]:
    outcome = "" if one["outcome"] in one["text"] else f"{one['outcome']}: "
    lines = _wrap(f"confirmation at {one['load']}: {outcome}{one['text']}", 2)
    for name, side in (("before", one["before"]), ("after", one["after"])):
        lines += _wrap(
            f"  {name:<7} {wording.setting(side['levels'])} ({numbers.plural(side['runs'], 'run')})", 10
        )
    unit, rows = format_confirmation(one)
    head = ("", f"before {unit.name}", f"after {unit.name}", "after / before", "spread")
    table = [(row.label, row.before, row.after, row.ratio, row.spread) for row in rows]
    lines += [f"  {line}" for line in align_columns([head, *table], "<<<<<")]
    if promised := [f"{row.label} {row.predicted}" for row in rows if row.predicted != numbers.MISSING]:
        lines += _wrap(f"  predicted by the model: {', '.join(promised)}", 4)
    return lines
