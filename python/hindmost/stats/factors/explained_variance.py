"""Share of the variance of run values that the factors explain, and the share that no model can.

Run values vary because cells differ (which factors can explain), because runs of one cell differ (which they
cannot), and because each run is a finite sample (which longer runs would reduce). These shares, by the method
of moments over equally likely cells, are the correct reading of "explains the majority of the variance"
(Treadmill, ISCA 2016, V-D). The paper's pseudo-R^2 (Equations 2-4; R1 of Koenker and Machado 1999) is a share
of absolute losses, not of variance. On requests it is a few thousandths even for a perfect model, because
requests of one cell differ far more than cells do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hindmost import _engine
from hindmost.stats.factors.coding import Cell
from hindmost.stats.factors.effects import RunFit
from hindmost.stats.tables import Floats


@dataclass(frozen=True, slots=True)
class ExplainedVariance:
    """Shares of the variance of run values, in [0, 1]. None if all runs are equal.

    ``cells``: between cells, which a perfect model of the factors explains (the ceiling). ``model``: of this
    model, at most the ceiling. ``runs``: between runs of one cell. ``sampling``: within runs, or None if
    unknown (then part of ``runs``).
    """

    cells: float | None
    model: float | None
    runs: float | None
    sampling: float | None


def explained_variance(
    fit: RunFit, within: Mapping[Cell, Sequence[float | None]] | None = None
) -> ExplainedVariance:
    """Split the variance of run values.

    Parameters
    ----------
    fit
        Result of `fit_runs`. For logarithms, shares refer to relative variance.
    within
        Sampling variance of each run's value (`within_variance`), in squared units of the values; for a fit
        of logarithms, relative to the squared value. None entries are left out.

    Examples
    --------
    >>> from hindmost.stats import Factorial, fit_runs
    >>> runs = {(0,): [9.0, 10.0, 11.0], (1,): [19.0, 20.0, 21.0]}
    >>> found = explained_variance(fit_runs(runs, Factorial(["turbo"])))
    >>> round(found.cells, 3), round(found.runs, 3)
    (0.961, 0.039)
    """
    table = fit.table
    means = fit.scatter.cells
    scatter = float(fit.scatter.of_cells.mean())
    count = len(means)
    noise = float((fit.scatter.of_cells / table.counts).mean())
    between = max(0.0, float(means.var()) - noise * (1.0 - 1.0 / count))
    hat = fit.design.matrix(table.cells) @ fit.solution
    rest = means - hat @ means
    # Expected residual of a correct model: the part of the noise that it does not follow.
    left = np.eye(count) - hat
    by_noise = float(((left**2) @ (fit.scatter.of_cells / table.counts)).mean())
    misfit = min(between, max(0.0, float((rest**2).mean()) - by_noise))
    inside = _mean_within(table.cells, within)
    sampling = None if inside is None else min(inside, scatter)
    total = between + scatter
    if total <= 0.0:
        return ExplainedVariance(None, None, None, None)
    runs = scatter - (sampling or 0.0)
    return ExplainedVariance(
        between / total,
        (between - misfit) / total,
        runs / total,
        None if sampling is None else sampling / total,
    )


def pseudo_r2(
    y: npt.ArrayLike, fitted: npt.ArrayLike, tau: float, weights: npt.ArrayLike | None = None
) -> float:
    """Return the paper's pseudo-R^2 (Equation 2): 1 - loss of the model / loss of the best constant.

    Parameters
    ----------
    y, fitted : array_like, shape (n,)
        Values and the model's prediction of each, same unit. The paper uses the quantile that each run
        reports.
    tau
        Level of the loss, in (0, 1).
    weights : array_like, shape (n,), optional
        Weight of each value.

    Returns
    -------
    float
        At most 1; below 0 for a model that is worse than a constant; NaN if all values are equal.

    Examples
    --------
    >>> pseudo_r2([1.0, 2.0, 11.0, 12.0], [1.5, 1.5, 11.5, 11.5], 0.5)
    0.9
    """
    values = np.ascontiguousarray(y, dtype=np.float64)
    model = np.asarray(fitted, dtype=np.float64)
    if values.ndim != 1 or values.shape != model.shape:
        raise ValueError(f"{model.shape} fitted values do not fit {values.shape} values")
    mass = np.ones_like(values) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    one = _engine.QuantileCells(values, np.zeros(values.size, dtype=np.uint32), 1, mass)
    (constant,) = one.quantiles(tau)
    if constant is None:
        return float("nan")
    worst = float(mass @ _loss(values - constant, tau))
    return 1.0 - float(mass @ _loss(values - model, tau)) / worst if worst > 0.0 else float("nan")


def _loss(errors: Floats, tau: float) -> Floats:
    return np.asarray(np.where(errors < 0.0, tau - 1.0, tau) * errors, dtype=np.float64)


def _mean_within(cells: Sequence[Cell], within: Mapping[Cell, Sequence[float | None]] | None) -> float | None:
    if within is None:
        return None
    means = []
    for cell in cells:
        known = [v for v in within.get(cell, ()) if v is not None]
        if any(not (v >= 0.0 and np.isfinite(v)) for v in known):
            raise ValueError(f"within-run variances of cell {cell} must be finite and not negative")
        if known:
            means.append(float(np.mean(known)))
    return float(np.mean(means)) if means else None
