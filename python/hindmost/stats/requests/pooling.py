"""Effects on the quantile of all requests of a cell together: the estimand of Treadmill's Table IV.

The question differs from that of `effects`: not "which p99 does a run report", but "below which latency are
99 % of all requests of all runs". If runs differ, the pooled tail is longer. With q the pooled quantile of a
cell of n requests in E runs, S_e the score of a run and f the density of requests at q::

    S_e = sum over its requests of (tau - [y <= q])        f = 2h / (Q(tau + h) - Q(tau - h))
    V = E/(E - 1) sum_e S_e^2 / (n f)^2                    naive: tau (1 - tau) / (n f^2)

h is Hall and Sheather's bandwidth (1988). V / naive is the *design effect*: the number of requests with the
information of one independent request. At the paper's own sample size, with runs that differ by 5 %,
intervals from naive errors cover 9 to 20 % instead of 95. They are included to show why not to use them.

A model with a coefficient for every cell is exactly a matrix times the cells' quantiles. A smaller model is
fitted by an exact walk, with the sandwich of `sandwich` at the fitted values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hindmost import _engine
from hindmost.errors import ArgumentError
from hindmost.stats.factors.coding import Cell, Coding, Column, Factorial, Term
from hindmost.stats.factors.effects import two_sided
from hindmost.stats.factors.families import holm
from hindmost.stats.requests.samples import Requests
from hindmost.stats.requests.sandwich import cluster_sandwich
from hindmost.stats.tables import Floats, t_quantile


@dataclass(frozen=True, slots=True)
class PooledEffect:
    """One coefficient, in the unit of the requests.

    ``error``, ``degrees``, ``low``, ``high``, ``p``, ``adjusted``: with runs as clusters, adjusted over the
    list (Holm; NaN for the intercept, which is no member). ``naive_error``: as if requests were independent,
    which they are not; only for comparison.
    """

    column: Column
    value: float
    error: float
    degrees: float
    low: float
    high: float
    p: float
    adjusted: float
    naive_error: float

    @property
    def name(self) -> str:
        """The display name: ``numa:turbo``."""
        return self.column.name

    @property
    def naive_interval(self) -> tuple[float, float]:
        """95 % interval if requests were independent."""
        return self.value - 1.959964 * self.naive_error, self.value + 1.959964 * self.naive_error


@dataclass(frozen=True, slots=True)
class PooledCell:
    """One cell: its pooled quantile and errors, in the unit of the requests.

    ``design_effect``: variance relative to independent requests; ``correlation``: intra-run correlation of
    being slower than the quantile; ``density``: of requests at the quantile, per unit.
    """

    cell: Cell
    value: float
    error: float
    naive_error: float
    design_effect: float
    correlation: float
    density: float
    requests: int
    runs: int


@dataclass(frozen=True, slots=True)
class PooledFit:
    """A fitted model of pooled quantiles.

    Attributes
    ----------
    design : Factorial
        The terms that could be estimated.
    lost : tuple of terms
        The terms that could not be estimated, because cells have no runs.
    tau : float
        Level.
    fitted : ndarray, shape (cells,)
        The model's quantile of each cell with requests.
    """

    requests: Requests
    design: Factorial
    lost: tuple[Term, ...]
    tau: float
    fitted: Floats
    density: Floats
    scores: Floats

    @property
    def saturated(self) -> bool:
        """Whether every cell has a coefficient."""
        return len(self.design.columns) == len(self.requests.cells)

    @property
    def cells(self) -> list[PooledCell]:
        """Every cell separately."""
        squares, counts, mass = self._squares, self.requests.counts, self.requests.mass
        naive = self.tau * (1.0 - self.tau) / mass
        effect = squares / naive
        with np.errstate(divide="ignore", invalid="ignore"):
            within = np.clip((effect - 1.0) / (mass / counts - 1.0), -1.0, 1.0)
        return [
            PooledCell(
                cell,
                float(self.fitted[i]),
                float(np.sqrt(squares[i]) / self.density[i]),
                float(np.sqrt(naive[i]) / self.density[i]),
                float(effect[i]),
                float(within[i]),
                float(self.density[i]),
                int(mass[i]),
                int(counts[i]),
            )
            for i, cell in enumerate(self.requests.cells)
        ]

    @property
    def _squares(self) -> Floats:
        """Squared error of each cell as a share of its requests; NaN for a cell with one run."""
        counts = self.requests.counts
        sums = np.bincount(self.requests.run_cell, self.scores**2, len(counts))
        with np.errstate(divide="ignore", invalid="ignore"):
            stretch = np.where(counts > 1, counts / (counts - 1.0), np.nan)
        return np.asarray(stretch * sums / self.requests.mass**2, dtype=np.float64)

    def effects(self, coding: Coding = "corner", confidence: float = 0.95) -> list[PooledEffect]:
        """Return all coefficients, the intercept first, with errors in closed form."""
        x = self.design.matrix(self.requests.cells, coding)
        values = np.asarray(np.linalg.lstsq(x, self.fitted, rcond=None)[0], dtype=np.float64)
        mass = self.requests.mass * self.density
        bread = np.linalg.inv((x.T * mass) @ x)
        naive = bread @ ((x.T * self.requests.mass) @ x * self.tau * (1.0 - self.tau)) @ bread
        if self.saturated:
            parts = np.linalg.inv(x) ** 2 * self._squares / self.density**2
            errors = np.sqrt(parts.sum(axis=1))
            degrees = parts.sum(axis=1) ** 2 / (parts**2 / (self.requests.counts - 1.0)).sum(axis=1)
        else:
            of = self.requests.run_cell
            sandwich = cluster_sandwich(
                x[of], np.arange(of.size), self.requests.totals * self.density[of], self.scores
            )
            errors, degrees = np.sqrt(np.diag(sandwich.covariance)), sandwich.degrees
        return _effects(self.design.columns, values, errors, degrees, np.sqrt(np.diag(naive)), confidence)

    def drawn(self, draws: int = 2_000, seed: int = 1, *, together: bool = False) -> tuple[Floats, Floats]:
        """Bootstrap runs: return deviations from `fitted`, and the error that each draw implies.

        Both have shape (draws, cells). Deviations are scaled by ``sqrt(E/(E-1))``, because resampled runs
        scatter too little. With `together`, the i-th runs of all cells (a block) are drawn together.

        Raises
        ------
        ValueError
            For a model smaller than its cells, a cell with one run, or blocks with a missing run.
        """
        counts = self.requests.counts
        if not self.saturated or counts.min() < 2:
            raise ArgumentError(
                "bad-argument",
                "a bootstrap over runs needs two runs in each cell and a model with all interactions",
                argument="runs",
                need=2,
            )
        values, squares = self.requests.histograms.bootstrap([self.tau], draws, seed, together)
        shape = (draws, len(counts))
        center = np.array(self.requests.histograms.quantiles(self.tau), dtype=np.float64)
        moved = (np.frombuffer(values).reshape(shape) - center) * np.sqrt(counts / (counts - 1.0))
        return moved, np.sqrt(np.frombuffer(squares).reshape(shape)) / self.density

    def bootstrap(
        self,
        coding: Coding = "corner",
        confidence: float = 0.95,
        draws: int = 2_000,
        seed: int = 1,
        *,
        together: bool = False,
        studentised: bool = False,
    ) -> list[PooledEffect]:
        """Return all coefficients, with errors from bootstrapped runs.

        Intervals are Student's with these errors. If `studentised`, they are the closed form's errors times
        the quantiles of drawn deviations over the errors that the draws imply.
        """
        moved, own = self.drawn(draws, seed, together=together)
        closed = self.effects(coding, confidence)
        rows = np.linalg.inv(self.design.matrix(self.requests.cells, coding))
        errors: Floats = (moved @ rows.T).std(axis=0).astype(np.float64)
        if not studentised:
            values, degrees = (
                np.array([getattr(one, key) for one in closed]) for key in ("value", "degrees")
            )
            naive = np.array([one.naive_error for one in closed])
            return _effects(self.design.columns, values, errors, degrees, naive, confidence)
        counts = self.requests.counts
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (moved / np.sqrt(counts / (counts - 1.0))) @ rows.T / np.sqrt(own**2 @ (rows**2).T)
        # A draw of a single run has no error and an infinite t, so never interpolate between two values.
        levels = [0.5 + confidence / 2.0, 0.5 - confidence / 2.0]
        ends = np.nanquantile(t, levels, axis=0, method="nearest").T
        return [
            replace(one, low=one.value - high * one.error, high=one.value - low * one.error)
            for one, (high, low) in zip(closed, ends.tolist(), strict=True)
        ]

    def predicted(self) -> dict[Cell, float]:
        """Return the model's quantile of every cell of the grid."""
        x = self.design.matrix(self.requests.cells)
        values = np.linalg.lstsq(x, self.fitted, rcond=None)[0]
        grid = self.design.cells
        return dict(zip(grid, (self.design.matrix(grid) @ values).tolist(), strict=True))

    def pseudo_r2(self) -> float:
        """Return R1 of Koenker and Machado (the paper's Equation 2) over all requests."""
        together = self.requests.together()
        (constant,) = together.quantiles(self.tau)
        assert constant is not None
        worst = together.losses([constant], self.tau)[0]
        own = math.fsum(self.requests.sorted.losses(self.fitted.tolist(), self.tau))
        return 1.0 - own / worst if worst > 0.0 else math.nan


def fit_pooled(requests: Requests, design: Factorial, tau: float, *, grain: float = 0.0) -> PooledFit:
    """Fit a model of factors to pooled quantiles.

    Parameters
    ----------
    requests : Requests
        Requests of every cell, by run.
    design : Factorial
        The factors and the wanted terms.
    tau : float
        Level in (0, 1).
    grain : float
        Resolution of the clock, in the unit of requests: the smallest width over which a density is
        estimated, for tied requests.

    Raises
    ------
    ValueError
        For a level that is not in (0, 1), and for cells that are not in the design or infinitely late.

    Examples
    --------
    >>> random = np.random.default_rng(1)
    >>> runs = {(v,): [random.normal(100.0 + 9.0 * v, 5.0, 500) + e for e in (-2, 0, 2)] for v in (0, 1)}
    >>> fit = fit_pooled(Requests.of_samples(runs), Factorial(["turbo"]), 0.5)
    >>> [(one.name, round(one.value), one.error > 3 * one.naive_error) for one in fit.effects()]
    [('(Intercept)', 100, True), ('turbo', 10, True)]
    """
    model, lost = design.estimable(requests.cells)
    x = model.matrix(requests.cells)
    mass = requests.mass
    quantiles = requests.quantiles(tau)
    if len(model.columns) == len(requests.cells):
        fitted, levels = quantiles, np.full(len(mass), tau)
    else:
        coefficients, _ = requests.sorted.fit(np.ascontiguousarray(x, dtype=np.float64), tau)
        fitted = requests.finite(x @ np.array(coefficients), tau)
        levels = np.bincount(requests.run_cell, requests.below(fitted), len(mass)) / mass
    density = _densities(requests, levels, tau, grain)
    scores = tau * requests.totals - requests.below(fitted)
    return PooledFit(requests, model, lost, tau, fitted, density, scores)


def _densities(requests: Requests, levels: Floats, tau: float, grain: float) -> Floats:
    """Estimate each cell's density at its own level, over Hall and Sheather's bandwidth, within (0, 1)."""
    out = np.empty(len(levels))
    known: dict[float, Floats] = {}
    for i, (level, mass) in enumerate(zip(levels, requests.mass, strict=True)):
        at = min(max(float(level), 1.0 / mass), 1.0 - 1.0 / mass)
        half = _engine.hall_sheather(float(mass), tau)
        while at - half <= 0.0 or at + half >= 1.0:
            half /= 2.0
        for end in (at - half, at + half):
            if end not in known:
                known[end] = requests.quantiles(end)
        width = max(float(known[at + half][i] - known[at - half][i]), grain)
        out[i] = 2.0 * half / width if width > 0.0 else math.inf
    return out


def _effects(
    columns: Sequence[Column],
    values: Floats,
    errors: Floats,
    degrees: Floats,
    naive: Floats,
    confidence: float,
) -> list[PooledEffect]:
    ps = two_sided(values, errors, degrees)
    family = [i for i, column in enumerate(columns) if column.term]
    adjusted = dict(zip(family, holm([float(ps[i]) for i in family]), strict=True))
    out = []
    for i, column in enumerate(columns):
        half = t_quantile(float(degrees[i]), 0.5 + confidence / 2.0) * float(errors[i])
        value = float(values[i])
        out.append(
            PooledEffect(
                column,
                value,
                float(errors[i]),
                float(degrees[i]),
                value - half,
                value + half,
                float(ps[i]),
                adjusted.get(i, math.nan),
                float(naive[i]),
            )
        )
    return out
