"""Randomisation tests: levels were assigned to runs at random, so they can be reassigned.

Under the *sharp* null that a factor changes no run, the runs of one block that differ only in that factor are
exchangeable. Exchanging their levels gives the exact distribution of any statistic, whatever the distribution
of the runs. For one coefficient among others, residuals of the model without it are exchanged within blocks
(Freedman and Lane 1983), which is approximately exact. Statistics are studentised, so that cells with
different variances do no harm in large samples (Chung and Romano 2013).

In a split plot, runs of a block that share the levels of some factors (a whole plot) follow each other, and
share what a change of these factors brings. Terms of such factors alone were assigned to whole plots, so
means of whole plots are exchanged within blocks; for all other terms, runs within whole plots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hindmost.errors import ArgumentError
from hindmost.stats.factors.coding import Cell, Coding, Column
from hindmost.stats.factors.effects import RunFit
from hindmost.stats.factors.families import false_discovery
from hindmost.stats.factors.noise import Blocks, tabulate
from hindmost.stats.tables import Floats, RunValues

_BATCH = 500


def randomisation_p(
    runs: Mapping[Cell, RunValues],
    factor: int,
    blocks: Blocks | None = None,
    draws: int = 4_999,
    seed: int = 1,
) -> float:
    """Return p of the null that a factor changes no run, whatever the levels of the other factors.

    Parameters
    ----------
    runs
        One value per run, by cell.
    factor
        Index of the factor in a cell.
    blocks
        Block of each run. Levels are exchanged only within blocks.
    draws, seed
        Number of random exchanges; p is at least ``1 / (draws + 1)``.

    Raises
    ------
    ValueError
        If no two runs of a block differ only in this factor.

    Examples
    --------
    >>> runs = {(0, 0): [10.0, 11, 12], (1, 0): [20.0, 21, 22], (0, 1): [3.0, 4, 5], (1, 1): [9.0, 8, 7]}
    >>> randomisation_p(runs, 0), randomisation_p({c: [1.0, 2.0, 3.0] for c in runs}, 0)
    (0.0068, 1.0)
    """
    table, _, _ = tabulate(runs, blocks)
    levels = np.array(table.cells)[table.cell_of]
    others = np.delete(levels, factor, axis=1)
    group = others if table.block_of is None else np.column_stack([others, table.block_of])
    _, stratum = np.unique(group, axis=0, return_inverse=True)
    _, setting = np.unique(others, axis=0, return_inverse=True)
    low = levels[:, factor] == levels[:, factor].min()
    if not any(low[stratum == s].any() and not low[stratum == s].all() for s in np.unique(stratum)):
        raise ArgumentError(
            "bad-argument",
            f"no two runs of a block differ only in factor {factor}: use coefficient_ps",
            argument="factor",
            value=factor,
        )
    statistic = _Contrasts(levels[:, factor], setting)
    y = table.y - table.y.mean()
    if table.block_of is not None:  # exchanged runs share a block, so the block's mean can be removed
        y = y - (np.bincount(stratum.ravel(), y) / np.bincount(stratum.ravel()))[stratum.ravel()]
    seen = statistic(y[None, :])[0]
    random = np.random.default_rng(seed)
    as_large = 0
    for start in range(0, draws, _BATCH):
        orders = _orders(stratum.ravel(), min(_BATCH, draws - start), random)
        as_large += int(np.count_nonzero(statistic(y[orders]) >= seen * (1.0 - 1e-9)))
    return (1 + as_large) / (1 + draws)


class _Contrasts:
    """The largest studentised difference of a level from the first, averaged over the others' settings."""

    def __init__(self, level: npt.NDArray[np.int64], setting: npt.NDArray[np.int64]) -> None:
        _, cell = np.unique(np.column_stack([setting.ravel(), level]), axis=0, return_inverse=True)
        self.member = np.eye(cell.max() + 1)[cell.ravel()]
        self.counts = self.member.sum(axis=0)
        of_cell = {
            int(c): (int(s), int(v)) for c, s, v in zip(cell.ravel(), setting.ravel(), level, strict=True)
        }
        place = {pair: c for c, pair in of_cell.items()}
        first = min(v for _, v in place)
        rows = []
        for high in sorted({v for _, v in place} - {first}):
            both = [s for s, v in place if v == high and (s, first) in place]
            row = np.zeros(len(place))
            for s in both:
                row[place[s, high]], row[place[s, first]] = 1.0 / len(both), -1.0 / len(both)
            rows.append(row)
        self.rows = np.array(rows)

    def __call__(self, y: Floats) -> Floats:
        """Return one statistic per row of y."""
        means = y @ self.member / self.counts
        squares = np.maximum(y**2 @ self.member - self.counts * means**2, 0.0)
        known = self.counts > 1
        variances = squares / np.maximum(self.counts - 1, 1) / self.counts
        if not known.all():  # one run per cell: cells share one variance, which cancels
            variances = np.broadcast_to(1.0 / self.counts, variances.shape)
        error = np.sqrt(variances @ (self.rows**2).T)
        gap = np.abs(means @ self.rows.T)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(
                np.where(error > 0.0, gap / error, np.where(gap > 0.0, np.inf, 0.0)).max(axis=1)
            )


def coefficient_ps(
    fit: RunFit,
    coding: Coding = "average",
    draws: int = 1_999,
    seed: int = 1,
    hard_to_change: Sequence[str] = (),
) -> list[tuple[Column, float]]:
    """Return p of each coefficient but the intercept, by exchanging residuals (Freedman and Lane).

    ``hard_to_change``: the factors whose levels a whole plot of each block shares.

    Examples
    --------
    >>> from hindmost.stats import Factorial, fit_runs
    >>> random = np.random.default_rng(1)
    >>> runs = {(a, b): random.normal(100.0 + 20.0 * a, 5.0, 6) for a in (0, 1) for b in (0, 1)}
    >>> [(c.name, p < 0.01) for c, p in coefficient_ps(fit_runs(runs, Factorial(["a", "b"])))]
    [('a', True), ('b', False), ('a:b', False)]
    """
    table = fit.table
    rows = fit.coefficients(coding)
    matrix = fit.design.matrix(table.cells, coding)
    member, counts = table.member, table.counts.astype(np.float64)
    y, stratum = table.y, np.zeros(len(table.y), dtype=np.int64)
    if table.block_of is not None:
        stratum = table.block_of
        both = np.hstack([member, np.eye(stratum.max() + 1)[stratum]])
        y = y - both[:, len(counts) :] @ np.linalg.lstsq(both, y, rcond=None)[0][len(counts) :]
    y = y - y.mean()
    random = np.random.default_rng(seed)
    plot = _whole_plots(fit, stratum, hard_to_change)
    orders = _many_orders(plot, draws, random)
    repeated = bool(counts.max() > 1)
    projection = fit.solution.T @ fit.design.matrix(table.cells).T
    starts = np.cumsum(counts.astype(np.int64)) - counts.astype(np.int64)
    of_runs = matrix[table.cell_of]
    inverse = np.linalg.inv(of_runs.T @ of_runs)
    solution = inverse @ (of_runs.T @ y)

    def studentised(y: Floats, row: Floats) -> Floats:
        means = np.add.reduceat(y, starts, axis=-1) / counts
        if repeated:
            squares = np.add.reduceat(y**2, starts, axis=-1) - counts * means**2
            pooled = squares.sum(axis=-1, keepdims=True) / (counts.sum() - len(counts))
            own = np.where(counts > 1, squares / np.maximum(counts - 1, 1), pooled) / counts
        else:
            rest = means - means @ projection
            own = np.broadcast_to((rest**2).sum(axis=-1, keepdims=True), means.shape)
        error = np.sqrt(np.maximum(own, 0.0) @ row**2)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.nan_to_num(np.abs(means @ row) / error, nan=0.0, posinf=np.inf))

    out = []
    for place, column in enumerate(fit.design.columns):
        if not column.term:
            continue
        # The least-squares fit without this column (Frisch and Waugh), without solving again.
        others = solution - inverse[place] * (solution[place] / inverse[place, place])
        fitted = of_runs @ others
        seen = studentised(y, rows[place])
        rest = y - fitted
        exchanged = rest[orders]
        if hard_to_change and set(column.term) <= set(hard_to_change):
            means = np.bincount(plot, rest) / np.bincount(plot)
            mixed = means[_many_orders(_block_of_plots(plot, stratum), draws, random)]
            exchanged = rest - means[plot] + mixed[:, plot]
        drawn = studentised(fitted + exchanged, rows[place])
        out.append((column, float((1 + np.count_nonzero(drawn >= seen * (1.0 - 1e-9))) / (1 + draws))))
    return out


def _whole_plots(
    fit: RunFit, block: npt.NDArray[np.int64], hard_to_change: Sequence[str]
) -> npt.NDArray[np.int64]:
    """Return the index of each run's whole plot; of its block, if no factor is hard to change."""
    hard = [fit.design.factors.index(name) for name in hard_to_change]
    levels = np.array(fit.table.cells)[fit.table.cell_of][:, hard]
    _, plot = np.unique(np.column_stack([block, levels]), axis=0, return_inverse=True)
    return plot.ravel()


def _block_of_plots(plot: npt.NDArray[np.int64], block: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the block of each whole plot."""
    return block[np.unique(plot, return_index=True)[1]]


def _many_orders(
    stratum: npt.NDArray[np.int64], draws: int, random: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Return `_orders` of any number of draws."""
    return np.concatenate([_orders(stratum, min(_BATCH, draws - i), random) for i in range(0, draws, _BATCH)])


@dataclass(frozen=True, slots=True)
class Suspect:
    """One coefficient of a screening: its value, p by exchange, and q among all (Benjamini and Hochberg)."""

    column: Column
    value: float
    p: float
    q: float


def screen_factors(fit: RunFit, draws: int = 1_999, seed: int = 1) -> list[Suspect]:
    """Return the suspects of a screening design (random or Plackett-Burman), the most likely first.

    This is the paper's factor selection by null hypothesis tests under random permutations of all factors
    (Treadmill, IV-B). A factorial design tests the findings again, hence q instead of Holm's p.

    Examples
    --------
    >>> from hindmost.stats import Factorial, fit_runs
    >>> random = np.random.default_rng(2)
    >>> cells = [tuple(int(v) for v in random.integers(0, 2, 4)) for _ in range(40)]
    >>> runs = {cell: [] for cell in cells}
    >>> for cell in cells:
    ...     runs[cell].append(100.0 + 10.0 * cell[2] + random.normal(0.0, 3.0))
    >>> mains = Factorial(["a", "b", "c", "d"], terms=[("a",), ("b",), ("c",), ("d",)])
    >>> [(one.column.name, one.q < 0.05) for one in screen_factors(fit_runs(runs, mains))][0]
    ('c', True)
    """
    found = coefficient_ps(fit, "average", draws, seed)
    value = {effect.column: effect.value for effect in fit.effects("average")}
    qs = false_discovery([p for _, p in found])
    out = [Suspect(column, value[column], p, q) for (column, p), q in zip(found, qs, strict=True)]
    return sorted(out, key=lambda one: one.p)


def _orders(stratum: npt.NDArray[np.int64], draws: int, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return random orders of the runs within their strata, shape (draws, runs)."""
    home = np.argsort(stratum, kind="stable")
    mixed = np.argsort(stratum + random.random((draws, stratum.size)), axis=1)
    out = np.empty_like(mixed)
    out[:, home] = mixed
    return out
