"""Chosen cells: as few as a model needs, among the allowed ones, for factors with any number of levels.

If no regular fraction exists (more than two levels, forbidden combinations), the cells are those that
maximize the determinant of X'X: a D-optimal design, by exchanging the pair that increases it most (Fedorov
1972).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from hashlib import blake2b

import numpy as np

from hindmost.commands.attribute.design.aliasing import partial_aliases
from hindmost.commands.attribute.design.coding import Floats, model_matrix
from hindmost.commands.attribute.design.design import Design
from hindmost.commands.attribute.design.estimable import TOLERANCE, estimable
from hindmost.commands.attribute.design.factors import (
    LARGEST,
    Combination,
    Factor,
    all_terms,
    allowed_cells,
    cell_count,
    check_factors,
)
from hindmost.commands.attribute.design.full import full
from hindmost.errors import UsageError

CANDIDATES = 8 * LARGEST
"""Most cells of a full factorial in which a subset is searched."""

SPARE = 0.25
"""Cells beyond the number of coefficients, as a share of it: an exactly saturated subset is poor."""

STARTS = 4
"""Exchanges end in different optima; the best of this many is used."""


def subset(
    factors: Iterable[Factor],
    forbidden: Iterable[Combination] = (),
    *,
    order: int = 2,
    cells: int | None = None,
) -> Design:
    """Return the cells that separate all terms of up to `order` factors best.

    Parameters
    ----------
    order
        2: main effects and two-factor interactions. 1: main effects only, called a ``screening``.
    cells
        Number of cells; None: 25 % more than coefficients, or all allowed cells if these are fewer.

    Raises
    ------
    UsageError
        If factors or forbidden combinations are invalid, there are too many cells to choose from, or fewer
        `cells` than coefficients.

    Examples
    --------
    >>> three = [Factor(name, ("1", "2", "4")) for name in ("threads", "queues", "clients")]
    >>> subset(three).text
    'chosen cells of 3 factors: 24 cells, 19 coefficients'
    """
    forbidden = tuple(forbidden)
    factors = check_factors(factors, forbidden)
    if cell_count(factors) > CANDIDATES:
        raise UsageError(
            "design-too-large",
            f"these {len(factors)} factors have {cell_count(factors):,} cells, too many to choose from (at"
            f" most {CANDIDATES:,})",
            hint="use fewer factors, or two levels each and kind = screening",
            cells=cell_count(factors),
            limit=CANDIDATES,
        )
    candidates = allowed_cells(factors, forbidden)
    result = estimable(factors, candidates, all_terms(factors, order))
    matrix = model_matrix(factors, candidates, result.terms, "average")
    least = matrix.shape[1]
    size = math.ceil((1.0 + SPARE) * least) if cells is None else cells
    if size < least:
        raise UsageError(
            "too-few-runs",
            f"{size} cells are too few for {least} coefficients of {len(result.terms)} terms",
            hint=f"allow at least {least} cells, or leave out interactions",
            have=size,
            need=least,
        )
    if size >= len(candidates) and order > 1 and len(candidates) <= LARGEST:
        return full(factors, forbidden)
    chosen = tuple(candidates[i] for i in sorted(exchange(matrix, min(size, len(candidates)))))
    return Design(
        factors,
        "subset" if order > 1 else "screening",
        None,
        chosen,
        result.terms,
        partial_aliases(factors, chosen, result.terms),
        unknown=result.unknown,
        forbidden=forbidden,
    )


def exchange(matrix: Floats, size: int) -> list[int]:
    """Return the rows of a D-optimal choice of `size` different rows, the best of `STARTS`.

    Parameters
    ----------
    matrix
        One row per candidate, of full column rank.
    """
    best: list[int] = []
    best_volume = -math.inf
    for start in range(STARTS):
        chosen = _improve(matrix, _independent(matrix, size, start))
        volume = log_volume(matrix[chosen])
        if volume > best_volume + TOLERANCE:
            best, best_volume = chosen, volume
    return best


def log_volume(matrix: Floats) -> float:
    """Return the logarithm of det X'X; minus infinity for dependent columns."""
    sign, value = np.linalg.slogdet(matrix.T @ matrix)
    return float(value) if sign > 0 else -math.inf


def _independent(matrix: Floats, size: int, start: int) -> list[int]:
    """Return `size` rows in random order; the first ones span all columns."""

    def sort_key(row: int) -> bytes:
        return blake2b(repr((start, row)).encode(), digest_size=8).digest()

    order = sorted(range(len(matrix)), key=sort_key)
    chosen: list[int] = []
    residual = matrix.copy()
    for _ in range(matrix.shape[1]):
        lengths = np.einsum("ij,ij->i", residual, residual)
        # Any row that adds enough will do: the random order decides, so that starts differ.
        row = next(i for i in order if lengths[i] > 0.2 * lengths.max())
        chosen.append(row)
        unit = residual[row] / math.sqrt(lengths[row])
        residual -= np.outer(residual @ unit, unit)
    return chosen + [i for i in order if i not in set(chosen)][: size - len(chosen)]


def _improve(matrix: Floats, chosen: list[int]) -> list[int]:
    chosen = list(chosen)
    while True:
        outside = np.setdiff1d(np.arange(len(matrix)), chosen)
        if not outside.size:
            return chosen
        inside, others = matrix[chosen], matrix[outside]
        inverse = np.linalg.inv(inside.T @ inside)
        own = ((inside @ inverse) * inside).sum(axis=1)
        new = ((others @ inverse) * others).sum(axis=1)
        both = inside @ inverse @ others.T
        # Fedorov's delta: the factor by which the determinant grows, minus 1, if i leaves and j enters.
        gain = new[None, :] - own[:, None] - own[:, None] * new[None, :] + both**2
        # Rounded, so that the first of equal gains wins with every linear algebra library.
        i, j = np.unravel_index(int(np.argmax(np.round(gain, 9))), gain.shape)
        if gain[i, j] <= TOLERANCE:
            return chosen
        chosen[i] = int(outside[j])
