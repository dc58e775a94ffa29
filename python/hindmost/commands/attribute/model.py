"""The model of one quantile at one load, fitted to the valid runs of all cells."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from hindmost.commands.attribute.cells import LEAST_RUNS, CellRuns, RunValues
from hindmost.commands.attribute.design import Cell
from hindmost.commands.attribute.plan import AttributionPlan
from hindmost.commands.attribute.scale import Scale
from hindmost.stats import Effect, RunFit, fit_runs
from hindmost.stats.factors.coding import Coding


@dataclass(frozen=True, slots=True)
class FittedModel:
    """A fitted model, and the runs of each cell behind it; ``fit`` is None with too few runs."""

    fit: RunFit | None
    runs: Mapping[Cell, list[RunValues]]
    why: str | None = None
    confidence: float = 0.95
    ratio: bool = True

    def effects(self, coding: Coding) -> list[Effect]:
        """Return the coefficients with intervals, the intercept first."""
        return [] if self.fit is None else self.fit.effects(coding, self.confidence)

    def scale(self, coding: Coding) -> Scale:
        """Return the scale of a coding's effects; its intercept is all-low, or the mean of all cells."""
        effects = self.effects(coding)
        plain = Scale(self.ratio, 1.0)
        return Scale(self.ratio, plain.figure(effects[0].value) if effects else math.nan)


def fit_model(
    plan: AttributionPlan,
    cells: Mapping[Cell, CellRuns],
    label: str,
    confidence: float = 0.95,
) -> FittedModel:
    """Fit the design's model to one quantile of the runs, with intervals of this confidence."""
    runs = {cell: list(one.runs) for cell, one in cells.items() if one.usable(label)}
    ratio = plan.file.scale == "ratio"
    if not runs:
        return FittedModel(None, runs, f"no cell has {LEAST_RUNS} valid runs")
    try:
        fit = fit_runs(
            {cell: [run.values[label] for run in of] for cell, of in runs.items()},
            plan.model,
            blocks={cell: [run.block for run in of] for cell, of in runs.items()},
            scale="log" if ratio else "raw",
        )
    except ValueError as error:
        return FittedModel(None, runs, str(error))
    return FittedModel(fit, runs, confidence=confidence, ratio=ratio)
