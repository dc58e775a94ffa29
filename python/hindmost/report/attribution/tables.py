"""Rows that the page and the terminal both show: effects, configurations, confirmations, what failed."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from hindmost.report.attribution import words
from hindmost.report.attribution.words import Written
from hindmost.report.common import numbers
from hindmost.report.common.numbers import Unit

if TYPE_CHECKING:
    from hindmost.store.attribution import (
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
    from hindmost.store.estimates import Value

_UNKNOWN: "Value" = {"value": None, "low": None, "high": None}


class EffectRow(NamedTuple):
    """One term, written."""

    name: str
    shown: Written
    share: str
    share_interval: str
    p: str
    permuted: str
    """By exchanging runs; empty where it is not known."""
    verdict: str
    shown_among_all: bool
    more: str
    """Runs of each cell that would about decide it."""
    aliases: list[str]
    effect: "Effect"


def effect_rows(
    document: "Attribution", effects: Sequence["Effect"], *, ranked: bool = True
) -> tuple[Unit, list[EffectRow]]:
    """Write effects, the intercept left out; ranked: what is decided first, the greatest first."""
    effects = [one for one in effects if one["factors"]]
    if ranked:
        effects = sorted(effects, key=lambda one: (_weight(one), -abs(one["value"] or 0.0)))
    factors = {one["name"]: one for one in document["factors"]}
    unit, shown = words.column([(one["value"], one["low"], one["high"]) for one in effects], sign=True)
    aliases = document["design"]["aliases"]
    return unit, [
        EffectRow(
            words.term(one, factors),
            written,
            words.percent(one["share"]),
            f"[{words.percent(one['share_low'])}, {words.percent(one['share_high'])}]",
            words.p_value(one["adjusted"]),
            words.p_value(one["permuted"]) if one["permuted"] is not None else "",
            words.verdict(one),
            words.shown(one),
            numbers.count(one["more_runs"]) if one["more_runs"] else "",
            [alias.replace(":", words.TIMES) for alias in aliases.get(":".join(one["factors"]), [])],
            one,
        )
        for one, written in zip(effects, shown, strict=True)
    ]


def _weight(one: "Effect") -> int:
    if words.shown(one):
        return 0
    return 2 if one["verdict"] == "negligible" else 1


def intercept(effects: Sequence["Effect"]) -> str:
    """Write what the effects are added to, with its interval; nothing where it is not among them."""
    for one in effects:
        if not one["factors"]:
            unit, (shown,) = words.column([(one["value"], one["low"], one["high"])])
            return f"{shown.value}{numbers.THIN}{unit.name} {shown.interval}".rstrip()
    return ""


class Configuration(NamedTuple):
    """One cell: what the model says of it, and how far behind the best it is."""

    levels: "Levels"
    shown: Written
    behind: str
    place: str
    """``best``, ``tied`` with it, or nothing."""
    run: bool
    prediction: "Prediction"


def configurations(answer: "QuantileAnswer") -> tuple[Unit, list[Configuration]]:
    """Every cell that the model covers, the lowest first, with the comparison with the best."""
    ranked = sorted(answer["predicted"], key=lambda one: math.inf if one["value"] is None else one["value"])
    unit, shown = words.column([(one["value"], one["low"], one["high"]) for one in ranked])
    compared = [(_key(one["levels"]), one) for one in answer["best"]]
    places = {key: "tied" if one["tied"] else "" for key, one in compared[1:]}
    places |= {key: "best" for key, _ in compared[:1]}
    _, behind = words.column(
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
    """The best cell, and the others that cannot be told from it."""
    if not answer["best"]:
        return None, []
    first, *others = answer["best"]
    return first, [one for one in others if one["tied"]]


def value_of(answer: "QuantileAnswer", one: "Candidate") -> tuple[str, str]:
    """Write the value of a cell with its unit, and the interval that the model gives it."""
    same = (p for p in answer["predicted"] if p["levels"] == one["levels"])
    ends = next(((p["low"], p["high"]) for p in same), (None, None))
    unit, (shown,) = words.column([(one["value"], *ends)])
    return f"{shown.value}{numbers.THIN}{unit.name}", shown.interval


def best_text(answer: "QuantileAnswer", first: "Candidate", tied: Sequence["Candidate"]) -> str:
    """Write the best cell and what is tied with it."""
    text = f"{words.setting(first['levels'])}: {' '.join(value_of(answer, first)).rstrip()}"
    if not tied:
        return f"{text}; all others are shown to be slower"
    if len(tied) == len(answer["best"]) - 1:
        return f"{text}; cannot be told from any other yet"
    first_few = "; ".join(words.changed(one["levels"], first["levels"]) for one in tied[:2])
    more = f" and {len(tied) - 2} more" if len(tied) > 2 else ""
    return f"{text}; cannot be told from it: the same with {first_few}{more}"


class Confirmed(NamedTuple):
    """One quantile of a confirmation, written."""

    label: str
    before: str
    after: str
    ratio: str
    predicted: str
    scatter: str
    spread: str


def confirmed(one: "Confirmation") -> tuple[Unit, list[Confirmed]]:
    """Write each quantile of a confirmation, in one unit."""
    names = sorted(one["ratio"], key=numbers.label_order)
    sides = [
        [side["latency_us"].get(name, _UNKNOWN) for side in (one["before"], one["after"])] for name in names
    ]
    unit = numbers.unit_for([value["value"] or 0.0 for pair in sides for value in pair])
    rows = []
    for name, pair in zip(names, sides, strict=True):
        _, texts = words.column([(s["value"], s["low"], s["high"]) for s in pair], unit=unit)
        before, after = (f"{text.value} {text.interval}".strip() for text in texts)
        rows.append(
            Confirmed(
                name,
                before,
                after,
                words.ratio(one["ratio"].get(name)),
                words.ratio(one["predicted"].get(name)),
                " → ".join(
                    numbers.latency(side["between_runs_sd_us"].get(name))
                    for side in (one["before"], one["after"])
                ),
                words.ratio(one["spread_ratio"].get(name)),
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
    """Say what was run."""
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
