"""Whether a model with fewer coefficients than cells predicts every cell.

A model that leaves terms out assumes that they are zero. If it is right, each cell's value differs from its
prediction by noise only. The largest of these differences, divided by their errors, is compared with that of
joint draws of the noise, with the covariance between blocks. A model with a coefficient for every cell
predicts all of them, so it cannot be tested.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hindmost.stats.factors.coding import Cell
from hindmost.stats.factors.effects import RunFit

_EXACT = 1e-9


@dataclass(frozen=True, slots=True)
class Misfit:
    """How far cells lie from their predictions.

    ``spare``: cells minus coefficients. ``p``: of the null that the model is right; None if nothing is spare,
    or no cell has a second run. ``cell``: the one that deviates most clearly; ``deviation``: its value minus
    its prediction, in the unit of the fit.
    """

    spare: int
    p: float | None
    cell: Cell | None
    deviation: float | None


def find_misfit(fit: RunFit, draws: int = 4_000, seed: int = 1) -> Misfit:
    """Test whether the model predicts every cell that was run.

    Examples
    --------
    >>> from hindmost.stats import Factorial, fit_runs
    >>> random = np.random.default_rng(1)
    >>> runs = {(a, b): random.normal(100.0 + 20.0 * a * b, 3.0, 8) for a in (0, 1) for b in (0, 1)}
    >>> misfit = find_misfit(fit_runs(runs, Factorial(["a", "b"], terms=[("a",), ("b",)])))
    >>> misfit.spare, misfit.p < 0.01
    (1, True)
    >>> find_misfit(fit_runs(runs, Factorial(["a", "b"]))).p is None
    True
    """
    matrix = fit.design.matrix(fit.table.cells)
    rows = np.eye(len(matrix)) - matrix @ fit.solution
    spare = len(rows) - matrix.shape[1]
    if spare < 1 or fit.table.counts.max() < 2:
        return Misfit(spare, None, None, None)
    # A cell that alone determines a coefficient is predicted exactly.
    (places,) = np.nonzero((rows**2).sum(axis=1) > _EXACT)
    values, errors, _ = fit.estimate(rows[places])
    drawn, squares = fit.between.draw(rows[places], draws, np.random.default_rng(seed))
    with np.errstate(divide="ignore", invalid="ignore"):
        seen = np.nan_to_num(np.abs(values) / errors, posinf=np.inf)
        largest = np.nan_to_num(np.abs(drawn) / np.sqrt(squares)).max(axis=1)
    worst = int(seen.argmax())
    as_large = int(np.count_nonzero(largest >= seen[worst] * (1.0 - _EXACT)))
    cell = fit.table.cells[int(places[worst])]
    return Misfit(spare, (1 + as_large) / (1 + draws), cell, float(values[worst]))
