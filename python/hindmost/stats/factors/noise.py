"""Values of cells, and the uncertainty of weighted sums of cells.

Runs in blocks (one run of each cell, in random order) share the conditions on the host. Both the level and
the effect of a factor may differ between blocks, so the block is the unit. A weighted sum of cells has one
value in each block, and Student's t over these values gives its interval, with ``blocks - 1`` degrees of
freedom. More cells make no interval shorter than the blocks allow. If runs are missing, this is the
cluster-robust variance CR2 of Bell and McCaffrey [1]_ with their degrees of freedom, which is identical for
complete blocks. For comparisons of cells, the level of each block is subtracted first.

Runs without blocks are independent: each cell has its own variance, and Satterthwaite's degrees of freedom
follow from them.

A cell's value is Huber's location of its runs [2]_, so a few runs in a slow minute hardly affect it.

.. [1] R. M. Bell, D. F. McCaffrey, "Bias Reduction in Standard Errors for Linear Regression with Multi-Stage
   Samples", Survey Methodology 28 (2002) 169-181.
.. [2] P. J. Huber, *Robust Statistics* (1981), sections 7.8 and 7.10.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hindmost.errors import ArgumentError
from hindmost.stats.factors.coding import Cell
from hindmost.stats.runs.intervals import check_values
from hindmost.stats.tables import Floats, RunValues
from hindmost.stats.wald import joint_degrees

BEND = 2.0
"""Distance in standard deviations beyond which a run's influence no longer grows.

At 1.345, the usual choice, intervals of 5 blocks cover .87 if a fifth of the runs is slow. At 3, a tenth of
slow runs makes them half as wide again.
"""

_ROUNDS = 50
_AT_ONCE = 4_000_000
"""Maximum of numbers drawn at once."""

Blocks = Mapping[Cell, Sequence[Hashable]]


@dataclass(frozen=True, slots=True)
class Table:
    """Run values ``y``, with the index of each run's cell in ``cells``, and of its block, if any."""

    cells: tuple[Cell, ...]
    y: Floats
    cell_of: npt.NDArray[np.int64]
    block_of: npt.NDArray[np.int64] | None

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Number of runs of each cell."""
        return np.bincount(self.cell_of, minlength=len(self.cells)).astype(np.int64)

    @property
    def member(self) -> Floats:
        """Membership matrix: one row per run, one column per cell."""
        return np.eye(len(self.cells))[self.cell_of]


def tabulate(
    runs: Mapping[Cell, RunValues], blocks: Blocks | None = None
) -> tuple[Table, tuple[Cell, ...], tuple[Cell, ...]]:
    """Return the finite runs as a table, the cells without runs, and the cells with an infinitely late run.

    Raises
    ------
    ValueError
        If no cell is left, a value is NaN, or block labels do not match the runs.
    """
    values = {cell: check_values(list(of)) for cell, of in runs.items() if len(of)}
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


class Noise(Protocol):
    """Cell values, and the error of weighted sums of cells. Each of ``rows`` has the weights of one sum."""

    @property
    def cells(self) -> Floats:
        """Value of each cell."""
        ...

    def errors(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return standard errors and degrees of freedom, shape (rows,)."""
        ...

    def draw(self, rows: Floats, draws: int, random: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw sums whose true value is 0 and their estimated variances, both of shape (draws, rows)."""
        ...


@dataclass(frozen=True, slots=True)
class CellNoise:
    """Independent runs: the mean of each cell, and the variance of its runs.

    ``counts``: runs of each cell. ``variances``, ``degrees``: of each known mean square. ``shares``: shape
    (cells, mean squares), the weights of mean squares for each cell.
    """

    cells: Floats
    counts: npt.NDArray[np.int64]
    variances: Floats
    degrees: Floats
    shares: Floats

    @property
    def of_cells(self) -> Floats:
        """Variance of one run of each cell."""
        return self.shares @ self.variances

    def errors(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return standard errors and degrees of freedom, by Satterthwaite."""
        parts = rows**2 / self.counts @ self.shares * self.variances
        total = parts.sum(axis=-1)
        spread = (parts**2 / self.degrees).sum(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.sqrt(total), np.where(spread > 0.0, total**2 / spread, np.inf)

    def draw(self, rows: Floats, draws: int, random: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw normal cells with the estimated variances."""
        sd = np.sqrt(self.of_cells / self.counts)
        value = random.standard_normal((draws, sd.size)) * sd @ rows.T
        square = self.variances * random.chisquare(self.degrees, (draws, self.degrees.size)) / self.degrees
        return value, square @ (rows**2 / self.counts @ self.shares).T


@dataclass(frozen=True, slots=True)
class BlockNoise:
    """Runs in blocks: Huber's location of each cell, and the deviation of each block from it.

    ``weights``: each cell as a weighted sum of runs, shape (cells, runs). ``residuals``: of runs, corrected
    for the degrees of freedom that the fit used in their block. ``block_of``: of each run. ``basis``:
    orthonormal basis of the fit, shape (runs, rank).
    """

    cells: Floats
    weights: Floats
    residuals: Floats
    block_of: npt.NDArray[np.int64]
    basis: Floats

    @classmethod
    def from_table(cls, table: Table, *, level: bool) -> BlockNoise | None:
        """Estimate the noise of blocks about the cells, with the `level` of each block removed if requested.

        Removing the level is valid only for sums of cells whose weights add up to 0. Return None with fewer
        than two blocks, if blocks do not connect the cells, or if the runs leave no residuals.
        """
        if table.block_of is None or table.block_of.max() < 1:
            return None
        count, blocks = len(table.cells), int(table.block_of.max()) + 1
        of_block = np.eye(blocks)[table.block_of]
        columns = np.hstack([table.member, of_block - of_block.mean(axis=0)]) if level else table.member
        basis, sizes, axes = np.linalg.svd(columns, full_matrices=False)
        rank = int((sizes > 1e-9 * sizes[0]).sum())
        lone = not level and table.counts.min() < 2
        if rank < count + (blocks - 1) * level or rank >= len(table.y) or lone:
            return None
        basis = basis[:, :rank]
        weights = (axes[:rank].T[:count] / sizes[:rank]) @ basis.T  # of the pseudoinverse
        y = _huber_values(table.y, basis)
        residuals = y - basis @ (basis.T @ y)
        for block in range(blocks):
            here = table.block_of == block
            residuals[here] = _correct(basis[here], residuals[here])
        return cls(weights @ y, weights, residuals, table.block_of, basis)

    def by_block(self, rows: Floats) -> Floats:
        """Return the deviation of each block from the sums, shape (blocks, rows)."""
        return np.asarray(
            np.eye(self.block_of.max() + 1)[self.block_of].T @ (rows @ self.weights * self.residuals).T
        )

    def errors(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return standard errors, and Bell and McCaffrey's degrees of freedom for runs of equal variance."""
        weights = rows @ self.weights
        lengths, shared = [], []
        for block in range(self.block_of.max() + 1):
            here = self.block_of == block
            freed = _correct(self.basis[here], weights[:, here].T)
            lengths.append((freed**2).sum(axis=0))
            shared.append(freed.T @ self.basis[here])
        inner = np.einsum("bri,cri->rbc", np.array(shared), np.array(shared))
        gram = np.array(lengths).T[:, :, None] * np.eye(len(lengths)) - inner
        square = (gram**2).sum(axis=(1, 2))
        with np.errstate(divide="ignore", invalid="ignore"):
            degrees = np.where(square > 0.0, np.trace(gram, axis1=1, axis2=2) ** 2 / square, np.inf)
        return np.sqrt((self.by_block(rows) ** 2).sum(axis=0)), degrees

    def joint(self, rows: Floats) -> tuple[Floats, float]:
        """Return the covariance of the sums, and its degrees of freedom (`hindmost.stats.wald`)."""
        found, weights = self.by_block(rows), rows @ self.weights
        own, through = [], []
        for block in range(self.block_of.max() + 1):
            here = self.block_of == block
            freed = _correct(self.basis[here], weights[:, here].T)
            own.append(freed.T @ freed)
            through.append(self.basis[here].T @ freed)
        return found.T @ found, joint_degrees(np.array(own), np.array(through))

    def draw(self, rows: Floats, draws: int, random: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw normal blocks with the estimated covariance. Fits to the same runs draw the same blocks."""
        found = self.by_block(rows)
        blocks = len(found)
        value, square = np.empty((draws, len(rows))), np.empty((draws, len(rows)))
        step = max(1, _AT_ONCE // (blocks * (blocks + len(rows))))
        for start in range(0, draws, step):
            size = min(step, draws - start)
            drawn = random.standard_normal((size, blocks, blocks)) @ found
            value[start : start + size] = drawn.mean(axis=1) * math.sqrt(blocks)
            square[start : start + size] = drawn.var(axis=1, ddof=1)
        return value, square


def by_cell(table: Table) -> CellNoise | None:
    """Estimate the scatter of runs in each cell. A single run borrows from other cells.

    None if all are single.
    """
    member, counts = table.member, table.counts
    means = table.y @ member / counts
    squares = (table.y - member @ means) ** 2 @ member
    known = counts > 1
    if not known.any():
        return None
    degrees = (counts[known] - 1).astype(np.float64)
    shares = np.where(known[:, None], np.eye(len(counts))[:, known], degrees / degrees.sum())
    return CellNoise(means, counts, squares[known] / degrees, degrees, shares)


def _correct(basis: Floats, values: Floats) -> Floats:
    """Return values of one block times the inverse root of the fit's residual operator (CR2)."""
    sizes, vectors = np.linalg.eigh(np.eye(len(basis)) - basis @ basis.T)
    left = sizes > 1e-9
    return np.asarray((vectors[:, left] / np.sqrt(sizes[left])) @ (vectors[:, left].T @ values))


def _huber_values(y: Floats, basis: Floats) -> Floats:
    """Return values whose least-squares fit is Huber's fit of `y`, and whose residuals give its error."""
    left = len(y) - basis.shape[1]
    fitted = basis @ (basis.T @ y)
    for _ in range(_ROUNDS):
        residual = y - fitted
        reach = BEND * 1.4826 * float(np.median(np.abs(residual))) * math.sqrt(len(y) / left)
        bent = np.clip(residual, -reach, reach)
        step = basis @ (basis.T @ bent)
        fitted = fitted + step
        if np.abs(step).max() <= 1e-6 * reach:
            break
    inside = float((np.abs(residual) < reach).mean())
    if inside == 0.0:  # more than half of the runs are equal
        return y
    taken = basis.shape[1] / len(y) * (1.0 - inside) / inside
    return np.asarray(fitted + bent * (1.0 + taken) / inside, dtype=np.float64)
