"""Linear quantile regression at one level: the exact fit, and the covariance of its coefficients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hindmost import _engine
from hindmost.errors import ArgumentError
from hindmost.stats.requests.sandwich import cluster_sandwich
from hindmost.stats.tables import Floats

_CLEAR = 1e-9
"""Ratio of eigenvalues of the columns' products above which the rank is certainly full."""
_NEAR = 1e4
"""Distance in median residuals within which a sample is near the fit."""
_ROUNDING = 1e-12
_ROUNDS = 5
_TINY = float(np.finfo(np.float64).eps) ** (2 / 3)


@dataclass(frozen=True, slots=True)
class Level:
    """A fit at one level: coefficients (intercept first) with their covariance."""

    solution: Floats
    objective: float
    covariance: Floats
    degrees: Floats


class Rows:
    """Samples grouped by distinct rows of the design, ready for any number of levels.

    Columns are centred and scaled by their range, so neither the zero nor the unit of a covariate matters.

    Parameters
    ----------
    x : ndarray, shape (n, features)
    y : ndarray, shape (n,)
    weights : ndarray, shape (n,), or None
        Weight of each sample. Samples of weight 0 are left out.
    intercept : bool
        Whether to prepend a column of ones.
    names : list of str
        Names of the features, for messages.

    Raises
    ------
    ArgumentError
        If columns depend on each other.
    """

    def __init__(
        self, x: Floats, y: Floats, weights: Floats | None, intercept: bool, names: Sequence[str] = ()
    ) -> None:
        names = [*(["(Intercept)"] if intercept else []), *names]
        self._counted = np.ones(len(y), dtype=bool) if weights is None else weights > 0.0
        rows, self.cell_of = _cells(x[self._counted])
        self.weights = None if weights is None else weights[self._counted]
        self.design, self._back = _condition(
            np.column_stack([np.ones(len(rows)), rows]) if intercept else rows
        )
        _refuse_dependent(self.design, names)
        # Keep numbers of the size of their scatter: y + 1e12 is fitted like y.
        y = y[self._counted]
        self._level = float(np.median(y)) if intercept else 0.0
        self.y = y - self._level
        self._cells = _engine.QuantileCells(self.y, self.cell_of, len(rows), self.weights)
        self._first = np.eye(self.design.shape[1])[0] if intercept else np.zeros(self.design.shape[1])

    def fit(self, tau: float, clusters: npt.NDArray[Any] | None) -> Level:
        """Fit one level."""
        solution = self._solve(tau)
        rest = self._rest(solution)
        weight = 1.0 if self.weights is None else self.weights
        # A sample on the fit counts as at or below it, despite rounding errors.
        sizes = np.abs(self.y) + (np.abs(self.design) @ np.abs(solution))[self.cell_of]
        scores: Floats = np.asarray((tau - (rest <= _ROUNDING * sizes)) * weight, np.float64)
        objective = math.fsum((rest * (tau - (rest < 0.0)) * weight).tolist())
        mass = np.bincount(self.cell_of, self.weights, minlength=len(self.design)).astype(np.float64)
        density = self._densities(mass, tau)
        if clusters is not None:
            covariance, degrees = _cluster_covariance(
                scores, self.weights, self.cell_of, clusters[self._counted], self.design, density, self._back
            )
        else:
            bread = _inverse((self.design.T * (mass * density)) @ self.design)
            meat = tau * (1.0 - tau) * (self.design.T * mass) @ self.design
            covariance = self._back @ bread @ meat @ bread @ self._back.T
            degrees = np.full(self.design.shape[1], math.inf)
        return Level(self._back @ solution + self._level * self._first, objective, covariance, degrees)

    def _rest(self, solution: Floats) -> Floats:
        return np.asarray(self.y - (self.design @ solution)[self.cell_of], dtype=np.float64)

    def _solve(self, tau: float) -> Floats:
        """Solve by the cells' own quantiles if the design is saturated, else iteratively near the fit.

        A sample far from the fit counts only by its side, so it can be moved near. Otherwise a value of 1e9
        among values of 100 would leave no significant digits to distinguish those. If no such sample changes
        sides, the result is the optimum of the unmodified samples.
        """
        if not 0.0 < tau < 1.0:
            raise ArgumentError(
                "bad-argument",
                f"quantile must lie between 0 and 1, ends excluded, got {tau}",
                argument="tau",
                value=tau,
            )
        count, columns = self.design.shape
        if count == columns:
            at = np.array(self._cells.quantiles(tau), dtype=np.float64)
            return np.asarray(np.linalg.solve(self.design, at), dtype=np.float64)
        solution = np.zeros(columns)
        for _ in range(_ROUNDS):
            rest = self._rest(solution)
            size = np.abs(rest)
            reach = first = _NEAR * float(np.median(size[size > 0.0])) if size.any() else math.inf
            while True:
                step = self._exact(np.clip(rest, -reach, reach), tau)
                far = size > reach
                moved = np.abs((self.design @ step)[self.cell_of][far])
                if not far.any() or moved.max() < reach:
                    break
                reach = 2.0 * float(np.median(size[far]))
            solution = solution + step
            if reach == first:
                break
        return solution

    def _exact(self, y: Floats, tau: float) -> Floats:
        """Return the exact coefficients of samples of similar size."""
        same = np.array_equal(y, self.y)
        cells = self._cells
        if not same:
            cells = _engine.QuantileCells(y, self.cell_of, len(self.design), self.weights)
        return np.array(cells.fit(self.design, tau)[0])

    def _densities(self, mass: Floats, tau: float) -> Floats:
        """Estimate each row's density at the fit, from fits on either side (Hendricks and Koenker 1992)."""
        h = _engine.hall_sheather(float(mass.sum()), tau)
        while tau - h <= 0.0 or tau + h >= 1.0:
            h /= 2.0
        above, below = (self._solve(level) for level in (tau + h, tau - h))
        width = self.design @ (above - below)
        # R uses this for samples of the order of one. Values in seconds are far smaller.
        tiny = _TINY * (min(1.0, float(np.ptp(self.y))) or 1.0)
        return np.where(width > tiny, 2.0 * h / np.maximum(width - tiny, tiny), 0.0)


def _cells(x: Floats) -> tuple[Floats, npt.NDArray[np.uint32]]:
    """Return the distinct rows of x, and for each sample the index of its row."""
    code = np.zeros(len(x), dtype=np.int64)
    for column in x.T:
        if ((column == 0.0) | (column == 1.0)).all():
            code = code * 2 + column.astype(np.int64)
        else:
            levels, place = np.unique(column, return_inverse=True)
            if len(levels) == len(x):  # as for a continuous covariate
                return x, np.arange(len(x), dtype=np.uint32)
            code = code * len(levels) + place
        if code.size and code.max() > 2**31:  # renumber many levels before they overflow
            code = np.unique(code, return_inverse=True)[1]
    _, first, cell_of = np.unique(code, return_index=True, return_inverse=True)
    return x[first], cell_of.astype(np.uint32)


def _condition(design: Floats) -> tuple[Floats, Floats]:
    """Return columns centred and in units (powers of two) of their range, and the matrix to convert back.

    Coefficients of the original columns are that matrix times those of the returned columns.
    """
    low, high = design.min(axis=0), design.max(axis=0)
    constant = next((k for k in range(len(low)) if low[k] == high[k] != 0.0), None)
    back = np.eye(len(low))
    out = design.copy()
    for k in range(len(low)):
        if constant not in (None, k) and max(-low[k], high[k]) > 2.0 * (high[k] - low[k]):
            middle = float(np.partition(design[:, k], len(design) // 2)[len(design) // 2])
            out[:, k] -= middle
            back[constant, k] = -middle / low[constant]
        size = float(np.abs(out[:, k]).max())
        if size > 0.0:
            unit = 2.0 ** math.floor(math.log2(size))
            out[:, k] /= unit
            back[:, k] /= unit
    return out, back


def _refuse_dependent(design: Floats, names: Sequence[str]) -> None:
    columns = design.shape[1]
    if columns == 0 or len(design) == 0:
        raise ArgumentError("bad-argument", "nothing to fit: no rows, or no columns", argument="X")
    sizes = np.linalg.eigvalsh(design.T @ design)
    if sizes[0] > _CLEAR * sizes[-1] or np.linalg.matrix_rank(design) == columns:
        return
    place = next(k for k in range(columns) if np.linalg.matrix_rank(design[:, : k + 1]) <= k)
    raise ArgumentError(
        "bad-argument",
        f"column {names[place]} depends on those before it, so its coefficient is undetermined",
        argument="X",
        name=names[place],
        column=place - columns + len(names) - (names[0] == "(Intercept)"),
    )


def _inverse(matrix: Floats) -> Floats:
    if np.linalg.matrix_rank(matrix) < len(matrix):
        return np.full_like(matrix, math.nan)
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def _cluster_covariance(
    scores: Floats,
    weights: Floats | None,
    cell_of: npt.NDArray[np.uint32],
    clusters: npt.NDArray[Any],
    design: Floats,
    density: Floats,
    back: Floats,
) -> tuple[Floats, Floats]:
    """Return covariance and degrees of freedom for clustered samples."""
    if clusters.shape != scores.shape:
        raise ValueError(f"clusters must have shape {scores.shape}, got {clusters.shape}")
    labels, member = np.unique(clusters, return_inverse=True)
    if len(labels) <= design.shape[1]:
        raise ValueError(
            f"{len(labels)} clusters are too few to estimate errors of {design.shape[1]} coefficients:"
            " more runs are needed"
        )
    # Aggregate by cluster and cell, because there are many samples but few pieces.
    pieces, piece_of = np.unique(member.astype(np.int64) * len(design) + cell_of, return_inverse=True)
    cell = pieces % len(design)
    mass = np.bincount(piece_of, weights).astype(np.float64)
    score = np.asarray(np.bincount(piece_of, scores), dtype=np.float64)
    return cluster_sandwich(design[cell], pieces // len(design), mass * density[cell], score, back)
