"""Hsu's multiple comparisons with the best: which cells may be the best.

The smallest of many noisy values is biased (the winner's curse), so its value is never promised. A
confirmation with fresh runs provides that. The available runs do show how far each cell is from the best of
the others, ``cell - min(others)``, with simultaneous intervals (J. C. Hsu, *Multiple Comparisons*, 1996,
chapter 4; for unequal variances the distribution of the largest studentised difference is simulated instead
of looked up). A cell whose interval reaches 0 from above may be the best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.errors import ArgumentError
from hindmost.stats.factors.coding import Cell
from hindmost.stats.factors.effects import RunFit
from hindmost.stats.tables import Floats

_WORK = 40_000_000
"""Maximum of numbers drawn: cells x cells x draws."""


@dataclass(frozen=True, slots=True)
class BestDifference:
    """One cell compared with the best other cell, in the unit of the fit.

    ``value``: the cell's value. ``behind``: its value minus the best other's, negative for the best. ``low``,
    ``high``: simultaneous bounds. ``tied``: whether it may be the best.
    """

    cell: Cell
    value: float
    behind: float
    low: float
    high: float
    tied: bool


def best_differences(
    fit: RunFit,
    among: Sequence[Cell] | None = None,
    confidence: float = 0.95,
    draws: int = 10_000,
    seed: int = 1,
) -> list[BestDifference]:
    """Compare every cell with the best of the others. The smallest value is best, and comes first.

    Parameters
    ----------
    fit
        Result of `fit_runs`.
    among
        Cells that may be chosen, at least two. Default: all cells of the model, including those never run.
    confidence
        Confidence of all intervals together.
    draws, seed
        Number of draws for the critical values, and their random seed.

    Examples
    --------
    >>> from hindmost.stats import Factorial, fit_runs
    >>> runs = {(0,): [60.0, 61.0, 62.0], (1,): [59.0, 61.0, 63.0], (2,): [80.0, 81.0, 82.0]}
    >>> [(one.cell, one.tied) for one in best_differences(fit_runs(runs, Factorial({"threads": 3})))]
    [((0,), True), ((1,), True), ((2,), False)]
    """
    cells = tuple(among) if among is not None else fit.spoken_of
    if len(set(cells)) < 2:
        raise ArgumentError(
            "bad-argument", "nothing to compare: specify at least two different cells", argument="among"
        )
    rows = fit.rows(cells)
    noise = fit.between
    value = rows @ noise.cells
    count = max(500, min(draws, _WORK // len(cells) ** 2))
    critical = np.empty(len(cells))
    errors = np.empty((len(cells), len(cells)))
    for i in range(len(cells)):
        differences = rows[i] - rows
        errors[i] = noise.errors(differences)[0]
        moved, squares = noise.draw(differences, count, np.random.default_rng(seed))
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.nan_to_num(moved / np.sqrt(squares), nan=0.0)
        t[:, i] = -np.inf
        critical[i] = np.quantile(t.max(axis=1), confidence, method="higher")
    own = fit.estimate(rows)[0]
    out = _bounds(value, errors, critical)
    found = [BestDifference(cell, float(own[i]), *out[i]) for i, cell in enumerate(cells)]
    return sorted(found, key=lambda one: (one.behind, one.cell))


def _bounds(value: Floats, errors: Floats, critical: Floats) -> list[tuple[float, float, float, bool]]:
    """Return ``behind, low, high, tied`` of each cell: Hsu's constrained intervals for the minimum."""
    n = len(value)
    others = ~np.eye(n, dtype=bool)
    gap = value[:, None] - value[None, :]
    reach = critical[:, None] * errors
    # Cell i may be the best unless it is certainly above another cell.
    tied = np.array([(gap[i] - reach[i])[others[i]].max() < 0.0 for i in range(n)])
    if not tied.any():  # noise of 0 and equal values: all smallest cells are tied
        tied = value <= value.min()
    out = []
    for i in range(n):
        behind = gap[i, others[i]].max()
        low = min(0.0, (gap[i] - reach[i])[others[i]].max())
        rivals = tied & others[i]
        high = max(0.0, (gap[i] + reach[:, i])[rivals].max()) if rivals.any() else 0.0
        out.append((float(behind), float(low), float(high), bool(tied[i])))
    return out
