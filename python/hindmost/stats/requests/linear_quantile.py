"""One linear quantile: the exact fit at one level, and the covariance of its coefficients."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hindmost import _engine
from hindmost.errors import ArgumentError
from hindmost.stats.requests.preprocessing import LARGE, solve_large
from hindmost.stats.requests.sandwich import cluster_sandwich
from hindmost.stats.tables import Floats

_TINY = float(np.finfo(np.float64).eps) ** (2 / 3)


@dataclass(frozen=True, slots=True)
class Level:
    """A fit at one level: coefficients, intercept first, and what is known of them."""

    solution: Floats
    objective: float
    covariance: Floats
    degrees: Floats


class Rows:
    """Samples by different rows of the design, ready for any number of levels.

    Parameters
    ----------
    x : ndarray, shape (n, features)
    y : ndarray, shape (n,)
    weights : ndarray, shape (n,), or None
    intercept : bool
        Put a column of ones in front.
    """

    def __init__(self, x: Floats, y: Floats, weights: Floats | None, intercept: bool) -> None:
        rows, self.cell_of = _cells(x)
        self.design = np.column_stack([np.ones(len(rows)), rows]) if intercept else rows
        self.weights = weights
        # Numbers of the size of their scatter: y + 1e12 is fitted as y is.
        self._level = float(np.median(y)) if intercept and np.isfinite(y).all() else 0.0
        self.y = y - self._level
        self.cells = _engine.QuantileCells(self.y, self.cell_of, len(rows), weights)
        self._first = np.eye(self.design.shape[1])[0] if intercept else np.zeros(self.design.shape[1])

    def fit(self, tau: float, clusters: npt.NDArray[Any] | None) -> Level:
        """Fit one level."""
        solution = self._solve(tau)
        fitted = (self.design @ solution)[self.cell_of]
        rest = self.y - fitted
        weight = 1.0 if self.weights is None else self.weights
        scores: Floats = np.asarray((tau - (rest <= 0.0)) * weight, np.float64)
        objective = math.fsum((rest * (tau - (rest < 0.0)) * weight).tolist())
        mass = np.bincount(self.cell_of, self.weights, minlength=len(self.design)).astype(np.float64)
        density = self._densities(mass, tau)
        if clusters is not None:
            covariance, degrees = _clustered(
                scores, self.weights, self.cell_of, clusters, self.design, density
            )
        else:
            own = None if self.weights is None else self.weights**2
            squares = np.bincount(self.cell_of, own, minlength=len(self.design))
            bread = _inverse((self.design.T * (mass * density)) @ self.design)
            covariance = bread @ (tau * (1.0 - tau) * (self.design.T * squares) @ self.design) @ bread
            degrees = np.full(self.design.shape[1], math.inf)
        return Level(solution + self._level * self._first, objective, covariance, degrees)

    def _solve(self, tau: float) -> Floats:
        """By the cells' own quantiles where the design is saturated, by heaps where rows are many."""
        if not 0.0 < tau < 1.0:
            raise ArgumentError(
                "bad-argument",
                f"quantile must lie between 0 and 1, ends excluded, got {tau}",
                argument="tau",
                value=tau,
            )
        count, columns = self.design.shape
        if count == columns and np.linalg.matrix_rank(self.design) == columns:
            quantiles = self.cells.quantiles(tau)
            if all(value is not None for value in quantiles):
                at = np.array(quantiles, dtype=np.float64)
                return np.linalg.solve(self.design, at).astype(np.float64)
        if count >= LARGE and np.linalg.matrix_rank(self.design) == columns:
            weight = np.ones(len(self.y)) if self.weights is None else self.weights
            return solve_large(self.design[self.cell_of], self.y, weight, tau, _exact)
        return np.array(self.cells.fit(self.design.ravel().tolist(), columns, tau)[0])

    def _densities(self, mass: Floats, tau: float) -> Floats:
        """Density of each row's samples at the fit, from fits on either side (Hendricks and Koenker 1992)."""
        h = _engine.hall_sheather(float(mass.sum()), tau)
        while tau - h <= 0.0 or tau + h >= 1.0:
            h /= 2.0
        above, below = (self._solve(level) for level in (tau + h, tau - h))
        width = self.design @ (above - below)
        # As R has it for samples of the order of one; seconds are far smaller.
        tiny = _TINY * (min(1.0, float(np.ptp(self.y))) or 1.0)
        return np.where(width > tiny, 2.0 * h / np.maximum(width - tiny, tiny), 0.0)


def _exact(x: Floats, y: Floats, weight: Floats, tau: float) -> Floats:
    cells = _engine.QuantileCells(
        np.ascontiguousarray(y), np.arange(len(y), dtype=np.uint32), len(y), np.ascontiguousarray(weight)
    )
    return np.array(cells.fit(np.ascontiguousarray(x).ravel().tolist(), x.shape[1], tau)[0])


def _cells(x: Floats) -> tuple[Floats, npt.NDArray[np.uint32]]:
    """Different rows of x, and for each sample the number of its row."""
    if not np.isfinite(x).all():
        row, column = np.argwhere(~np.isfinite(x))[0]
        raise ArgumentError(
            "bad-argument",
            f"X[{row}, {column}] is {x[row, column]}, but must be a finite number",
            argument="X",
            line=row,
            column=column,
        )
    code = np.zeros(len(x), dtype=np.int64)
    for column in x.T:
        if ((column == 0.0) | (column == 1.0)).all():
            code = code * 2 + column.astype(np.int64)
        else:
            levels, place = np.unique(column, return_inverse=True)
            code = code * len(levels) + place
        if code.size and code.max() > 2**31:  # many levels: numbered anew before they overflow
            code = np.unique(code, return_inverse=True)[1]
    _, first, cell_of = np.unique(code, return_index=True, return_inverse=True)
    return x[first], cell_of.astype(np.uint32)


def _inverse(matrix: Floats) -> Floats:
    if np.linalg.matrix_rank(matrix) < len(matrix):
        return np.full_like(matrix, math.nan)
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def _clustered(
    scores: Floats,
    weights: Floats | None,
    cell_of: npt.NDArray[np.uint32],
    clusters: npt.NDArray[Any],
    design: Floats,
    density: Floats,
) -> tuple[Floats, Floats]:
    """Covariance and degrees of freedom with samples of one cluster belonging together."""
    if clusters.shape != scores.shape:
        raise ValueError(f"clusters must have shape {scores.shape}, got {clusters.shape}")
    labels, member = np.unique(clusters, return_inverse=True)
    if len(labels) <= design.shape[1]:
        raise ValueError(
            f"{len(labels)} clusters cannot carry errors of {design.shape[1]} coefficients:"
            " more runs are needed"
        )
    # By cluster and cell: samples are many, pieces are few.
    pieces, piece_of = np.unique(member.astype(np.int64) * len(design) + cell_of, return_inverse=True)
    cell = pieces % len(design)
    mass = np.bincount(piece_of, weights).astype(np.float64)
    score = np.asarray(np.bincount(piece_of, scores), dtype=np.float64)
    return cluster_sandwich(design[cell], pieces // len(design), mass * density[cell], score)
