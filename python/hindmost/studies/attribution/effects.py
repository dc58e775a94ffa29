"""What the models of a study say of its factors, for all loads and quantiles together.

Intervals and p-values know of blocks; p-values are adjusted over all terms, quantiles and loads.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import get_args

from hindmost.stats import (
    Effect,
    decide,
    explained,
    more_runs,
    pseudo_r2,
)
from hindmost.stats.factors.coding import Coding
from hindmost.store import attribution as documents
from hindmost.studies.attribution.cells import RunValues
from hindmost.studies.attribution.family import Adjustment, Key, adjusted, exchanged
from hindmost.studies.attribution.model import Found
from hindmost.studies.attribution.plan import AttributionPlan
from hindmost.studies.attribution.pooled import pooled
from hindmost.studies.attribution.scale import Scale
from hindmost.studies.attribution.settings import predicted, ranked, reversals


def adjusted_together(
    plan: AttributionPlan, found: Mapping[Key, Found]
) -> tuple[Adjustment, dict[Key, documents.QuantileAnswer]]:
    """The answer for each load and quantile; p-values are adjusted over all of them, and how."""
    out: dict[Key, documents.QuantileAnswer] = {}
    tables: dict[str, dict[Key, list[documents.Effect]]] = {}
    fits = {key: one.fit for key, one in found.items() if one.fit is not None}
    permuted = exchanged(fits)
    how: Adjustment = "holm"
    for coding in get_args(Coding):
        effects = {key: found[key].effects(coding) for key in fits}
        screening = plan.design.kind == "screening"
        how, ps = adjusted(fits, effects, coding, permuted, screening=screening)
        tables[coding] = {
            key: _effects(
                plan,
                effects.get(key, []),
                ps.get(key, []),
                permuted.get(key, []) if coding == "average" else [],
                one.scale(coding),
            )
            for key, one in found.items()
        }
    for key, one in found.items():
        out[key] = {
            "corner": tables["corner"][key],
            "average": tables["average"][key],
            "pooled": pooled(one.runs, plan.model, key[1], one.confidence),
            "predicted": predicted(plan, one),
            "reversals": reversals(plan, one),
            "explained": _explained(one, key[1]),
            "best": ranked(plan, one),
        }
    return how, out


def _effects(
    plan: AttributionPlan, effects: list[Effect], ps: list[float], permuted: list[float], scale: Scale
) -> list[documents.Effect]:
    smallest = scale.smallest(plan.delta)
    written: list[documents.Effect] = []
    exchanges = [None, *permuted] if permuted else [None] * len(effects)
    for effect, p, exchange in zip(effects, [math.nan, *ps] if effects else [], exchanges, strict=True):
        runs = more_runs(effect, smallest, effect.runs) if effect.term else 0
        us, share = (scale.us, scale.share) if effect.term else (scale.figure, scale.figure_share)
        written.append(
            {
                "term": effect.name if effect.term else "(Intercept)",
                "factors": list(effect.term),
                "levels": _levels(plan, effect),
                "value": us(effect.value),
                "low": us(effect.low),
                "high": us(effect.high),
                "share": share(effect.value),
                "share_low": share(effect.low),
                "share_high": share(effect.high),
                "error": effect.error,
                "p": effect.p,
                "adjusted": p if effect.term else effect.p,
                "permuted": exchange,
                "verdict": decide(effect, smallest) if effect.term else "raises",
                "more_runs": runs or None,
            }
        )
    return written


def _levels(plan: AttributionPlan, effect: Effect) -> list[str]:
    levels = {factor.name: factor.levels for factor in plan.design.factors}
    return [levels[name][at] for name, at in zip(effect.term, effect.column.levels, strict=True)]


def _explained(found: Found, label: str) -> documents.Explained | None:
    """Shares of the variance of what runs report; the pseudo-R^2 is the paper's, on the same values."""
    if found.fit is None:
        return None
    within = {cell: [_within(run, label, found.ratio) for run in of] for cell, of in found.runs.items()}
    known = all(one is not None for of in within.values() for one in of)
    parts = explained(found.fit, within if known else None)
    if parts.cells is None or parts.runs is None or parts.model is None:
        return None
    fitted = {one.cell: one.value for one in found.fit.predicted()}
    values = [run.values[label] for of in found.runs.values() for run in of]
    model = [fitted[cell] for cell, of in found.runs.items() for _ in of]
    return {
        "cells": parts.cells,
        "runs": parts.runs,
        "sampling": parts.sampling,
        "model": parts.model,
        "pseudo_r2": pseudo_r2(values, model, 0.5),
        "ceiling": parts.cells,
    }


def _within(run: RunValues, label: str, ratio: bool) -> float | None:
    """Sampling variance of a run's value; of its logarithm, relative to the value."""
    one = run.within[label]
    return one / run.values[label] ** 2 if one is not None and ratio else one


def undecided(plan: AttributionPlan, found: Mapping[Key, Found]) -> list[tuple[str, str, Effect]]:
    """Average effects that are neither shown nor too small to matter, with load and quantile."""
    out = []
    for (load, label), one in found.items():
        effects = one.effects("average")
        smallest = one.scale("average").smallest(plan.delta)
        out += [(load, label, e) for e in effects if e.term and decide(e, smallest) == "undecided"]
    return out
