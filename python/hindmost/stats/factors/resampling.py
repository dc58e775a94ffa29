"""Joint draws of studentised coefficients under the null, for families of hypotheses.

With blocks, block effects are drawn from the normal distribution, with the estimated covariance over all
coefficients and quantiles. Without blocks, residuals of runs are resampled within their cells, jointly for
all quantiles of the same runs. Each coefficient is divided by the error that the drawn runs themselves imply.
This studentisation cancels the factor ``sqrt(E/(E-1))`` by which resampled residuals scatter too little.

Cells with few runs have too few residuals to resample: at 5 and 10 runs, all 48 values of Table IV lay within
simultaneous 95 % intervals in 1.00 and .965 of 300 and 400 studies. For such cells, draws are normal,
correlated as residuals of different quantiles are (.967 and .948).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from hindmost.errors import ArgumentError
from hindmost.stats.factors.coding import Coding
from hindmost.stats.factors.effects import RunFit
from hindmost.stats.factors.noise import BlockNoise
from hindmost.stats.tables import Floats

FEW = 20
"""Runs per cell below which its residuals are not resampled."""

_BATCH = 250


def joint_draws(
    fits: Sequence[RunFit],
    codings: Sequence[Coding] = ("corner",),
    draws: int = 2_000,
    seed: int = 1,
    law: Literal["auto", "runs", "normal"] = "auto",
    intercepts: bool = False,
) -> Floats:
    """Draw all coefficients of fits to the same runs, divided by their errors, as if all were 0.

    Parameters
    ----------
    fits
        One per quantile, all from the same runs in the same order. Other loads have other runs: draw them
        with another seed, and concatenate them as columns.
    codings
        Coefficients to draw of each fit.
    draws, seed
        Number of draws, and random seed.
    law
        Resampled residuals, or normal ones; ``auto`` resamples if every cell has `FEW` runs.
    intercepts
        Whether intercepts are hypotheses too.

    Returns
    -------
    ndarray, shape (draws, coefficients)
        By fit, coding, column. For `step_down` and `simultaneous`.

    Raises
    ------
    ValueError
        If the fits do not share the same runs, or cells of one run leave nothing to draw.

    Examples
    --------
    >>> from hindmost.stats import Factorial, fit_runs
    >>> random = np.random.default_rng(1)
    >>> runs = {(a, b): random.normal(100.0, 5.0, 8) for a in (0, 1) for b in (0, 1)}
    >>> joint_draws([fit_runs(runs, Factorial(["a", "b"]))]).shape
    (2000, 3)
    """
    first = fits[0].table
    if any(fit.table.cells != first.cells or (fit.table.counts != first.counts).any() for fit in fits):
        raise ArgumentError(
            "bad-argument",
            "fits must share the same runs to be drawn together; draw other loads separately",
            argument="fits",
        )
    first_row = 0 if intercepts else 1
    rows = [fit.coefficients(coding)[first_row:] for fit in fits for coding in codings]
    of_fit = np.repeat(np.arange(len(fits)), len(codings))
    if isinstance(fits[0].between, BlockNoise):
        of_blocks = [
            fits[int(i)].between.draw(row, draws, np.random.default_rng(seed))
            for row, i in zip(rows, of_fit, strict=True)
        ]
        return np.hstack([value / np.sqrt(square) for value, square in of_blocks])
    counts = first.counts
    if counts.min() < 2:
        raise ArgumentError(
            "bad-argument",
            f"cell {first.cells[int(counts.argmin())]} has one run, so there is nothing to draw from",
            argument="runs",
            need=2,
        )
    residuals = np.column_stack([_residuals(fit) for fit in fits])
    random = np.random.default_rng(seed)
    resample = law == "runs" or (law == "auto" and counts.min() >= FEW)
    mixing = None if resample else _mixing(residuals, first.cell_of, len(counts))
    ends = np.cumsum(counts)
    out = []
    for start in range(0, draws, _BATCH):
        size = min(_BATCH, draws - start)
        means = np.empty((size, len(counts), len(fits)))
        squares = np.empty_like(means)
        for cell, (end, count) in enumerate(zip(ends, counts, strict=True)):
            here = residuals[end - count : end]
            if mixing is None:
                drawn = here[random.integers(0, count, (size, count))]
            else:
                drawn = random.standard_normal((size, count, len(fits))) @ mixing * here.std(axis=0, ddof=1)
            means[:, cell] = drawn.mean(axis=1)
            squares[:, cell] = drawn.var(axis=1, ddof=1) / count
        parts = []
        for row, fit in zip(rows, of_fit, strict=True):
            error = np.sqrt(squares[:, :, fit] @ (row**2).T)
            with np.errstate(divide="ignore", invalid="ignore"):
                parts.append(np.nan_to_num(means[:, :, fit] @ row.T / error, nan=0.0))
        out.append(np.hstack(parts))
    return np.vstack(out)


def _residuals(fit: RunFit) -> Floats:
    """Return the residuals of runs from their cells."""
    return np.asarray(fit.table.y - fit.table.member @ fit.scatter.cells, dtype=np.float64)


def _mixing(residuals: Floats, cell_of: np.ndarray, cells: int) -> Floats:
    """Return a factor of the correlation between quantiles, over all cells."""
    squares = np.zeros((cells, residuals.shape[1]))
    np.add.at(squares, cell_of, residuals**2)
    scale = np.sqrt(squares / np.bincount(cell_of)[:, None])[cell_of]
    standard = np.divide(residuals, scale, out=np.zeros_like(residuals), where=scale > 0.0)
    correlation = standard.T @ standard
    size = np.sqrt(np.maximum(np.diag(correlation), 1e-300))
    sizes, vectors = np.linalg.eigh(correlation / size[:, None] / size)
    return np.asarray(vectors * np.sqrt(np.maximum(sizes, 0.0)) @ vectors.T, dtype=np.float64)
