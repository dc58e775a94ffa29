"""The page of an attribution: the answer first, then its evidence, in one file without scripts."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from hindmost.commands.attribute.view import panels, rows, variance, wording
from hindmost.commands.attribute.view.tables import (
    best_of,
    configurations,
    design_text,
    effect_rows,
    format_confirmation,
    intercept,
    value_of,
)
from hindmost.present import numbers
from hindmost.present.document import clean
from hindmost.present.sheet import drawing, render

if TYPE_CHECKING:
    from markupsafe import Markup

    from hindmost.commands.attribute.document import Attribution, Cell, Effect, Levels, Load, QuantileAnswer


INTERCEPT = "(Intercept)"


class ChartTable(NamedTuple):
    """A table with a small chart in each row, and the common axis of the charts."""

    unit: str
    axis: "Markup"
    rows: "list[tuple[Any, Markup]]"
    base: str = ""
    """For effects: the base figure to which they are added."""
    many: "Sequence[tuple[Any, Markup]]" = ()
    """For effects: terms of three or more factors, which the page hides until they are opened."""


class Part(NamedTuple):
    """The section of one load: its name, and a table for each quantile, the study's own quantile first."""

    load: "Load"
    title: str
    by_quantile: list[tuple[str, Any]]


def render_attribution_page(document: "Mapping[str, Any] | Attribution") -> str:
    """Render the page of a document ``hindmost.attribution/2`` as one self-contained HTML file."""
    doc = cast("Attribution", clean(document))
    mark, colour = wording.STATES[doc["verdict"]]
    labels = wording.sort_quantiles(doc, doc["quantiles"])
    return render(
        "attribution.html",
        doc=doc,
        mark=mark,
        colour=colour,
        wording=wording,
        labels=labels,
        factors=[one["name"] for one in doc["factors"]],
        design=design_text(doc),
        settings=settings(doc),
        confirmations=[
            (
                one,
                *format_confirmation(one),
                list(filter(None, [panels.before_after(one, label) for label in labels])),
            )
            for one in doc["confirmations"]
        ],
        coding=panels.coding(doc),
        averages=list(filter(None, [panels.factors_alone(doc, label) for label in labels])),
        reversals=[
            (panels.interaction(one, label, load["name"]), one["text"])
            for load in doc["loads"]
            for label, answer in _answers(doc, load)
            for one in answer["reversals"]
        ],
        effects_=_parts(doc, partial(_effects, doc)),
        configurations_=_parts(doc, _configurations),
        runs_=[
            Part(load, wording.load_text(load), [(label, _runs(load, label)) for label in labels])
            for load in doc["loads"]
            if load["cells"]
        ],
        pooled_=_parts(doc, _pooled_section),
        explained=variance.explained_variance(doc),
        stack=drawing(partial(variance.stack, doc)),
        drifts=[
            (load["name"], load["drift"], panels.drift(load["drift"], load["name"]))
            for load in doc["loads"]
            if load["drift"]
        ],
    )


def _answers(doc: "Attribution", load: "Load") -> "list[tuple[str, QuantileAnswer]]":
    return [
        (label, load["quantiles"][label]) for label in wording.sort_quantiles(doc, list(load["quantiles"]))
    ]


def _parts(doc: "Attribution", table: "Callable[[QuantileAnswer], Any]") -> list[Part]:
    """Build a table for each quantile of each load. Loads and quantiles without a table are left out."""
    found = []
    for load in doc["loads"]:
        tables = [(label, table(answer)) for label, answer in _answers(doc, load)]
        if known := [(label, one) for label, one in tables if one]:
            found.append(Part(load, wording.load_text(load), known))
    return found


def _effects(doc: "Attribution", answer: "QuantileAnswer") -> list[tuple[str, ChartTable]]:
    """Build tables of the average effects, ranked, and of the effects of Table IV in the model's order."""
    tables = []
    for name, effects in (("average", answer["average"]), ("corner", answer["corner"])):
        if effects:
            tables.append((name, _forest(doc, effects, ranked=name == "average")))
    return tables


def _forest(doc: "Attribution", effects: "Sequence[Effect]", *, ranked: bool) -> ChartTable:
    unit, written = effect_rows(doc, effects, ranked=ranked)
    axis, charts = rows.forest(written, wording.band(doc, effects), ratio=doc["scale"] == "ratio")
    drawn = list(zip(written, charts, strict=True))
    few = [(row, chart) for row, chart in drawn if len(row.effect["factors"]) <= 2]
    many = [(row, chart) for row, chart in drawn if len(row.effect["factors"]) > 2]
    return ChartTable(unit.name, axis, few, intercept(effects), many)


def _configurations(answer: "QuantileAnswer") -> ChartTable | None:
    unit, written = configurations(answer)
    if not written:
        return None
    axis, charts = rows.predictions(written)
    return ChartTable(unit.name, axis, list(zip(written, charts, strict=True)))


def _runs(load: "Load", label: str) -> ChartTable:
    """Build the table of each cell's runs. Next to isolated latency it shows measured latency."""
    cells = load["cells"]
    axis, charts = rows.strips(cells, label)
    unit, means = wording.column([_mean(cell, label) for cell in cells])
    isolated = wording.is_isolated(load)
    raw = [cell["measured_us"].get(label) if isolated else None for cell in cells]
    measured = [numbers.latency(one["value"]) if one else "" for one in raw]
    shown = zip(cells, means, measured, strict=True)
    return ChartTable(unit.name, axis, list(zip(shown, charts, strict=True)))


def _mean(cell: "Cell", label: str) -> tuple[float | None, float | None, float | None]:
    """Return the mean of a cell with the ends of its interval."""
    found = cell["latency_us"].get(label)
    return (found["value"], found["low"], found["high"]) if found else (None, None, None)


def _pooled_section(answer: "QuantileAnswer") -> tuple[Any, ChartTable] | None:
    pooled = answer["pooled"]
    if not pooled:
        return None
    effects = [one for one in pooled["effects"] if one["term"] != INTERCEPT]
    unit, honest = wording.column([(e["value"], e["low"], e["high"]) for e in effects], sign=True)
    _, naive = wording.column(
        [(e["value"], e["naive_low"], e["naive_high"]) for e in effects], sign=True, unit=unit
    )
    axis, charts = rows.draw_pooled_intervals(effects)
    named = [one["term"].replace(":", wording.TIMES) for one in effects]
    return pooled, ChartTable(
        unit.name, axis, list(zip(zip(named, honest, naive, strict=True), charts, strict=True))
    )


class Setting(NamedTuple):
    """The best setting for one quantile at one load."""

    load: str
    label: str
    levels: "Levels"
    value: str
    interval: str
    tied: int
    others: int
    confirmed: str | None


def settings(doc: "Attribution") -> list[Setting]:
    """Return the best cell for each quantile and load, its ties and its confirmation."""
    fresh = {(one["load"], one["quantile"]): one for one in doc["confirmations"]}
    found = []
    for load in doc["loads"]:
        for label, answer in _answers(doc, load):
            first, tied = best_of(answer)
            if first and label != "mean":
                value, interval = value_of(answer, first)
                one = fresh.get((load["name"], label))
                outcome = one["outcome"] if one and one["after"]["levels"] == first["levels"] else None
                found.append(
                    Setting(
                        load["name"],
                        label,
                        first["levels"],
                        value,
                        interval,
                        len(tied),
                        len(answer["best"]) - 1,
                        outcome,
                    )
                )
    return found
