"""How runs of one cell scatter, with or without what their blocks have in common.

Cells may scatter differently, so each has a variance of its own. A cell's value is a weighted sum of runs;
the variance of any weighted sum of cells is then a sum over cells of variance times squared weights, and
Satterthwaite's degrees of freedom follow from those of each variance.

Runs made in blocks (one of each cell, in random order) share what the host did meanwhile. Differences of
cells lose it where block effects are fitted, too. What is left over then mixes the cells' variances:
``E[residual_i^2] = sum_j M_ij^2 sigma^2(cell of j)`` with ``M`` the projection on residuals, a linear system
for the variances (minimum norm quadratic unbiased, C. R. Rao 1970). Where it has no solution (two cells
leave mirrored residuals), cells share one variance.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hindmost.errors import ArgumentError
from hindmost.stats.factors.coding import Cell
from hindmost.stats.runs.intervals import checked
from hindmost.stats.tables import Floats, RunValues

LEAST_PART = 0.25
"""Of a cell's residual mean square that is taken to be its own, whatever the solution says."""

Blocks = Mapping[Cell, Sequence[Hashable]]


@dataclass(frozen=True, slots=True)
class Table:
    """Run values in one column: ``y``, the place of its cell in ``cells`` and of its block, if any."""

    cells: tuple[Cell, ...]
    y: Floats
    cell_of: npt.NDArray[np.int64]
    block_of: npt.NDArray[np.int64] | None

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Runs of each cell."""
        return np.bincount(self.cell_of, minlength=len(self.cells)).astype(np.int64)

    @property
    def member(self) -> Floats:
        """One row a run, one column a cell: 1 where it belongs."""
        return np.eye(len(self.cells))[self.cell_of]


def tabulate(
    runs: Mapping[Cell, RunValues], blocks: Blocks | None = None
) -> tuple[Table, tuple[Cell, ...], tuple[Cell, ...]]:
    """The finite runs as a table; the cells without runs, and those of which a run was infinitely late.

    Raises
    ------
    ValueError
        If no cell is left, a value is NaN, or block labels do not fit the runs.
    """
    values = {cell: checked(list(of)) for cell, of in runs.items() if len(of)}
    late = tuple(cell for cell, of in values.items() if not np.isfinite(of).all())
    kept = tuple(sorted(cell for cell in values if cell not in late))
    if not kept:
        raise ArgumentError(
            "bad-argument",
            f"no cell has finite runs: {len(runs)} cells, {len(late)} of them infinitely late",
            argument="runs",
        )
    cell_of = np.repeat(np.arange(len(kept)), [values[cell].size for cell in kept])
    block_of = None
    if blocks is not None:
        for cell in kept:
            if len(blocks.get(cell, ())) != values[cell].size:
                found = len(blocks.get(cell, ()))
                raise ArgumentError(
                    "bad-argument",
                    f"cell {cell} has {values[cell].size} runs, but {found} block labels",
                    argument="blocks",
                    cell=list(cell),
                )
        number = {label: i for i, label in enumerate(dict.fromkeys(b for c in kept for b in blocks[c]))}
        block_of = np.array([number[label] for cell in kept for label in blocks[cell]])
    empty = tuple(cell for cell in runs if cell not in values)
    return Table(kept, np.concatenate([values[cell] for cell in kept]), cell_of, block_of), empty, late


@dataclass(frozen=True, slots=True)
class Noise:
    """Cell values as weighted sums of runs, and the variance of runs.

    ``weights``: shape (cells, runs). ``variances`` and ``degrees``: of each mean square that is known;
    ``shares``: shape (cells, mean squares), which of them stand for a cell.
    """

    weights: Floats
    variances: Floats
    degrees: Floats
    shares: Floats

    @property
    def of_cells(self) -> Floats:
        """Variance of one run of each cell."""
        return self.shares @ self.variances

    def errors(self, rows: Floats, cell_of: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Standard error and degrees of freedom of weighted sums of cells, one a row."""
        squares = (rows @ self.weights) ** 2 @ np.eye(len(self.shares))[cell_of]
        parts = squares @ self.shares * self.variances
        total = parts.sum(axis=-1)
        spread = (parts**2 / self.degrees).sum(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.sqrt(total), np.where(spread > 0.0, total**2 / spread, np.inf)


def by_cell(table: Table) -> Noise | None:
    """Runs scatter about their cell; a cell with one run borrows from the others. None if all have one."""
    member, counts = table.member, table.counts
    weights = (member / counts).T
    squares = (table.y - member @ (weights @ table.y)) ** 2 @ member
    known = counts > 1
    if not known.any():
        return None
    degrees = (counts[known] - 1).astype(np.float64)
    shares = np.where(known[:, None], np.eye(len(counts))[:, known], degrees / degrees.sum())
    return Noise(weights, squares[known] / degrees, degrees, shares)


def within_blocks(table: Table) -> Noise | None:
    """Runs scatter about cell and block together. None where blocks do not connect the cells.

    Right for sums of cells whose weights add up to 0, and for nothing else: a cell's own value varies with
    the blocks that it was run in.
    """
    if table.block_of is None:
        return None
    member, of_block = table.member, np.eye(table.block_of.max() + 1)[table.block_of]
    cells, blocks = member.shape[1], of_block.shape[1]
    both = np.hstack([member, of_block - of_block.mean(axis=0)])
    basis, sizes, axes = np.linalg.svd(both, full_matrices=False)
    rank = int((sizes > 1e-9 * sizes[0]).sum())
    basis, sizes, axes = basis[:, :rank], sizes[:rank], axes[:rank]
    left = len(table.y) - rank
    if rank < cells + blocks - 1 or left < 1 or blocks < 2:
        return None
    weights = (axes.T[:cells] / sizes) @ basis.T  # of the pseudoinverse
    projection = np.eye(len(table.y)) - basis @ basis.T
    squares = (projection @ table.y) ** 2 @ member
    mixing = member.T @ projection**2 @ member
    degrees = np.diag(projection) @ member
    if np.linalg.matrix_rank(mixing, tol=1e-6, hermitian=True) == cells and degrees.min() > 0.5:
        # Unbiased, but with few runs it may come out below what the cell's own residuals allow.
        variances = np.maximum(np.linalg.solve(mixing, squares), LEAST_PART * squares / degrees)
        return Noise(weights, variances, degrees, np.eye(cells))
    pooled = squares.sum() / left
    return Noise(weights, np.array([pooled]), np.array([float(left)]), np.ones((cells, 1)))


def block_share(table: Table) -> float | None:
    """Which share of the variance between runs of a cell the blocks explain; None where it cannot be told."""
    plain, blocked = by_cell(table), within_blocks(table)
    if plain is None or blocked is None:
        return None
    before, after = float(plain.of_cells.mean()), float(blocked.of_cells.mean())
    return max(0.0, 1.0 - after / before) if before > 0.0 else None
