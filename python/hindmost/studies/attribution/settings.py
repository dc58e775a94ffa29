"""What a model says of settings: predicted figures, the best of them, effects that turn their sign."""

from __future__ import annotations

from hindmost.design import Cell
from hindmost.design.factors import is_forbidden
from hindmost.stats import best, crossings
from hindmost.store import attribution as documents
from hindmost.store.estimates import Value, bounds, number
from hindmost.studies.attribution.model import Found
from hindmost.studies.attribution.plan import AttributionPlan
from hindmost.studies.attribution.scale import Scale


def _allowed(plan: AttributionPlan, cell: Cell) -> bool:
    return not is_forbidden(cell, plan.design.factors, plan.design.forbidden)


def predicted(plan: AttributionPlan, found: Found) -> list[documents.Prediction]:
    """Every cell that the model speaks of, with its interval."""
    if found.fit is None:
        return []
    return [
        {
            "levels": plan.levels(one.cell),
            "run": one.runs > 0,
            "value": one.value,
            "low": one.low,
            "high": one.high,
        }
        for one in found.fit.predicted()
        if _allowed(plan, one.cell) and _told(found, one.cell)
    ]


def _told(found: Found, cell: Cell) -> bool:
    """Whether the model speaks of a cell: it was run, or no term was lost, or the cell needs none of them."""
    assert found.fit is not None
    high = {name for name, level in zip(found.fit.design.factors, cell, strict=True) if level}
    return cell in found.runs or not any(set(term) <= high for term in found.fit.lost)


def reversals(plan: AttributionPlan, found: Found) -> list[documents.Reversal]:
    """Factors that raise at one level of another and lower at the other, where both signs are sure."""
    if found.fit is None:
        return []
    levels = {factor.name: factor.levels for factor in plan.design.factors}
    scale = found.scale("average")
    out: list[documents.Reversal] = []
    for one in crossings(found.fit):
        if not one.shown:
            continue
        at = levels[one.by]
        low, high = at[one.lowers_at], at[one.raises_at]
        down, up = one.effects[one.lowers_at], one.effects[one.raises_at]
        level = levels[one.factor][one.level]
        out.append(
            {
                "factor": one.factor,
                "by": one.by,
                "at": list(at),
                "effects_us": [_written(scale, e.value, e.low, e.high) for e in one.effects],
                "text": f"{one.factor} = {level} lowers it by {-scale.share(down.value):.0%} while"
                f" {one.by} is {low}, and raises it by {scale.share(up.value):.0%} while {one.by} is {high}",
            }
        )
    return out


def ranked(plan: AttributionPlan, found: Found) -> list[documents.Candidate]:
    """Cells beside the best of the others (Hsu), the least figure first."""
    if found.fit is None:
        return []
    among = [cell for cell in found.fit.spoken_of if _allowed(plan, cell) and _told(found, cell)]
    if len(among) < 2:
        return []
    plain = Scale(found.ratio, 1.0)
    rows: list[documents.Candidate] = []
    for one in best(found.fit, among, found.confidence):
        other = Scale(found.ratio, plain.figure(one.value - one.behind))
        rows.append(
            {
                "levels": plan.levels(one.cell),
                "value": plain.figure(one.value),
                "behind_us": _written(other, one.behind, one.low, one.high),
                "tied": one.tied,
            }
        )
    return rows


def _written(scale: Scale, value: float, low: float, high: float) -> Value:
    """A difference in the unit of the fit, with its interval, in microseconds."""
    return {"value": number(scale.us(value)), **bounds(scale.us(low), scale.us(high))}
