"""Effects of factors on what a run reports, from runs that differ.

The estimand is *the quantile that a run reports*: each run gives one value, and a cell's value is that of its
typical run (Treadmill, ISCA 2016, IV-V, made right; attribution of a pooled quantile is in `pooled`).

Runs made in blocks: the block is the unit of inference, and a cell's value is Huber's location of its runs
(`noise`). 95 % intervals of a factor's average effect, 2^3 cells in 10 blocks, logarithms, runs with sd 5 %;
coverage, and in brackets with an error of independent runs less the level of their block (400 studies):

================================================  ===========  ============
world                                             ratio        microseconds
================================================  ===========  ============
nothing else                                      .96 (.96)    .95 (.74)
the effect differs between blocks, sd 5 %         .97 (.83)    .97 (.67)
sd 10 %                                           .96 (.68)    .96 (.57)
sd 20 %                                           .97 (.60)    .96 (.54)
a tenth of runs is 200 us slower (165 to 468 us)  .94 (.90)    .92 (.94)
a tenth of blocks                                 .97 (.42)    .99 (.95)
================================================  ===========  ============

Runs without blocks are independent, and a cell's value is their mean. With cell means m, variances s^2 of E
runs each, a model of columns X and its least-squares solution ``L = (X'EX)^-1 X'E``, which is X^-1 where
every cell has a coefficient::

    b = L m        a_jc = L_jc^2 s_c^2 / E_c        error_j = sqrt(sum_c a_jc)
    degrees of freedom (Satterthwaite) = (sum_c a_jc)^2 / sum_c [a_jc^2 / (E_c - 1)]

A model with fewer coefficients than cells weights cells by their runs; its error is that of the scatter of
runs, so it holds if the terms left out are nothing. Weights E/s^2 promise shorter intervals, and break the
promise where s is known from few runs: five main effects from a half of 2^5, cells of one level three times
as scattered as those of the other, nominal 95 %, 300 studies:

=========  =============  ============  ============
runs       3 a cell       5             10
=========  =============  ============  ============
E          .963           .960          .950
E/s^2      .765           .880          .927
=========  =============  ============  ============

On the scale of logarithms effects are ratios: what a factor does in per cent, of skewed run values.
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

Scale = Literal["raw", "log"]

LARGEST_GRID = 1024
"""Cells of a grid beyond which only those that were run are spoken of."""


@dataclass(frozen=True, slots=True)
class Effect:
    """A weighted sum of cells and how sure it is, in the unit of the values, or of their logarithms.

    ``p``: of nothing, two-sided; ``adjusted``: the same for the family it was asked in (the intercept is no
    member: NaN). ``runs``: of the cell with the fewest among those that it compares.
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
        """The factors that act together; none for the intercept."""
        return self.column.term

    @property
    def name(self) -> str:
        """As people write it: ``numa:turbo``."""
        return self.column.name

    @property
    def share(self) -> tuple[float, float, float]:
        """Value and interval as a share of 1: 0.1 is 10 % more. Of an effect on logarithms alone."""
        if self.scale != "log":
            raise ArgumentError(
                "bad-argument",
                "an effect in the unit of the values is no share; fit with scale='log'",
                argument="scale",
            )
        return math.expm1(self.value), math.expm1(self.low), math.expm1(self.high)


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model says of one cell, in the unit of the values; ``runs``: of that cell, 0 if it had none."""

    cell: Cell
    value: float
    low: float
    high: float
    runs: int


@dataclass(frozen=True, slots=True)
class RunFit:
    """A fitted model: ask it for effects, predictions and comparisons.

    Attributes
    ----------
    design : Factorial
        The terms that could be told.
    lost : tuple of terms
        Those that could not, because of cells without runs.
    empty, late : tuple of cells
        Without runs; with a run that was infinitely late, and so left out.
    own, between : Noise
        Of sums of cells, and of comparisons of cells, which lose the level of each block.
    scatter : CellNoise
        How runs of one cell differ, blocks or not.
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
        """What the model says of cells, as weighted sums of those that were run, one a row."""
        return self.design.matrix(cells) @ self.solution

    @property
    def spoken_of(self) -> tuple[Cell, ...]:
        """The whole grid; of a screening, which has thousands of cells, those that were run."""
        whole = math.prod(self.design.levels) <= LARGEST_GRID
        return self.design.cells if whole else self.table.cells

    def estimate(self, rows: Floats) -> tuple[Floats, Floats, Floats]:
        """Value, error and degrees of freedom of weighted sums of the cells that were run, one a row."""
        compares = np.abs(rows.sum(axis=1)) < 1e-9 * np.abs(rows).sum(axis=1)
        value, error, degrees = (np.empty(len(rows)) for _ in range(3))
        for noise, these in ((self.own, ~compares), (self.between, compares)):
            if these.any():
                value[these] = rows[these] @ noise.cells
                error[these], degrees[these] = noise.errors(rows[these])
        return value, error, degrees

    def coefficients(self, coding: Coding = "corner") -> Floats:
        """Each coefficient as weights of the cells that were run, shape (coefficients, cells)."""
        if coding == "corner":
            return self.solution
        # Both codings span the same models, so cells that tell one tell the other.
        corner, other = (self.design.matrix(self.table.cells, one) for one in ("corner", coding))
        return np.asarray(np.linalg.lstsq(other, corner, rcond=None)[0] @ self.solution, dtype=np.float64)

    def effects(
        self, coding: Coding = "corner", confidence: float = 0.95, critical: float | None = None
    ) -> list[Effect]:
        """All coefficients, the intercept first; adjusted over those of this list (Holm).

        Parameters
        ----------
        coding : {"corner", "average"}
            What a coefficient means, see `coding`.
        confidence : float
            Of each interval by itself.
        critical : float, optional
            Half-width in errors for all but the intercept, from `hindmost.stats.simultaneous`: intervals that
            hold together.
        """
        return self._effects(self.coefficients(coding), self.design.columns, confidence, critical)

    def simple_effect(self, factor: str, at: Mapping[str, int], level: int = 1) -> Effect:
        """What `level` of a factor does against its first, others held at `at`, averaged over the rest."""
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
        """Every cell `spoken_of`, also those never run; in the unit of the values (logs: geometric means)."""
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
    """Fit a model of factors to the values that runs report.

    Parameters
    ----------
    runs : mapping of cell to values
        One value a run, any unit; ``math.inf`` where the run was infinitely late. Cells without runs, or
        missing, make the model smaller.
    design : Factorial
        Factors and terms wanted.
    blocks : mapping of cell to labels, optional
        The block of each run: the unit of inference, see above.
    scale : {"raw", "log"}
        Effects in the unit of the values, or on their natural logarithms: ratios.
    weights : {"runs", "variances"}
        How a model smaller than its cells weights them; ``variances`` covers less than it says (above).

    Raises
    ------
    ValueError
        For cells that are not in the design, no finite runs, values that have no logarithm, block labels that
        do not fit, or runs that leave nothing to tell errors from.

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
    own = BlockNoise.of(table, level=False) or scatter
    between = BlockNoise.of(table, level=True) or own
    return RunFit(model, lost, never, late, table, scale, solution, own, between, scatter)


def two_sided(values: Floats, errors: Floats, degrees: Floats) -> Floats:
    """Student's p-values of nothing; an error of 0 leaves no doubt."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(errors > 0.0, np.abs(values) / errors, np.where(values == 0.0, 0.0, np.inf))
    tails = [
        float(upper_tail(np.array(x), d if math.isfinite(d) else 0)) for x, d in zip(t, degrees, strict=True)
    ]
    return np.minimum(1.0, 2.0 * np.array(tails))


def _critical(degrees: Floats, confidence: float) -> Floats:
    return np.array([t_quantile(d, 0.5 + confidence / 2.0) for d in degrees])


def _from_misfit(table: Table, matrix: Floats, solution: Floats) -> CellNoise:
    """Where no cell has a second run: what a smaller model leaves over stands for the scatter of runs."""
    left = len(table.cells) - matrix.shape[1]
    if left < 1:
        raise ArgumentError(
            "bad-argument",
            f"{len(table.y)} runs for {matrix.shape[1]} coefficients, and no cell has two:"
            " errors cannot be known",
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
