"""Rows that several tables share: effects, levels of a setting, the best settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hindmost.commands.attribute.document import Attribution, Effect, Levels, QuantileAnswer
from hindmost.commands.attribute.view import wording
from hindmost.present import numbers
from hindmost.present.blocks import Cell, Table
from hindmost.present.numbers import MISSING

Column = tuple[str | Cell, str, Sequence[str | Cell]]
"""Head, side (``<`` or ``>``) and cells."""


def make_table(columns: Sequence[Column], caption: str = "") -> Table:
    """Build a table from its columns. Columns of empty texts are left out."""
    kept = [column for column in columns if any(column[2])]
    rows = list(zip(*(cells for _, _, cells in kept), strict=True))
    return Table([head for head, _, _ in kept], rows, "".join(side for _, side, _ in kept), caption=caption)


def level_columns(doc: Attribution, settings: Sequence[Levels]) -> list[Column]:
    """Return a column of levels for each factor. Levels that differ from the control are strong."""
    control = doc.design.control

    def cell(name: str, levels: Levels) -> Cell:
        tone = "muted" if levels.get(name) == control.get(name) else "strong"
        return Cell(levels.get(name, MISSING), tone)  # type: ignore[arg-type]

    return [(one.name, ">", [cell(one.name, levels) for levels in settings]) for one in doc.factors]


class EffectRow(NamedTuple):
    """One term, its name, and its value and interval in the unit of the table."""

    effect: Effect
    name: str
    shown: wording.FormattedFigure
    aliases: list[str]


def effect_rows(
    doc: Attribution, effects: Sequence[Effect], *, ranked: bool = True
) -> tuple[str, list[EffectRow]]:
    """Format effects without the intercept, and return their unit. If `ranked`, shown ones come first."""
    effects = [one for one in effects if one.factors]
    if ranked:
        effects = sorted(effects, key=_rank)
    unit, shown = wording.column(((one.value, one.low, one.high) for one in effects), sign=True)
    aliases = doc.design.aliases
    return unit.name, [
        EffectRow(
            one,
            wording.term(one, doc),
            figure,
            [alias.replace(":", wording.TIMES) for alias in aliases.get(":".join(one.factors), [])],
        )
        for one, figure in zip(effects, shown, strict=True)
    ]


def _rank(one: Effect) -> tuple[int, float]:
    first = 0 if one.verdict in wording.SHOWN else 2 if one.verdict == "negligible" else 1
    return first, -abs(one.value)


def effect_columns(unit: str, rows: Sequence[EffectRow]) -> list[Column]:
    """Return the columns that all tables of effects have, after their names."""
    return [
        (
            unit,
            ">",
            [Cell(row.shown.value, "strong" if row.effect.verdict in wording.SHOWN else "") for row in rows],
        ),
        ("interval", ">", [row.shown.interval for row in rows]),
        ("share", ">", [wording.percent(row.effect.share) for row in rows]),
        ("adj. p", ">", [wording.p_value(row.effect.adjusted) for row in rows]),
        (
            "verdict",
            "<",
            [
                Cell(wording.VERDICTS[row.effect.verdict], wording.EFFECT_TONES[row.effect.verdict])
                for row in rows
            ],
        ),
    ]


def base_text(effects: Sequence[Effect], what: str) -> str:
    """Format the base of effects with its interval, or return "" without an intercept."""
    for one in effects:
        if not one.factors:
            unit, (shown,) = wording.column([(one.value, one.low, one.high)])
            return f"{what} {shown.value}{numbers.THIN}{unit.name} {shown.interval}".rstrip()
    return ""


def best_value(answer: QuantileAnswer) -> str:
    """Format the figure of the best setting, with the model's interval."""
    first = answer.best[0]
    same = (one for one in answer.predicted if one.levels == first.levels)
    low, high = next(((one.low, one.high) for one in same), (None, None))
    unit, (shown,) = wording.column([(first.value, low, high)])
    return f"{shown.value}{numbers.THIN}{unit.name} {shown.interval}".rstrip()
