"""Effects of factors on run values, with runs that differ.

The estimand is *the quantile that a run reports*: each run yields one value, and a cell's value is that of
its typical run (Treadmill, ISCA 2016, IV-V, corrected; for attribution of a pooled quantile see `pooled`).

Runs in blocks: the block is the unit of inference, and a cell's value is Huber's location of its runs
(`noise`). The table shows the coverage of 95 % intervals of a factor's average effect, 2^3 cells in 10
blocks, logarithms, runs with sd 5 %, 400 studies. Brackets: coverage with an error that treats runs as
independent after subtracting the level of their block:

================================================  ===========  ============
scenario                                          ratio        microseconds
================================================  ===========  ============
no disturbance                                    .96 (.96)    .95 (.74)
the effect differs between blocks, sd 5 %         .97 (.83)    .97 (.67)
sd 10 %                                           .96 (.68)    .96 (.57)
sd 20 %                                           .97 (.60)    .96 (.54)
a tenth of runs is 200 us slower (165 to 468 us)  .94 (.90)    .92 (.94)
a tenth of blocks                                 .97 (.42)    .99 (.95)
================================================  ===========  ============

Runs without blocks are independent, and a cell's value is their mean. With cell means m, variances s^2 of E
runs each, a model of columns X and its least-squares solution ``L = (X'EX)^-1 X'E``, which is X^-1 if every
cell has a coefficient::

    b = L m        a_jc = L_jc^2 s_c^2 / E_c        error_j = sqrt(sum_c a_jc)
    degrees of freedom (Satterthwaite) = (sum_c a_jc)^2 / sum_c [a_jc^2 / (E_c - 1)]

A model with fewer coefficients than cells weights cells by their runs. Its error comes from the scatter of
runs, so it holds if the omitted terms are zero. Weights E/s^2 promise shorter intervals, but the intervals
are too short if s is estimated from few runs. Coverage for five main effects from a half of 2^5, with cells
of one level three times as scattered as the others, nominal 95 %, 300 studies:

=========  =============  ============  ============
runs       3 per cell     5             10
=========  =============  ============  ============
E          .963           .960          .950
E/s^2      .765           .880          .927
=========  =============  ============  ============

On the logarithmic scale effects are ratios: relative effects on skewed run values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from hindmost.errors import ArgumentError
from hindmost.stats.factors.coding import Cell, Coding, Column, Factorial, Term
from hindmost.stats.factors.families import holm
from hindmost.stats.factors.noise import BlockNoise, Blocks, CellNoise, Noise, Table, by_cell, tabulate
from hindmost.stats.tables import Floats, RunValues, t_quantile, upper_tail
from hindmost.stats.wald import wald_test

Scale = Literal["raw", "log"]

LARGEST_GRID = 1024
"""Largest grid of which all cells are predicted. For larger grids, only cells that were run are."""


@dataclass(frozen=True, slots=True)
class Effect:
    """A weighted sum of cells with its interval, in the unit of the values, or of their logarithms.

    ``p``: of no effect, two-sided; ``adjusted``: the same for its family (NaN for the intercept, which is not
    a member). ``runs``: of the cell with the fewest runs among the compared ones.
    """

    column: Column
    value: float
    error: float
    degrees: float
    low: float
    high: float
    p: float
    adjusted: float
    runs: int
    scale: Scale = "raw"

    @property
    def term(self) -> Term:
        """The factors that act together. Empty for the intercept."""
        return self.column.term

    @property
    def name(self) -> str:
        """The display name: ``numa:turbo``."""
        return self.column.name

    @property
    def share(self) -> tuple[float, float, float]:
        """Value and interval as a relative change: 0.1 is 10 % more. Only for effects on logarithms."""
        if self.scale != "log":
            raise ArgumentError(
                "bad-argument",
                "an effect in the unit of the values is no share; fit with scale='log'",
                argument="scale",
            )
        return math.expm1(self.value), math.expm1(self.low), math.expm1(self.high)


@dataclass(frozen=True, slots=True)
class TermTest:
    """Wald's test of the null that all coefficients of a term are zero: F with these degrees of freedom."""

    term: Term
    statistic: float
    numerator: int
    denominator: float
    p: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """The model's prediction of one cell, in the unit of the values, with that cell's number of runs."""

    cell: Cell
    value: float
    low: float
    high: float
    runs: int


@dataclass(frozen=True, slots=True)
class RunFit:
    """A fitted model, which yields effects, predictions and comparisons.

    Attributes
    ----------
    design : Factorial
        The terms that could be estimated.
    lost : tuple of terms
        The terms that could not be estimated, because cells have no runs.
    empty, late : tuple of cells
        Cells without runs, and cells left out because a run was infinitely late.
    own, between : Noise
        Noise of sums of cells, and of comparisons of cells, which exclude the level of each block.
    scatter : CellNoise
        How runs of one cell differ, regardless of blocks.
    """

    design: Factorial
    lost: tuple[Term, ...]
    empty: tuple[Cell, ...]
    late: tuple[Cell, ...]
    table: Table
    scale: Scale
    solution: Floats
    own: Noise
    between: Noise
    scatter: CellNoise

    def rows(self, cells: Sequence[Cell]) -> Floats:
        """Return predictions of cells as weighted sums of the cells that were run, one per row."""
        return self.design.matrix(cells) @ self.solution

    @property
    def spoken_of(self) -> tuple[Cell, ...]:
        """Cells that the model predicts: the whole grid, or for large designs the cells that were run."""
        whole = math.prod(self.design.levels) <= LARGEST_GRID
        return self.design.cells if whole else self.table.cells

    def estimate(self, rows: Floats) -> tuple[Floats, Floats, Floats]:
        """Return value, error and degrees of freedom of weighted sums of cells, one per row."""
        compares = np.abs(rows.sum(axis=1)) < 1e-9 * np.abs(rows).sum(axis=1)
        value, error, degrees = (np.empty(len(rows)) for _ in range(3))
        for noise, these in ((self.own, ~compares), (self.between, compares)):
            if these.any():
                value[these] = rows[these] @ noise.cells
                error[these], degrees[these] = noise.errors(rows[these])
        return value, error, degrees

    def coefficients(self, coding: Coding = "corner") -> Floats:
        """Return each coefficient as weights of the cells that were run, shape (coefficients, cells)."""
        if coding == "corner":
            return self.solution
        # Both codings span the same models, so the same cells determine both.
        corner, other = (self.design.matrix(self.table.cells, one) for one in ("corner", coding))
        return np.asarray(np.linalg.lstsq(other, corner, rcond=None)[0] @ self.solution, dtype=np.float64)

    def effects(
        self, coding: Coding = "corner", confidence: float = 0.95, critical: float | None = None
    ) -> list[Effect]:
        """Return all coefficients, the intercept first, adjusted over this list (Holm).

        Parameters
        ----------
        coding : {"corner", "average"}
            The meaning of a coefficient, see `coding`.
        confidence : float
            Confidence of each single interval.
        critical : float, optional
            Half-width in errors for all but the intercept, from `hindmost.stats.simultaneous`, for intervals
            that hold together.
        """
        return self._effects(self.coefficients(coding), self.design.columns, confidence, critical)

    def test_terms(self) -> list[TermTest]:
        """Test each term of several coefficients: a factor of more than two levels, averaged over the others.

        The null is that all levels have the same value; for an interaction, that no pair of levels interacts.
        Empty for runs without blocks.
        """
        if not isinstance(self.between, BlockNoise):
            return []
        rows, columns = self.coefficients("average"), self.design.columns
        found = []
        for term in self.design.terms:
            at = [place for place, column in enumerate(columns) if column.term == term]
            if len(at) > 1:
                values = rows[at] @ self.between.cells
                found.append(TermTest(term, *wald_test(values, *self.between.joint(rows[at]))))
        return found

    def simple_effect(self, factor: str, at: Mapping[str, int], level: int = 1) -> Effect:
        """Return the effect of `level` of a factor relative to its first, others held at `at` or averaged."""
        grid = self.spoken_of
        cells = np.array(grid)
        place = self.design.factors.index(factor)
        held = np.ones(len(cells), dtype=bool)
        for name, value in at.items():
            held &= cells[:, self.design.factors.index(name)] == value
        high, low = (held & (cells[:, place] == v) for v in (level, 0))
        if not (high.any() and low.any()):
            raise ValueError(f"nothing to compare: {factor} at level {level} with {dict(at)}")
        row = (high / high.sum() - low / low.sum()) @ self.rows(grid)
        column = Column((factor,), (level,))
        return self._effects(row[None, :], (column,), 0.95, None)[0]

    def predicted(self, confidence: float = 0.95) -> list[Prediction]:
        """Predict every cell of `spoken_of`, also those never run, in the unit of the values."""
        value, error, degrees = self.estimate(self.rows(self.spoken_of))
        half = _critical(degrees, confidence) * error
        ran = dict(zip(self.table.cells, self.table.counts.tolist(), strict=True))
        back = np.exp if self.scale == "log" else np.asarray
        ends = zip(self.spoken_of, back(value), back(value - half), back(value + half), strict=True)
        return [Prediction(cell, float(v), float(a), float(b), ran.get(cell, 0)) for cell, v, a, b in ends]

    def _effects(
        self, rows: Floats, columns: Sequence[Column], confidence: float, critical: float | None
    ) -> list[Effect]:
        values, errors, degrees = self.estimate(rows)
        half = _critical(degrees, confidence)
        if critical is not None:
            half = np.where([bool(column.term) for column in columns], critical, half)
        ps = two_sided(values, errors, degrees)
        family = [i for i, column in enumerate(columns) if column.term]
        adjusted = dict(zip(family, holm([float(ps[i]) for i in family]), strict=True))
        used = [int(self.table.counts[np.abs(row) > 1e-12].min(initial=10**9)) for row in rows]
        return [
            Effect(
                column,
                float(values[i]),
                float(errors[i]),
                float(degrees[i]),
                float(values[i] - half[i] * errors[i]),
                float(values[i] + half[i] * errors[i]),
                float(ps[i]),
                adjusted.get(i, math.nan),
                used[i],
                self.scale,
            )
            for i, column in enumerate(columns)
        ]


def fit_runs(
    runs: Mapping[Cell, RunValues],
    design: Factorial,
    *,
    blocks: Blocks | None = None,
    scale: Scale = "raw",
    weights: Literal["runs", "variances"] = "runs",
) -> RunFit:
    """Fit a model of factors to run values.

    Parameters
    ----------
    runs : mapping of cell to values
        One value per run, in any unit; ``math.inf`` for an infinitely late run. Cells without runs, or
        missing cells, make the model smaller.
    design : Factorial
        The factors and the wanted terms.
    blocks : mapping of cell to labels, optional
        The block of each run: the unit of inference, see above.
    scale : {"raw", "log"}
        Effects in the unit of the values, or on their natural logarithms: ratios.
    weights : {"runs", "variances"}
        Weights of cells in a model with fewer coefficients than cells; ``variances`` undercovers (see above).

    Raises
    ------
    ValueError
        For cells that are not in the design, no finite runs, values without a logarithm, block labels that do
        not match, or runs that leave no degrees of freedom for errors.

    Examples
    --------
    >>> runs = {(0, 0): [60.0, 61.0], (0, 1): [70.0, 71.0], (1, 0): [50.0, 51.0], (1, 1): [60.0, 61.0]}
    >>> fit = fit_runs(runs, Factorial(["turbo", "numa"]))
    >>> [(effect.name, round(effect.value, 6)) for effect in fit.effects()]
    [('(Intercept)', 60.5), ('turbo', -10.0), ('numa', 10.0), ('turbo:numa', 0.0)]
    """
    table, empty, late = tabulate(runs, blocks)
    if scale == "log":
        if table.y.min() <= 0.0:
            raise ArgumentError(
                "bad-argument",
                f"only positive values have logarithms, got {table.y.min():g}",
                argument="runs",
            )
        table = replace(table, y=np.log(table.y))
    model, lost = design.estimable(table.cells)
    matrix = model.matrix(table.cells)
    scatter = by_cell(table)
    mass = table.counts.astype(np.float64)
    if weights == "variances" and scatter is not None and scatter.of_cells.min() > 0.0:
        mass = mass / scatter.of_cells
    solution: Floats = np.linalg.solve((matrix.T * mass) @ matrix, matrix.T * mass).astype(np.float64)
    scatter = scatter or _from_misfit(table, matrix, solution)
    never = tuple(cell for cell in empty if cell not in late)
    own = BlockNoise.from_table(table, level=False) or scatter
    between = BlockNoise.from_table(table, level=True) or own
    return RunFit(model, lost, never, late, table, scale, solution, own, between, scatter)


def two_sided(values: Floats, errors: Floats, degrees: Floats) -> Floats:
    """Return Student's two-sided p-values of zero. With an error of 0 there is no uncertainty."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(errors > 0.0, np.abs(values) / errors, np.where(values == 0.0, 0.0, np.inf))
    tails = [
        float(upper_tail(np.array(x), d if math.isfinite(d) else 0)) for x, d in zip(t, degrees, strict=True)
    ]
    return np.minimum(1.0, 2.0 * np.array(tails))


def _critical(degrees: Floats, confidence: float) -> Floats:
    return np.array([t_quantile(d, 0.5 + confidence / 2.0) for d in degrees])


def _from_misfit(table: Table, matrix: Floats, solution: Floats) -> CellNoise:
    """Estimate the scatter of runs from the misfit of a smaller model, if no cell has a second run."""
    left = len(table.cells) - matrix.shape[1]
    if left < 1:
        raise ArgumentError(
            "bad-argument",
            f"{len(table.y)} runs for {matrix.shape[1]} coefficients, and no cell has two:"
            " errors cannot be estimated",
            argument="runs",
        )
    rest = table.y - matrix @ (solution @ table.y)
    return CellNoise(
        table.y,
        table.counts,
        np.array([rest @ rest / left]),
        np.array([float(left)]),
        np.ones((len(table.cells), 1)),
    )
