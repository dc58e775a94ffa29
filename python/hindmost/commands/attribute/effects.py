"""Effects of the factors, for all loads and quantiles together.

Intervals and p-values take blocks into account. An effect is *shown* only by its p-value, adjusted over all
terms, quantiles and loads: an interval of its own that excludes zero is no finding among a hundred questions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from hindmost.commands.attribute import document as documents
from hindmost.commands.attribute.cells import RunValues
from hindmost.commands.attribute.family import Adjustment, Key, adjust_ps, exchange_ps
from hindmost.commands.attribute.model import FittedModel
from hindmost.commands.attribute.plan import AttributionPlan
from hindmost.commands.attribute.pooling import pooled_effects
from hindmost.commands.attribute.scale import Scale
from hindmost.commands.attribute.settings import predict_cells, rank_cells, reversals
from hindmost.core.store.estimates import number
from hindmost.stats import (
    Effect,
    RunFit,
    decide,
    explained_variance,
    find_misfit,
    holm,
    more_runs,
    pseudo_r2,
    term_difference,
)
from hindmost.stats.factors.coding import Coding
from hindmost.stats.factors.differences import base_row
from hindmost.stats.tables import t_quantile


@dataclass(frozen=True, slots=True)
class JudgedEffect:
    """An effect, judged among all effects of the study.

    ``effect``: for an interaction, everything beyond its parts. ``adjusted``: p-value; NaN for the intercept.
    ``more_runs``: runs of each cell that would about decide it; None if it is decided or no practical number
    would.
    """

    effect: Effect
    adjusted: float
    verdict: documents.Words
    more_runs: int | None


def judge_effects(
    plan: AttributionPlan,
    models: Mapping[Key, FittedModel],
    coding: Coding,
    permuted: Mapping[Key, list[float]],
) -> tuple[Adjustment, dict[Key, list[JudgedEffect]]]:
    """Judge all effects of a coding, the intercept first; also return how p-values were adjusted.

    ``permuted``: p-values by exchange of runs, which judge a screening.
    """
    fits = {key: one.fit for key, one in models.items() if one.fit is not None}
    effects = {key: _whole(models[key].effects(coding), coding) for key in fits}
    how, ps = adjust_ps(fits, effects, coding, permuted, screening=plan.design.kind == "screening")
    family = max(1, sum(map(len, ps.values())))
    out = {}
    for key in models:
        smallest = models[key].scale(coding).smallest(plan.delta)
        alpha = 1.0 - models[key].confidence
        out[key] = [
            _judge(effect, p, smallest, alpha, family)
            for effect, p in zip(effects.get(key, []), [math.nan, *ps.get(key, [])], strict=False)
        ]
    return how, out


def _whole(effects: Sequence[Effect], coding: Coding) -> list[Effect]:
    """Undo the halving of interactions for every further factor in the coding of averages."""
    if coding == "corner":
        return list(effects)
    out = []
    for one in effects:
        times = 2.0 ** max(0, len(one.term) - 1)
        ends = {name: getattr(one, name) * times for name in ("value", "low", "high", "error")}
        out.append(replace(one, **ends))
    return out


def _judge(effect: Effect, p: float, smallest: float, alpha: float, family: int) -> JudgedEffect:
    if not effect.term:
        return JudgedEffect(effect, math.nan, "raises", None)
    verdict = decide(effect, smallest)
    if verdict in ("raises", "lowers") and not p < alpha:
        verdict = "undecided"
    if verdict != "undecided":
        return JudgedEffect(effect, p, verdict, None)
    # The width of an interval that decides among all effects (Bonferroni, so slightly too wide).
    wider = t_quantile(effect.degrees, 1.0 - alpha / family / 2.0) * effect.error
    wide = replace(effect, low=effect.value - wider, high=effect.value + wider)
    return JudgedEffect(effect, p, verdict, more_runs(wide, smallest, effect.runs) or None)


def answer_quantiles(
    plan: AttributionPlan, models: Mapping[Key, FittedModel]
) -> tuple[Adjustment, dict[Key, documents.QuantileAnswer]]:
    """Answer each load and quantile, with p-values adjusted over all of them; also return how."""
    fits = {key: one.fit for key, one in models.items() if one.fit is not None}
    permuted = exchange_ps(fits, plan.design.hard_to_change)
    tables: dict[str, dict[Key, list[documents.Effect]]] = {}
    how: Adjustment = "holm"
    for coding in get_args(Coding):
        how, rows = judge_effects(plan, models, coding, permuted)
        exchanges = permuted if coding == "average" else {}
        tables[coding] = {
            key: _effects(plan, models[key], coding, of, exchanges.get(key, [])) for key, of in rows.items()
        }
    together = _test_terms(fits)
    out: dict[Key, documents.QuantileAnswer] = {}
    for key, one in models.items():
        out[key] = documents.QuantileAnswer(
            corner=tables["corner"][key],
            average=tables["average"][key],
            together=together.get(key, []),
            pooled=pooled_effects(one.runs, plan.model, key[1], one.confidence),
            predicted=predict_cells(plan, one),
            reversals=reversals(plan, one),
            explained=_explain_variance(one, key[1]),
            fit=_check_model(plan, one),
            best=rank_cells(plan, one),
        )
    return how, out


def _test_terms(fits: Mapping[Key, RunFit]) -> dict[Key, list[documents.TermTest]]:
    """Test the terms of several coefficients, adjusted over all of them."""
    tests = {key: [one for one in fit.test_terms() if math.isfinite(one.p)] for key, fit in fits.items()}
    adjusted = iter(holm([one.p for of in tests.values() for one in of]))
    return {
        key: [
            documents.TermTest(
                term=":".join(one.term),
                factors=list(one.term),
                statistic=one.statistic,
                numerator=one.numerator,
                denominator=one.denominator,
                p=one.p,
                adjusted=next(adjusted),
            )
            for one in of
        ]
        for key, of in tests.items()
    }


def _effects(
    plan: AttributionPlan,
    model: FittedModel,
    coding: Coding,
    rows: Sequence[JudgedEffect],
    permuted: Sequence[float],
) -> list[documents.Effect]:
    scale = model.scale(coding)
    written: list[documents.Effect] = []
    exchanges = [None, *permuted] if permuted else [None] * len(rows)
    for row, exchange in zip(rows, exchanges, strict=True):
        effect = row.effect
        base, value, low, high = _microseconds(model, effect, coding)
        share = scale.share if effect.term else scale.figure_share
        if effect.term and not scale.ratio and base is not None and base > 0.0:
            share = replace(scale, base_us=base).share
        written.append(
            documents.Effect(
                term=effect.name if effect.term else "(Intercept)",
                factors=list(effect.term),
                levels=_levels(plan, effect),
                base=base,
                value=value,
                low=low,
                high=high,
                share=share(effect.value),
                share_low=share(effect.low),
                share_high=share(effect.high),
                error=effect.error,
                p=effect.p,
                adjusted=row.adjusted if effect.term else effect.p,
                permuted=exchange,
                verdict=row.verdict,
                more_runs=row.more_runs,
            )
        )
    return written


def _microseconds(
    model: FittedModel, effect: Effect, coding: Coding
) -> tuple[float | None, float, float, float]:
    """Return the base of an effect, and the effect with its interval, µs; for the intercept its figure."""
    if not effect.term:
        figure = model.scale(coding).figure
        return None, figure(effect.value), figure(effect.low), figure(effect.high)
    assert model.fit is not None
    if model.ratio:
        one = term_difference(model.fit, effect.column, coding, confidence=model.confidence)
        return one.base, one.value, one.low, one.high
    (base,), _, _ = model.fit.estimate(base_row(model.fit, effect.column, coding)[None, :])
    return float(base), effect.value, effect.low, effect.high


def _levels(plan: AttributionPlan, effect: Effect) -> list[str]:
    levels = {factor.name: factor.levels for factor in plan.design.factors}
    return [levels[name][at] for name, at in zip(effect.term, effect.column.levels, strict=True)]


def _explain_variance(fitted_model: FittedModel, label: str) -> documents.VarianceShares | None:
    """Return shares of the variance of run figures, and the paper's pseudo-R² of the same values."""
    if fitted_model.fit is None:
        return None
    within = {
        cell: [_within(run, label, fitted_model.ratio) for run in of]
        for cell, of in fitted_model.runs.items()
    }
    known = all(one is not None for of in within.values() for one in of)
    parts = explained_variance(fitted_model.fit, within if known else None)
    if parts.cells is None or parts.runs is None or parts.model is None:
        return None
    fitted = {one.cell: one.value for one in fitted_model.fit.predicted()}
    values = [run.values[label] for of in fitted_model.runs.values() for run in of]
    model = [fitted[cell] for cell, of in fitted_model.runs.items() for _ in of]
    return documents.VarianceShares(
        cells=parts.cells,
        runs=parts.runs,
        sampling=parts.sampling,
        model=parts.model,
        pseudo_r2=number(pseudo_r2(values, model, 0.5)),
        ceiling=parts.cells,
    )


def _check_model(plan: AttributionPlan, model: FittedModel) -> documents.ModelFit | None:
    """Test whether the model predicts every cell."""
    if model.fit is None:
        return None
    found = find_misfit(model.fit)
    if found.cell is None or found.deviation is None:
        return documents.ModelFit(spare=found.spare, p=None, worst=None, deviation_share=None)
    predicted = next(one.value for one in model.fit.predicted() if one.cell == found.cell)
    return documents.ModelFit(
        spare=found.spare,
        p=found.p,
        worst=plan.levels(found.cell),
        deviation_share=number(Scale(model.ratio, predicted).share(found.deviation)),
    )


def _within(run: RunValues, label: str, ratio: bool) -> float | None:
    """Return the sampling variance of a run's value; on the ratio scale, of its logarithm."""
    one = run.within[label]
    return one / run.values[label] ** 2 if one is not None and ratio else one


def list_undecided(plan: AttributionPlan, models: Mapping[Key, FittedModel]) -> list[tuple[str, str, Effect]]:
    """Return average effects that are neither shown nor too small to matter, with load and quantile."""
    fits = {key: one.fit for key, one in models.items() if one.fit is not None}
    permuted = exchange_ps(fits, plan.design.hard_to_change) if plan.design.kind == "screening" else {}
    _, rows = judge_effects(plan, models, "average", permuted)
    return [
        (*key, row.effect)
        for key, of in rows.items()
        for row in of
        if row.effect.term and row.verdict == "undecided"
    ]
