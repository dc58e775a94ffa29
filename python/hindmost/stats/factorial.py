"""Effects of factors on what a run reports: two levels each, all interactions, from runs that differ.

The estimand is *the quantile that a run reports*: each run gives one value, the cell's value is the mean
over its runs, and a saturated model takes as many coefficients as there are cells (Treadmill, ISCA 2016,
IV-V; here with the run as the unit of inference). With cell means m, variances s^2 of E runs each, and L the
inverse of the design::

    b = L m        a_jc = L_jc^2 s_c^2 / E_c        error_j = sqrt(sum_c a_jc)
    degrees of freedom (Satterthwaite) = (sum_c a_jc)^2 / sum_c [a_jc^2 / (E_c - 1)]

Two codings answer two questions. ``corner`` (0/1, as the paper's Table IV): what a factor does while all
others are low; an interaction of k factors has 2^(k/2) times the error of a cell. ``average`` (-1/+1,
doubled): what it does on average over all settings of the others, with half the error of a cell.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hindmost.stats.intervals import checked
from hindmost.stats.tables import Floats, RunValues, t_quantile, upper_tail

Coding = Literal["corner", "average"]
Cell = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Effect:
    """One term: what it adds, in the unit of the values, and how sure that is.

    ``factors``: names of the factors that interact; none for the intercept. ``p``: of no effect, two-sided;
    ``adjusted``: the same, adjusted for all terms of the family (Holm 1979; the intercept does not count).
    """

    factors: tuple[str, ...]
    value: float
    error: float
    degrees: float
    low: float
    high: float
    p: float
    adjusted: float

    @property
    def name(self) -> str:
        """As people write it: ``numa:turbo``."""
        return ":".join(self.factors) or "(Intercept)"


class Factorial:
    """A full factorial of factors with two levels.

    Parameters
    ----------
    factors : sequence of str
        Names; a cell is a tuple of 0 and 1 in this order.
    coding : {"corner", "average"}
        What a coefficient means.

    Examples
    --------
    >>> design = Factorial(["turbo", "numa"])
    >>> [term for term in design.terms]
    [(), ('turbo',), ('numa',), ('turbo', 'numa')]
    >>> runs = {(0, 0): [60.0, 61.0], (0, 1): [70.0, 71.0], (1, 0): [50.0, 51.0], (1, 1): [60.0, 61.0]}
    >>> [round(effect.value, 6) for effect in design.effects(runs)]
    [60.5, -10.0, 10.0, 0.0]
    """

    def __init__(self, factors: Sequence[str], coding: Coding = "corner") -> None:
        if len(set(factors)) != len(factors) or not factors:
            raise ValueError(f"factors need different names, and at least one, got {list(factors)}")
        self.factors = tuple(factors)
        self.coding = coding
        orders = range(len(factors) + 1)
        places = [term for order in orders for term in itertools.combinations(range(len(factors)), order)]
        self.terms: tuple[tuple[str, ...], ...] = tuple(tuple(factors[i] for i in term) for term in places)
        self.cells: tuple[Cell, ...] = tuple(itertools.product((0, 1), repeat=len(factors)))
        self.matrix: Floats = np.array([[self._entry(cell, term) for term in places] for cell in self.cells])

    def _entry(self, cell: Cell, term: tuple[int, ...]) -> float:
        if self.coding == "corner":
            return float(all(cell[i] for i in term))
        # Halves, so that a coefficient is the whole way from low to high.
        return math.prod(2 * cell[i] - 1 for i in term) * (0.5 if term else 1.0)

    def effects(self, runs: Mapping[Cell, RunValues], confidence: float = 0.95) -> list[Effect]:
        """Estimate all coefficients from the values that runs report.

        Parameters
        ----------
        runs : mapping of cell to values
            At least two finite values for every cell, in any unit.
        confidence : float
            Of each interval by itself.

        Raises
        ------
        ValueError
            If a cell is missing or unknown, or has fewer than two finite values.
        """
        columns = self._columns(runs)
        counts = np.array([len(values) for values in columns], dtype=np.float64)
        means = np.array([values.mean() for values in columns])
        variances = np.array([values.var(ddof=1) for values in columns])
        rows: Floats = np.linalg.inv(self.matrix).astype(np.float64)
        parts = rows**2 * (variances / counts)
        errors = np.sqrt(parts.sum(axis=1))
        spread = (parts**2 / (counts - 1)).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            degrees = np.where(spread > 0.0, parts.sum(axis=1) ** 2 / spread, math.inf)
        values = rows @ means
        ps = [_p(v, e, d) for v, e, d in zip(values, errors, degrees, strict=True)]
        adjusted = [math.nan, *holm(ps[1:])]
        ts = [t_quantile(d, 0.5 + confidence / 2.0) for d in degrees]
        return [
            Effect(term, float(v), float(e), float(d), float(v - t * e), float(v + t * e), p, a)
            for term, v, e, d, t, p, a in zip(
                self.terms, values, errors, degrees, ts, ps, adjusted, strict=True
            )
        ]

    def predicted(self, effects: Sequence[Effect]) -> dict[Cell, float]:
        """The value of every cell that follows from effects; leave some out for a smaller model."""
        known = {effect.factors: effect.value for effect in effects}
        vector = np.array([known.get(term, 0.0) for term in self.terms])
        return dict(zip(self.cells, (self.matrix @ vector).tolist(), strict=True))

    def _columns(self, runs: Mapping[Cell, RunValues]) -> list[Floats]:
        if unknown := set(runs) - set(self.cells):
            raise ValueError(f"there is no cell {min(unknown)} in a design of {len(self.factors)} factors")
        columns = []
        for cell in self.cells:
            values = checked(runs[cell]) if cell in runs and len(runs[cell]) else np.array([])
            if values.size < 2 or not np.isfinite(values).all():
                raise ValueError(
                    f"cell {cell} needs two finite values at least, got {np.isfinite(values).sum()} of them"
                )
            columns.append(values)
        return columns


def holm(ps: Sequence[float]) -> list[float]:
    """Adjust p-values so that the chance of any false alarm in the family stays below the level (Holm 1979).

    Examples
    --------
    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    out, highest = [0.0] * len(ps), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[i]))
        out[i] = highest
    return out


def _p(value: float, error: float, degrees: float) -> float:
    if error == 0.0:
        return 1.0 if value == 0.0 else 0.0
    return float(2.0 * upper_tail(np.array(abs(value) / error), degrees))
