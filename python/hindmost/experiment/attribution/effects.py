"""One quantile at one load: the model of all cells, and everything that is said from it.

The control's runs count as runs of their cell: they are made alike, in the same blocks. Intervals and
p-values know of blocks; p-values are adjusted over all terms, quantiles and loads of the study together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from hindmost.design import Cell
from hindmost.design.factors import is_forbidden
from hindmost.experiment.attribution.cells import CellRuns, RunValues
from hindmost.experiment.attribution.family import Adjustment, Key, adjusted, exchanged
from hindmost.experiment.attribution.plan import AttributionPlan
from hindmost.experiment.attribution.pooled import pooled
from hindmost.experiment.attribution.scale import Scale
from hindmost.stats import (
    Effect,
    RunFit,
    best,
    crossings,
    decide,
    explained,
    fit_runs,
    more_runs,
    pseudo_r2,
)
from hindmost.stats.coding import Coding

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """A fitted model, and the runs of each cell that went into it; None of all if there was too little."""

    fit: RunFit | None
    runs: Mapping[Cell, list[RunValues]]
    why: str | None = None
    confidence: float = 0.95
    ratio: bool = True

    def effects(self, coding: Coding) -> list[Effect]:
        """Coefficients, the intercept first, with intervals of the level that is due."""
        return [] if self.fit is None else self.fit.effects(coding, self.confidence)

    def scale(self, coding: Coding) -> Scale:
        """How effects of a coding become microseconds: its intercept is all low, or the mean of all cells."""
        effects = self.effects(coding)
        plain = Scale(self.ratio, 1.0)
        return Scale(self.ratio, plain.figure(effects[0].value) if effects else math.nan)


def analyse(
    plan: AttributionPlan,
    cells: Mapping[Cell, CellRuns],
    control: CellRuns,
    label: str,
    confidence: float = 0.95,
) -> Found:
    """Fit the design's model to what the runs report for one quantile; intervals of this confidence."""
    runs = {cell: list(one.runs) for cell, one in cells.items() if one.usable(label)}
    if control.cell in runs and control.usable(label):
        runs[control.cell] += control.runs
    ratio = plan.file.scale == "ratio"
    if not runs:
        return Found(None, runs, "no cell has two sound runs")
    try:
        fit = fit_runs(
            {cell: [run.values[label] for run in of] for cell, of in runs.items()},
            plan.model,
            blocks={cell: [run.block for run in of] for cell, of in runs.items()},
            scale="log" if ratio else "raw",
        )
    except ValueError as error:
        return Found(None, runs, str(error))
    return Found(fit, runs, confidence=confidence, ratio=ratio)


def adjusted_together(
    plan: AttributionPlan, found: Mapping[Key, Found]
) -> tuple[Adjustment, dict[Key, Document]]:
    """The answer for each load and quantile; p-values are adjusted over all of them, and how."""
    out: dict[Key, Document] = {}
    tables: dict[str, dict[Key, list[Document]]] = {}
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
            "predicted": _predicted(plan, one),
            "reversals": _reversals(plan, one),
            "explained": _explained(one, key[1]),
            "best": _best(plan, one),
        }
    return how, out


def _effects(
    plan: AttributionPlan, effects: list[Effect], ps: list[float], permuted: list[float], scale: Scale
) -> list[Document]:
    smallest = scale.smallest(plan.delta)
    written = []
    exchanges = [None, *permuted] if permuted else [None] * len(effects)
    for effect, p, exchange in zip(effects, [math.nan, *ps] if effects else [], exchanges, strict=True):
        runs = more_runs(effect, smallest, effect.runs) if effect.term else 0
        written.append(
            {
                "term": effect.name if effect.term else "(Intercept)",
                "factors": list(effect.term),
                "levels": _levels(plan, effect),
                **_sizes(effect, scale),
                "error": effect.error,
                "p": effect.p,
                "adjusted": p if effect.term else effect.p,
                "permuted": exchange,
                "verdict": decide(effect, smallest) if effect.term else "raises",
                "more_runs": runs or None,
            }
        )
    return written


def _sizes(effect: Effect, scale: Scale) -> Document:
    """Value and interval in microseconds, and as shares of the intercept."""
    ends = {"": effect.value, "_low": effect.low, "_high": effect.high}
    us = scale.us if effect.term else scale.figure
    base = scale.base_us
    return {end[1:] or "value": us(v) for end, v in ends.items()} | {
        f"share{end}": scale.share(v) if effect.term else us(v) / base for end, v in ends.items()
    }


def _levels(plan: AttributionPlan, effect: Effect) -> list[str]:
    levels = {factor.name: factor.levels for factor in plan.design.factors}
    return [levels[name][at] for name, at in zip(effect.term, effect.column.levels, strict=True)]


def _allowed(plan: AttributionPlan, cell: Cell) -> bool:
    return not is_forbidden(cell, plan.design.factors, plan.design.forbidden)


def _predicted(plan: AttributionPlan, found: Found) -> list[Document]:
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


def _reversals(plan: AttributionPlan, found: Found) -> list[Document]:
    if found.fit is None:
        return []
    levels = {factor.name: factor.levels for factor in plan.design.factors}
    scale = found.scale("average")
    out = []
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
                "effects_us": [
                    {"value": scale.us(e.value), "low": scale.us(e.low), "high": scale.us(e.high)}
                    for e in one.effects
                ],
                "text": f"{one.factor} = {level} lowers it by {-scale.share(down.value):.0%} while"
                f" {one.by} is {low}, and raises it by {scale.share(up.value):.0%} while {one.by} is {high}",
            }
        )
    return out


def _best(plan: AttributionPlan, found: Found) -> list[Document]:
    if found.fit is None:
        return []
    among = [cell for cell in found.fit.spoken_of if _allowed(plan, cell) and _told(found, cell)]
    if len(among) < 2:
        return []
    plain = Scale(found.ratio, 1.0)
    ranked = []
    for one in best(found.fit, among, found.confidence):
        other = Scale(found.ratio, plain.figure(one.value - one.behind))
        behind = {"value": other.us(one.behind), "low": other.us(one.low), "high": other.us(one.high)}
        levels = plan.levels(one.cell)
        ranked.append(
            {"levels": levels, "value": plain.figure(one.value), "behind_us": behind, "tied": one.tied}
        )
    return ranked


def _explained(found: Found, label: str) -> Document | None:
    """Shares of the variance of what runs report; the pseudo-R^2 is the paper's, on the same values."""
    if found.fit is None:
        return None
    within = {cell: [_within(run, label, found.ratio) for run in of] for cell, of in found.runs.items()}
    known = all(one is not None for of in within.values() for one in of)
    parts = explained(found.fit, within if known else None)
    if parts.cells is None:
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
