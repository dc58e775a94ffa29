"""Quantile regression for anyone: exact, weighted, with errors that know of clusters.

The model is ``Q(y | x) = x'b`` at one quantile level; ``b`` minimises the sum of check losses (Koenker and
Bassett 1978). Rows that are alike are one *cell*, sorted once in the engine, so a factorial experiment of
millions of samples is fitted in milliseconds, and real covariates still get the exact optimum.

Standard errors are those of the sandwich ``D^-1 M D^-1``: ``D`` holds the densities at the fit, from fits at
levels a Hall-Sheather bandwidth away (Hendricks and Koenker 1992; R's ``se = "nid"``); ``M`` the scores,
summed up by cluster where there are clusters (Parente and Santos Silva 2016), with a correction for few
clusters and t with the degrees of freedom that belong to it (see `sandwich`). Samples of one run are no
independent samples: with a run effect of 5 %, errors that ignore runs are 7 to 15 times too small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hindmost import _engine
from hindmost.stats.requests.sandwich import cluster_sandwich
from hindmost.stats.tables import Floats, t_quantile

_TINY = float(np.finfo(np.float64).eps) ** (2 / 3)


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One coefficient with its 95 % interval, in the unit of y per unit of its column."""

    name: str
    value: float
    error: float
    low: float
    high: float


class QuantileRegression:
    """Exact linear quantile regression.

    Parameters
    ----------
    quantile : float
        Level in (0, 1).
    fit_intercept : bool
        Put a column of ones in front of X.
    jitter : float
        Normal noise that is added to y before the fit, in standard deviations of y. Not needed, because the
        fit is exact; Treadmill (ISCA 2016, V-A) used 0.01, and results are then compared like with like.
    random_state : int
        Seed of that noise.

    Attributes
    ----------
    coef_ : ndarray, shape (features,)
        Coefficients of the columns of X.
    intercept_ : float
        0.0 without intercept.
    objective_ : float
        The least sum of check losses.
    covariance_ : ndarray, shape (p, p)
        Of the coefficients, intercept first; NaN where the samples cannot tell.
    degrees_ : ndarray, shape (p,)
        Degrees of freedom of the intervals; infinite without clusters.
    feature_names_in_ : list of str
        Names of the columns of X, ``x0`` and so on where it has none.

    Notes
    -----
    Where the optimum is not unique, a model with as many coefficients as different rows takes the middle of
    the optimal quantiles of each row; any other one takes a vertex. Compare objectives of solvers, never
    coefficients alone.

    Examples
    --------
    >>> import numpy as np
    >>> turbo = np.repeat([0, 1], 5)
    >>> y = np.array([10.0, 11, 12, 13, 30, 7, 8, 9, 10, 25])
    >>> model = QuantileRegression(quantile=0.5).fit(turbo[:, None], y)
    >>> model.intercept_, model.coef_.tolist()
    (12.0, [-3.0])

    Requests of twelve runs that differ; the factor changes nothing. Only errors that know of runs say so:

    >>> random = np.random.default_rng(7)
    >>> run = np.repeat(np.arange(12), 500)
    >>> y = np.exp(4.0 + random.normal(0.0, 0.05, 12)[run] + random.normal(0.0, 0.2, run.size))
    >>> model = QuantileRegression(quantile=0.95)
    >>> turbo = (run >= 6).astype(float)[:, None]
    >>> one = model.fit(turbo, y).coefficients_[1]
    >>> print(f"{one.value:.2f} [{one.low:.2f}, {one.high:.2f}]")
    2.80 [1.17, 4.43]
    >>> one = model.fit(turbo, y, clusters=run).coefficients_[1]
    >>> print(f"{one.value:.2f} [{one.low:.2f}, {one.high:.2f}]")
    2.80 [-0.80, 6.39]
    """

    coef_: Floats
    intercept_: float
    objective_: float
    covariance_: Floats
    degrees_: Floats
    feature_names_in_: list[str]

    def __init__(
        self, quantile: float = 0.5, fit_intercept: bool = True, jitter: float = 0.0, random_state: int = 1
    ) -> None:
        self.quantile = quantile
        self.fit_intercept = fit_intercept
        self.jitter = jitter
        self.random_state = random_state

    def fit(
        self,
        X: Any,  # noqa: ANN401 (scikit-learn's names; arrays and data frames)
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        clusters: npt.ArrayLike | None = None,
    ) -> QuantileRegression:
        """Fit the model.

        Parameters
        ----------
        X : array or data frame, shape (n, features)
            Covariates.
        y : array, shape (n,)
            What is explained.
        sample_weight : array, shape (n,), optional
            A sample of weight 2 counts as two.
        clusters : array, shape (n,), optional
            Samples with the same label belong together (one run) and say less than as many apart.

        Raises
        ------
        ValueError
            If shapes do not fit, a value is no finite number, the level is not in (0, 1), or columns depend
            on each other.
        """
        names = [str(name) for name in getattr(X, "columns", ())]
        self._frame = type(X) if names else dict
        x = np.asarray(X, dtype=np.float64)
        if x.ndim != 2:
            raise ValueError(f"X must have two dimensions, got shape {x.shape}")
        self.feature_names_in_ = names or [f"x{i}" for i in range(x.shape[1])]
        samples = np.ascontiguousarray(y, dtype=np.float64)
        weights = None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=np.float64)
        if samples.shape != (x.shape[0],):
            raise ValueError(f"y must have shape ({x.shape[0]},), got {samples.shape}")
        if self.jitter > 0.0:
            noise = np.random.default_rng(self.random_state).standard_normal(samples.shape)
            samples = samples + self.jitter * samples.std() * noise
        rows, cell_of = _cells(x)
        design = np.column_stack([np.ones(len(rows)), rows]) if self.fit_intercept else rows
        cells = _engine.QuantileCells(samples, cell_of, len(rows), weights)
        solution = _solve(cells, design, self.quantile)
        self.objective_ = math.fsum(cells.losses((design @ solution).tolist(), self.quantile))
        first = int(self.fit_intercept)
        self.intercept_ = float(solution[0]) if first else 0.0
        self.coef_ = solution[first:]
        mass = np.bincount(cell_of, weights, minlength=len(rows)).astype(np.float64)
        below = samples <= (design @ solution)[cell_of]
        scores: Floats = np.asarray(
            (self.quantile - below) * (1.0 if weights is None else weights), np.float64
        )
        density = _densities(cells, design, mass, self.quantile)
        if clusters is None:
            bread = _inverse((design.T * (mass * density)) @ design)
            squares = np.bincount(cell_of, None if weights is None else weights**2, minlength=len(rows))
            filling = self.quantile * (1.0 - self.quantile) * (design.T * squares) @ design
            self.covariance_ = bread @ filling @ bread
            self.degrees_ = np.full(design.shape[1], math.inf)
        else:
            self.covariance_, self.degrees_ = _clustered(
                scores, weights, cell_of, np.asarray(clusters), design, density
            )
        return self

    def predict(self, X: Any) -> Floats:  # noqa: ANN401
        """Quantiles at rows of X, in the unit of y."""
        return np.asarray(X, dtype=np.float64) @ self.coef_ + self.intercept_

    @property
    def coefficients_(self) -> list[Coefficient]:
        """Every coefficient with its 95 % interval, the intercept first."""
        names = [*(["(Intercept)"] if self.fit_intercept else []), *self.feature_names_in_]
        values = [*([self.intercept_] if self.fit_intercept else []), *self.coef_.tolist()]
        errors = np.sqrt(np.diag(self.covariance_)).tolist()
        ts = [t_quantile(degrees, 0.975) for degrees in self.degrees_]
        return [
            Coefficient(name, value, error, value - t * error, value + t * error)
            for name, value, error, t in zip(names, values, errors, ts, strict=True)
        ]

    def table(self) -> Any:  # noqa: ANN401
        """The coefficients by column: a frame of the kind that X was (pandas, polars), a dict for arrays."""
        fields = ("name", "value", "error", "low", "high")
        return self._frame({key: [getattr(one, key) for one in self.coefficients_] for key in fields})

    def summary(self) -> str:
        """The coefficients as a table of text."""
        wide = max(len(one.name) for one in self.coefficients_)
        least, most = self.degrees_.min(), self.degrees_.max()
        kind = (
            "independent samples" if math.isinf(most) else f"by clusters, t with {least:.3g} to {most:.3g} df"
        )
        lines = [
            f"quantile {self.quantile:g}, objective {self.objective_:.8g}, 95 % intervals ({kind})",
            f"{'':{wide}}  {'estimate':>12} {'error':>11}   95 % interval",
        ]
        for one in self.coefficients_:
            lines.append(
                f"{one.name:{wide}}  {one.value:12.6g} {one.error:11.5g}   [{one.low:.6g}, {one.high:.6g}]"
            )
        return "\n".join(lines)


def _cells(x: Floats) -> tuple[Floats, npt.NDArray[np.uint32]]:
    """Different rows of x, and for each sample the number of its row."""
    if not np.isfinite(x).all():
        row, column = np.argwhere(~np.isfinite(x))[0]
        raise ValueError(f"X[{row}, {column}] is {x[row, column]}, but must be a finite number")
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


def _solve(cells: _engine.QuantileCells, design: Floats, tau: float) -> Floats:
    """Coefficients: by the cells' own quantiles where the design is saturated."""
    count, columns = design.shape
    if not 0.0 < tau < 1.0:
        raise ValueError(f"quantile must lie between 0 and 1, ends excluded, got {tau}")
    if count == columns and np.linalg.matrix_rank(design) == columns:
        quantiles = cells.quantiles(tau)
        if all(value is not None for value in quantiles):
            at = np.array(quantiles, dtype=np.float64)
            exact: Floats = np.linalg.solve(design, at).astype(np.float64)
            return exact
    return np.array(cells.fit(design.ravel().tolist(), columns, tau)[0])


def _densities(cells: _engine.QuantileCells, design: Floats, mass: Floats, tau: float) -> Floats:
    """Density of each row's samples at the fit, from fits on either side (Hendricks and Koenker 1992)."""
    h = _engine.hall_sheather(float(mass.sum()), tau)
    while tau - h <= 0.0 or tau + h >= 1.0:
        h /= 2.0
    above, below = (_solve(cells, design, level) for level in (tau + h, tau - h))
    width = design @ (above - below)
    return np.where(width > _TINY, 2.0 * h / np.maximum(width - _TINY, _TINY), 0.0)


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
