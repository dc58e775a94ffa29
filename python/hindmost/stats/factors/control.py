"""Comparison of all cells with the control, with simultaneous intervals.

These are Dunnett's many-to-one comparisons (JASA 1955), two-sided. Cells have different variances, so the
distribution of the largest studentised difference is simulated instead of looked up. Over several loads,
which have separate runs, a cell's difference is the mean of its differences at each load: on logarithms the
average ratio over the loads.

The control is part of every comparison, so chance in its runs affects all of them. The simulation accounts
for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.errors import ArgumentError
from hindmost.stats.factors.coding import Cell
from hindmost.stats.factors.effects import RunFit
from hindmost.stats.tables import Floats

_DRAWS = 10_000
_WORK = 20_000_000
"""Maximum of numbers drawn: cells x draws."""


@dataclass(frozen=True, slots=True)
class ControlDifference:
    """One cell minus the control, in the unit of the fit, with bounds that hold for all cells together."""

    cell: Cell
    value: float
    low: float
    high: float

    @property
    def lower(self) -> bool:
        """Whether the cell is certainly below the control."""
        return self.high < 0.0

    @property
    def higher(self) -> bool:
        """Whether the cell is certainly above the control."""
        return self.low > 0.0


def control_differences(
    fits: Sequence[RunFit],
    control: Cell,
    others: Sequence[Cell],
    confidence: float = 0.95,
    *,
    seed: int = 1,
) -> list[ControlDifference]:
    """Compare cells with the control, in the order of `others`.

    Parameters
    ----------
    fits
        Results of `fit_runs`, one per load, on one scale.
    control, others
        Cells. The control must not be among the others.
    confidence
        Confidence of all intervals together.
    seed
        Random seed for the critical value.

    Raises
    ------
    ValueError
        If there is nothing to compare, or the control is among the others.

    Examples
    --------
    >>> from hindmost.stats import Factorial, fit_runs
    >>> runs = {(0,): [60.0, 61.0, 62.0], (1,): [59.0, 61.0, 63.0], (2,): [40.0, 41.0, 42.0]}
    >>> fit = fit_runs(runs, Factorial({"threads": 3}))
    >>> [one.lower for one in control_differences([fit], (0,), [(1,), (2,)])]
    [False, True]
    """
    if not fits or not others or control in others:
        raise ArgumentError(
            "bad-argument", "specify a control and other cells to compare with it", argument="others"
        )
    random = np.random.default_rng(seed)
    draws = max(1_000, min(_DRAWS, _WORK // len(others)))
    value, square = np.zeros(len(others)), np.zeros(len(others))
    moved, drawn = np.zeros((draws, len(others))), np.zeros((draws, len(others)))
    for fit in fits:
        noise = fit.between
        rows = fit.rows([*others]) - fit.rows([control])
        value += rows @ noise.cells
        square += noise.errors(rows)[0] ** 2
        more, squares = noise.draw(rows, draws, random)
        moved += more
        drawn += squares
    half = _critical(moved, drawn, confidence) * np.sqrt(square) / len(fits)
    value = value / len(fits)
    return [
        ControlDifference(cell, float(v), float(v - h), float(v + h))
        for cell, v, h in zip(others, value, half, strict=True)
    ]


def _critical(moved: Floats, drawn: Floats, confidence: float) -> float:
    """Return the half-width in errors at which all intervals cover together. Zero if runs never differ."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.nan_to_num(np.abs(moved) / np.sqrt(drawn), nan=0.0)
    return float(np.quantile(t.max(axis=1), confidence, method="higher"))
