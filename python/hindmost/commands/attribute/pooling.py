"""The paper's estimand next to ours: the quantile of all requests of a cell together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import median

from hindmost.commands.attribute import document as documents
from hindmost.commands.attribute.cells import RunValues
from hindmost.commands.attribute.design import Cell
from hindmost.core.plan import parse_quantiles
from hindmost.core.store.estimates import number
from hindmost.stats import Factorial, Requests, fit_pooled


def pooled_effects(
    runs: Mapping[Cell, list[RunValues]], model: Factorial, label: str, confidence: float
) -> documents.PooledEffects | None:
    """Estimate effects with errors that account for runs, and naive ones; None with too few runs."""
    of_cell = {cell: [run.bins for run in of if run.bins is not None] for cell, of in runs.items()}
    if not of_cell or any(len(of) < 2 for of in of_cell.values()):
        return None
    (level,) = parse_quantiles(label)
    try:
        fit = fit_pooled(Requests.of_histograms(of_cell), model, level)
        effects = fit.effects("corner", confidence)
    except ValueError:
        return None  # a cell's pooled quantile is infinitely late, although no run's is
    stretched = [cell.design_effect for cell in fit.cells if math.isfinite(cell.design_effect)]
    return documents.PooledEffects(
        effects=[
            documents.PooledEffect(
                term=one.name,
                value=one.value,
                low=one.low,
                high=one.high,
                naive_low=one.naive_interval[0],
                naive_high=one.naive_interval[1],
            )
            for one in effects
        ],
        design_effect=median(stretched),
        pseudo_r2=number(fit.pseudo_r2()),
    )
