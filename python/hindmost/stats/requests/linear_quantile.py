"""Linear quantile regression at one level: the exact fit, the covariance of its coefficients, and tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hindmost import _engine
from hindmost.errors import ArgumentError
from hindmost.stats.requests.lack_of_fit import Pieces, ShareBelow, cusum_test, shares_below
from hindmost.stats.requests.sandwich import Sandwich, cluster_sandwich
from hindmost.stats.tables import Floats
from hindmost.stats.wald import wald_test

_CLEAR = 1e-9
"""Ratio of eigenvalues of the columns' products above which the rank is certainly full."""
_NEAR = 1e4
"""Distance in median residuals within which a sample is near the fit."""
_ROUNDING = 1e-12
_ROUNDS = 5
_TINY = float(np.finfo(np.float64).eps) ** (2 / 3)
_GROUPS = 400
"""Random groups of independent samples that the check of the fit treats as clusters."""


@dataclass(frozen=True, slots=True)
class Level:
    """A fit at one level: coefficients (intercept first) with their covariance.

    ``sandwich``: by clusters; None for independent samples.
    """

    solution: Floats
    objective: float
    covariance: Floats
    degrees: Floats
    sandwich: Sandwich | None

    def wald(self, at: Sequence[int]) -> tuple[float, int, float, float]:
        """Test that these coefficients are all zero: statistic, its degrees of freedom, and p.

        F by clusters; chi-square, with infinitely many degrees in the denominator, for independent samples.
        """
        part = self.covariance[np.ix_(at, at)]
        degrees = math.inf
        if self.sandwich is not None:
            degrees = self.sandwich.joint_degrees(at) if np.isfinite(part).all() else math.nan
        return wald_test(self.solution[list(at)], part, degrees)


@dataclass(frozen=True, slots=True)
class FitCheck:
    """Whether the model has the right form at one level.

    ``statistic``, ``p``: He and Zhu's test of the null that it has. ``clusters``: None if samples were taken
    as independent. ``shares``: shares of samples below the fit, by fitted value and by column.
    """

    quantile: float
    statistic: float
    p: float
    clusters: int | None
    shares: tuple[ShareBelow, ...]


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
        self._names = list(names)
        self._counted = np.ones(len(y), dtype=bool) if weights is None else weights > 0.0
        rows, self.cell_of = _cells(x[self._counted])
        self.weights = None if weights is None else weights[self._counted]
        self.design, self._back = _condition(
            np.column_stack([np.ones(len(rows)), rows]) if intercept else rows
        )
        self._x = rows
        _refuse_dependent(self.design, [*(["(Intercept)"] if intercept else []), *names])
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
        objective = math.fsum((rest * (tau - (rest < 0.0)) * weight).tolist())
        sandwich = None
        if clusters is None:
            mass = np.bincount(self.cell_of, self.weights, minlength=len(self.design)).astype(np.float64)
            bread = _inverse((self.design.T * (mass * self._densities(tau))) @ self.design)
            meat = tau * (1.0 - tau) * (self.design.T * mass) @ self.design
            covariance = self._back @ bread @ meat @ bread @ self._back.T
            degrees = np.full(self.design.shape[1], math.inf)
        else:
            pieces = self._pieces(solution, tau, clusters)
            density = pieces.mass * pieces.density[pieces.cell]
            x = pieces.x[pieces.cell]
            sandwich = cluster_sandwich(x, pieces.cluster, density, pieces.score, self._back)
            covariance, degrees = sandwich.covariance, sandwich.degrees
        return Level(self._values(solution), objective, covariance, degrees, sandwich)

    def check(self, tau: float, clusters: npt.NDArray[Any] | None, draws: int, seed: int) -> FitCheck:
        """Check the form of the model at one level."""
        solution = self._solve(tau)
        labels = clusters
        if labels is None:
            labels = np.random.default_rng(seed).integers(0, _GROUPS, len(self._counted))
        pieces = self._pieces(solution, tau, labels)
        statistic, p = cusum_test(pieces, draws, seed)
        degrees = math.inf if clusters is None else pieces.clusters - 1.0
        fitted = self.design @ solution + self._level
        columns = [("(fitted)", fitted), *zip(self._names, self._x.T, strict=True)]
        shares = [
            share
            for name, values in columns
            if len(np.unique(values)) > 2
            for share in shares_below(pieces, name, values, tau, degrees)
        ]
        return FitCheck(tau, statistic, p, None if clusters is None else pieces.clusters, tuple(shares))

    def _values(self, solution: Floats) -> Floats:
        """Return the coefficients of the original columns."""
        return np.asarray(self._back @ solution + self._level * self._first, dtype=np.float64)

    def _pieces(self, solution: Floats, tau: float, clusters: npt.NDArray[Any]) -> Pieces:
        """Add up the samples' scores by cluster and cell, because there are many samples but few pieces."""
        member = _index_clusters(clusters, self._counted, self.design.shape[1])
        rest = self._rest(solution)
        # A sample on the fit counts as at or below it, despite rounding errors.
        sizes = np.abs(self.y) + (np.abs(self.design) @ np.abs(solution))[self.cell_of]
        scores = (tau - (rest <= _ROUNDING * sizes)) * (1.0 if self.weights is None else self.weights)
        cells = len(self.design)
        pieces, piece_of = np.unique(member * cells + self.cell_of, return_inverse=True)
        mass = np.bincount(piece_of, self.weights).astype(np.float64)
        score = np.bincount(piece_of, scores).astype(np.float64)
        return Pieces(pieces // cells, pieces % cells, mass, score, self.design, self._densities(tau))

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

    def _densities(self, tau: float) -> Floats:
        """Estimate each row's density at the fit, from fits on either side (Hendricks and Koenker 1992)."""
        mass = len(self.y) if self.weights is None else self.weights.sum()
        h = _engine.hall_sheather(float(mass), tau)
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


def _index_clusters(
    clusters: npt.NDArray[Any], counted: npt.NDArray[np.bool_], columns: int
) -> npt.NDArray[np.int64]:
    """Return the index of each counted sample's cluster."""
    if clusters.shape != counted.shape:
        raise ValueError(f"clusters must have shape {counted.shape}, got {clusters.shape}")
    labels, member = np.unique(clusters[counted], return_inverse=True)
    if len(labels) <= columns:
        raise ValueError(
            f"{len(labels)} clusters are too few to estimate errors of {columns} coefficients:"
            " more runs are needed"
        )
    return member.astype(np.int64)
