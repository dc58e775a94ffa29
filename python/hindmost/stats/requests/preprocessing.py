"""Exact quantile regression of many distinct rows, by aggregating most of them into two heaps.

A row that is certainly above the fit counts only by its sum, because the check loss is linear there. A fit to
a small sample shows which rows are certainly above and certainly below. Each of these two heaps becomes one
row: its mean with its weight. The few thousand rows in between are solved exactly. If no row of a heap
changed sides, the result is the optimum of all rows, because the loss of a sum is at most the sum of losses
(Portnoy and Koenker, Statistical Science 1997). Otherwise those rows are taken out of the heaps, and the
problem is solved again.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hindmost.stats.tables import Floats

LARGE = 5_000
"""Number of distinct rows above which this is faster than a walk over all rows."""

_ROUNDS = 30
_MOST_WRONG = 0.1
"""Largest share of the rows in between that may change sides before a larger sample is taken."""

Solve = Callable[[Floats, Floats, Floats, float], Floats]
"""An exact solver: from rows, samples, weights and a level to coefficients."""


def solve_large(x: Floats, y: Floats, weight: Floats, tau: float, solve: Solve, *, seed: int = 1) -> Floats:
    """Return coefficients at level `tau`, the same optimum as `solve` on all rows.

    Parameters
    ----------
    x : ndarray, shape (n, p)
        Design, including the intercept's column.
    y, weight : ndarray, shape (n,)
    tau : float
        Level in (0, 1).
    solve
        The exact solver of small problems.
    seed
        Random seed of the small sample. A unique optimum does not depend on it.
    """
    n, p = x.shape
    random = np.random.default_rng(seed)
    size = math.ceil((p * n) ** (2.0 / 3.0))
    for _ in range(_ROUNDS):
        if size > n // 2:
            break
        some = random.choice(n, size, replace=False)
        if np.linalg.matrix_rank(x[some]) < p:
            size *= 2
            continue
        start = (solve if size <= LARGE else _recursive(solve, seed))(x[some], y[some], weight[some], tau)
        found = _between_heaps(x, y, weight, tau, solve, start, some)
        if found is not None:
            return found
        size *= 2
    return solve(x, y, weight, tau)


def _recursive(solve: Solve, seed: int) -> Solve:
    return lambda x, y, weight, tau: solve_large(x, y, weight, tau, solve, seed=seed)


def _between_heaps(
    x: Floats, y: Floats, weight: Floats, tau: float, solve: Solve, start: Floats, some: np.ndarray
) -> Floats | None:
    """Return the optimum from a first guess, or None if the guess was too poor."""
    n = len(y)
    root = np.linalg.cholesky(np.linalg.inv(x[some].T @ x[some]))
    width = np.sqrt(((x @ root) ** 2).sum(axis=1))
    rest = y - x @ start
    scaled = rest / np.maximum(width, np.finfo(np.float64).tiny)
    between = 0.8 * len(some)
    order = np.sort(scaled)
    middle = int(np.searchsorted(order, 0.0))
    low, high = max(0, int(middle - between / 2)), min(n - 1, int(middle + between / 2))
    below, above = scaled < order[low], scaled > order[high]
    for _ in range(_ROUNDS):
        keep = ~(below | above)
        heaps = [heap for heap in (below, above) if weight[heap].sum() > 0.0]
        masses = [float(weight[heap].sum()) for heap in heaps]
        shares = [weight[heap] / mass for heap, mass in zip(heaps, masses, strict=True)]
        rows = [share @ x[heap] for share, heap in zip(shares, heaps, strict=True)]
        # Residuals of the first guess are small numbers, whatever the level of y.
        means = [float(share @ rest[heap]) for share, heap in zip(shares, heaps, strict=True)]
        step = solve(
            np.vstack([x[keep], *rows]), np.append(rest[keep], means), np.append(weight[keep], masses), tau
        )
        left = rest - x @ step
        wrong = (below & (left > 0.0)) | (above & (left < 0.0))
        if not wrong.any():
            return np.asarray(start + step, dtype=np.float64)
        if wrong.sum() > _MOST_WRONG * between:
            return None
        below, above = below & ~wrong, above & ~wrong
    return None
