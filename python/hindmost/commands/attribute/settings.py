"""Settings by the model: predicted figures, the best settings, effects that reverse their sign."""

from __future__ import annotations

from hindmost.commands.attribute import document as documents
from hindmost.commands.attribute.design import Cell
from hindmost.commands.attribute.design.factors import is_forbidden
from hindmost.commands.attribute.model import FittedModel
from hindmost.commands.attribute.plan import AttributionPlan
from hindmost.commands.attribute.scale import Scale, positive
from hindmost.core.store.estimates import Value, bounds, number
from hindmost.stats import Crossing, best_differences, find_crossings, low_level_difference


def is_allowed(plan: AttributionPlan, cell: Cell) -> bool:
    """Whether the design allows a cell."""
    return not is_forbidden(cell, plan.design.factors, plan.design.forbidden)


def predict_cells(plan: AttributionPlan, model: FittedModel) -> list[documents.Prediction]:
    """Return every cell that the model covers, with its interval."""
    if model.fit is None:
        return []
    rows: list[documents.Prediction] = []
    for one in model.fit.predicted():
        if is_allowed(plan, one.cell) and covers(model, one.cell):
            low, high = (one.low, one.high) if model.ratio else positive(one.value, one.low, one.high)
            run = one.runs > 0
            rows.append(
                documents.Prediction(
                    levels=plan.levels(one.cell), run=run, value=one.value, low=low, high=high
                )
            )
    return rows


def covers(model: FittedModel, cell: Cell) -> bool:
    """Whether the model covers a cell: it was run, no term was lost, or the cell needs no lost term."""
    assert model.fit is not None
    high = {name for name, level in zip(model.fit.design.factors, cell, strict=True) if level}
    return cell in model.runs or not any(set(term) <= high for term in model.fit.lost)


def reversals(plan: AttributionPlan, model: FittedModel) -> list[documents.Reversal]:
    """Return factors that significantly raise the figure at one level of another and lower it at another."""
    if model.fit is None:
        return []
    levels = {factor.name: factor.levels for factor in plan.design.factors}
    scale = model.scale("average")
    out: list[documents.Reversal] = []
    for one in find_crossings(model.fit):
        if not one.shown:
            continue
        at = levels[one.by]
        low, high = at[one.lowers_at], at[one.raises_at]
        down, up = one.effects[one.lowers_at], one.effects[one.raises_at]
        level = levels[one.factor][one.level]
        out.append(
            documents.Reversal(
                factor=one.factor,
                level=level,
                by=one.by,
                at=list(at),
                effects_us=[_at_level(model, one, place) for place in range(len(at))],
                text=f"{one.factor} = {level} lowers it by {-scale.share(down.value):.0%} while"
                f" {one.by} is {low}, and raises it by {scale.share(up.value):.0%} while {one.by} is {high}",
            )
        )
    return out


def _at_level(model: FittedModel, one: Crossing, place: int) -> Value:
    """Return the effect of a factor at one level of another, µs."""
    effect = one.effects[place]
    if not model.ratio:
        return _value(effect.value, effect.low, effect.high)
    assert model.fit is not None
    difference = low_level_difference(model.fit, one.factor, {one.by: place}, one.level)
    return _value(difference.value, difference.low, difference.high)


def rank_cells(plan: AttributionPlan, model: FittedModel) -> list[documents.Candidate]:
    """Compare each cell with the best of the others (Hsu), lowest figure first."""
    if model.fit is None:
        return []
    among = [cell for cell in model.fit.spoken_of if is_allowed(plan, cell) and covers(model, cell)]
    if len(among) < 2:
        return []
    plain = Scale(model.ratio, 1.0)
    rows: list[documents.Candidate] = []
    for one in best_differences(model.fit, among, model.confidence):
        other = Scale(model.ratio, plain.figure(one.value - one.behind))
        rows.append(
            documents.Candidate(
                levels=plan.levels(one.cell),
                value=plain.figure(one.value),
                behind_us=_value(*map(other.us, (one.behind, one.low, one.high))),
                tied=one.tied,
            )
        )
    return rows


def _value(value: float, low: float, high: float) -> Value:
    return Value(value=number(value), **bounds(low, high))
