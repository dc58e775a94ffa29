"""Rows that the page and the terminal share: effects, configurations, confirmations, failed cells."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from hindmost.commands.attribute.view import wording
from hindmost.commands.attribute.view.wording import FormattedFigure
from hindmost.present import numbers
from hindmost.present.numbers import Unit

if TYPE_CHECKING:
    from hindmost.commands.attribute.document import (
        Attribution,
        Candidate,
        Cell,
        Confirmation,
        Effect,
        Levels,
        Load,
        Prediction,
        QuantileAnswer,
    )
    from hindmost.core.store.estimates import Value

_UNKNOWN: "Value" = {"value": None, "low": None, "high": None}


class EffectRow(NamedTuple):
    """One formatted term."""

    name: str
    shown: FormattedFigure
    share: str
    share_interval: str
    p: str
    permuted: str
    """The p-value from permuting runs. Empty if it is unknown."""
    verdict: str
    shown_among_all: bool
    more: str
    """Estimated runs of each cell that would decide the term."""
    aliases: list[str]
    effect: "Effect"


def effect_rows(
    document: "Attribution", effects: Sequence["Effect"], *, ranked: bool = True
) -> tuple[Unit, list[EffectRow]]:
    """Format effects without the intercept. If `ranked`, decided and large effects come first."""
    effects = [one for one in effects if one["factors"]]
    if ranked:
        effects = sorted(effects, key=lambda one: (_weight(one), -abs(one["value"] or 0.0)))
    factors = {one["name"]: one for one in document["factors"]}
    unit, shown = wording.column([(one["value"], one["low"], one["high"]) for one in effects], sign=True)
    aliases = document["design"]["aliases"]
    return unit, [
        EffectRow(
            wording.term(one, factors),
            written,
            wording.percent(one["share"]),
            f"[{wording.percent(one['share_low'])}, {wording.percent(one['share_high'])}]",
            wording.p_value(one["adjusted"]),
            wording.p_value(one["permuted"]) if one["permuted"] is not None else "",
            wording.verdict(one),
            wording.is_shown(one),
            numbers.count(one["more_runs"]) if one["more_runs"] else "",
            [alias.replace(":", wording.TIMES) for alias in aliases.get(":".join(one["factors"]), [])],
            one,
        )
        for one, written in zip(effects, shown, strict=True)
    ]


def _weight(one: "Effect") -> int:
    if wording.is_shown(one):
        return 0
    return 2 if one["verdict"] == "negligible" else 1


def intercept(effects: Sequence["Effect"]) -> str:
    """Format the base of the effects with its interval, or return "" without an intercept."""
    for one in effects:
        if not one["factors"]:
            unit, (shown,) = wording.column([(one["value"], one["low"], one["high"])])
            return f"{shown.value}{numbers.THIN}{unit.name} {shown.interval}".rstrip()
    return ""


class Configuration(NamedTuple):
    """One cell: the model's prediction, and its distance to the best cell."""

    levels: "Levels"
    shown: FormattedFigure
    behind: str
    place: str
    """``best``, ``tied`` with the best, or empty."""
    run: bool
    prediction: "Prediction"


def configurations(answer: "QuantileAnswer") -> tuple[Unit, list[Configuration]]:
    """Return every cell that the model covers, the fastest first, compared with the best cell."""
    ranked = sorted(answer["predicted"], key=lambda one: math.inf if one["value"] is None else one["value"])
    unit, shown = wording.column([(one["value"], one["low"], one["high"]) for one in ranked])
    compared = [(_key(one["levels"]), one) for one in answer["best"]]
    places = {key: "tied" if one["tied"] else "" for key, one in compared[1:]}
    places |= {key: "best" for key, _ in compared[:1]}
    _, behind = wording.column(
        [(b["value"], b["low"], b["high"]) for b in (one["behind_us"] for _, one in compared)], sign=True
    )
    texts = {
        key: f"{text.value} {text.interval}".strip() for (key, _), text in zip(compared, behind, strict=True)
    }
    rows = []
    for one, written in zip(ranked, shown, strict=True):
        key = _key(one["levels"])
        place = places.get(key, "")
        rows.append(Configuration(one["levels"], written, texts.get(key, ""), place, one["run"], one))
    return unit, rows


def _key(levels: "Levels") -> tuple[tuple[str, str], ...]:
    return tuple(sorted(levels.items()))


def best_of(answer: "QuantileAnswer") -> tuple["Candidate | None", list["Candidate"]]:
    """Return the best cell, and the others that the data cannot separate from it."""
    if not answer["best"]:
        return None, []
    first, *others = answer["best"]
    return first, [one for one in others if one["tied"]]


def value_of(answer: "QuantileAnswer", one: "Candidate") -> tuple[str, str]:
    """Format the value of a cell with its unit, and the model's interval."""
    same = (p for p in answer["predicted"] if p["levels"] == one["levels"])
    ends = next(((p["low"], p["high"]) for p in same), (None, None))
    unit, (shown,) = wording.column([(one["value"], *ends)])
    return f"{shown.value}{numbers.THIN}{unit.name}", shown.interval


def best_text(answer: "QuantileAnswer", first: "Candidate", tied: Sequence["Candidate"]) -> str:
    """Format the best cell and the cells tied with it."""
    text = f"{wording.setting(first['levels'])}: {' '.join(value_of(answer, first)).rstrip()}"
    if not tied:
        return f"{text}; all other settings are slower"
    if len(tied) == len(answer["best"]) - 1:
        return f"{text}; not yet distinguishable from any other"
    first_few = "; ".join(wording.format_changes(one["levels"], first["levels"]) for one in tied[:2])
    more = f" and {len(tied) - 2} more" if len(tied) > 2 else ""
    return f"{text}; not distinguishable from it: the same with {first_few}{more}"


class ConfirmationRow(NamedTuple):
    """One formatted quantile of a confirmation."""

    label: str
    before: str
    after: str
    ratio: str
    predicted: str
    scatter: str
    spread: str


def format_confirmation(one: "Confirmation") -> tuple[Unit, list[ConfirmationRow]]:
    """Format each quantile of a confirmation, in one unit."""
    names = sorted(one["ratio"], key=numbers.label_order)
    sides = [
        [side["latency_us"].get(name, _UNKNOWN) for side in (one["before"], one["after"])] for name in names
    ]
    unit = numbers.unit_for([value["value"] or 0.0 for pair in sides for value in pair])
    rows = []
    for name, pair in zip(names, sides, strict=True):
        _, texts = wording.column([(s["value"], s["low"], s["high"]) for s in pair], unit=unit)
        before, after = (f"{text.value} {text.interval}".strip() for text in texts)
        rows.append(
            ConfirmationRow(
                name,
                before,
                after,
                wording.ratio(one["ratio"].get(name)),
                wording.ratio(one["predicted"].get(name)),
                " → ".join(
                    numbers.latency(side["between_runs_sd_us"].get(name))
                    for side in (one["before"], one["after"])
                ),
                wording.ratio(one["spread_ratio"].get(name)),
            )
        )
    return unit, rows


def failures(document: "Attribution", load: "Load") -> list["Cell"]:
    """Return the cells without a figure at a load, unless a reason names them."""
    named = [
        reason.get("values", {}).get("load")
        for reason in document["reasons"]
        if reason["code"] == "failed-cell"
    ]
    return [] if load["name"] in named else [cell for cell in load["cells"] if cell["failure"]]


def design_text(document: "Attribution") -> str:
    """Describe the design and the runs."""
    design = document["design"]
    kind = {
        "full": f"full factorial of {design['cells']} cells",
        "fraction": f"fraction of resolution {_roman(design['resolution'])}:"
        f" {design['cells']} of {design['possible']} cells",
        "screening": f"screening design: {design['cells']} of {design['possible']} cells",
        "subset": f"{design['cells']} of {design['possible']} cells",
    }[design["kind"]]
    blocks = numbers.plural(design["blocks"], "block")
    took = numbers.seconds(document["seconds_total"])
    return f"{kind}, {blocks}, {numbers.plural(design['runs'], 'run')} in {took}"


def _roman(resolution: int | None) -> str:
    return {3: "III", 4: "IV", 5: "V", 6: "VI", 7: "VII"}.get(resolution or 0, str(resolution or "unknown"))
