"""Which terms a set of cells can separate, and why it cannot separate the others."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.commands.attribute.design.coding import Floats, model_matrix
from hindmost.commands.attribute.design.factors import Cell, Factor, Term, term_text

TOLERANCE = 1e-8
"""Share of a column's length that must lie outside the span of the others. Noise is about 1e-13."""


@dataclass(frozen=True, slots=True)
class Estimable:
    """``terms`` can be estimated together; ``unknown`` has the reason for each of the others."""

    terms: tuple[Term, ...]
    unknown: dict[Term, str]


def estimable(factors: Sequence[Factor], cells: Sequence[Cell], terms: Sequence[Term]) -> Estimable:
    """Keep each term, in the given order, that the cells can separate from those kept before it.

    A term with several columns (a factor with more than two levels) is kept completely or not at all, and
    only if all terms within it are kept (marginality, Nelder 1977): an interaction without its main effects
    has no meaning.

    Examples
    --------
    >>> two = [Factor("turbo", ("off", "on")), Factor("governor", ("save", "fast"))]
    >>> terms = [(), ("turbo",), ("governor",), ("turbo", "governor")]
    >>> result = estimable(two, [(0, 0), (0, 1), (1, 1)], terms)
    >>> result.terms
    ((), ('turbo',), ('governor',))
    >>> result.unknown
    {('turbo', 'governor'): 'no cell has turbo = on with governor = save'}
    """
    kept: list[Term] = []
    unknown: dict[Term, str] = {}
    span = _Span(len(cells))
    for term in terms:
        inner = next((part for part in _inner(term) if part in unknown), None)
        if inner is not None:
            unknown[term] = f"{term_text(inner)}, which it contains, cannot be estimated"
            continue
        if span.add(model_matrix(factors, cells, [term])):
            kept.append(term)
        else:
            unknown[term] = _why(factors, cells, kept, term)
    return Estimable(tuple(kept), unknown)


def _inner(term: Term) -> list[Term]:
    return [part for order in range(1, len(term)) for part in itertools.combinations(term, order)]


class _Span:
    """An orthonormal basis of the columns added so far."""

    def __init__(self, rows: int) -> None:
        self.basis: Floats = np.empty((rows, rows), order="F")
        self.size = 0

    def add(self, columns: Floats) -> bool:
        """Add all of the columns, or none if one lies in the span of those before it."""
        size = self.size
        for column in columns.T:
            basis = self.basis[:, :size]
            residual = column - basis @ (basis.T @ column)
            residual -= basis @ (basis.T @ residual)  # twice is enough (Kahan)
            length = float(np.linalg.norm(residual))
            if size == len(residual) or length <= TOLERANCE * max(1.0, float(np.linalg.norm(column))):
                return False
            self.basis[:, size] = residual / length
            size += 1
        self.size = size
        return True


def _why(factors: Sequence[Factor], cells: Sequence[Cell], kept: Sequence[Term], term: Term) -> str:
    index = {factor.name: i for i, factor in enumerate(factors)}
    positions = [index[name] for name in term]
    seen = {tuple(cell[i] for i in positions) for cell in cells}
    every = itertools.product(*(range(len(factors[i].levels)) for i in positions))
    if missing := [levels for levels in every if levels not in seen]:
        named = [
            " with ".join(
                f"{factors[i].name} = {factors[i].levels[k]}" for i, k in zip(positions, levels, strict=True)
            )
            for levels in sorted(missing, reverse=True)
        ]
        return f"no cell has {named[0]}" + (
            f" (nor {len(named) - 1} more combinations)" if len(named) > 1 else ""
        )
    components = _mixed_with(factors, cells, kept, term)
    if not components:
        return f"{len(cells)} cells are too few to estimate it in addition to earlier terms"
    return f"in these {len(cells)} cells it is a linear combination of {', '.join(components)}"


def _mixed_with(
    factors: Sequence[Factor], cells: Sequence[Cell], kept: Sequence[Term], term: Term
) -> list[str]:
    before = model_matrix(factors, cells, kept)
    columns = model_matrix(factors, cells, [term])
    owners = [each for each in kept for _ in range(model_matrix(factors, cells[:1], [each]).shape[1])]
    mixture, *_ = np.linalg.lstsq(before, columns, rcond=None)
    residual = np.linalg.norm(columns - before @ mixture, axis=0)
    lost = mixture[:, residual <= TOLERANCE * np.maximum(1.0, np.linalg.norm(columns, axis=0))]
    weights = np.abs(lost).max(axis=1, initial=0.0)
    return list(
        dict.fromkeys(term_text(o) for o, w in zip(owners, weights, strict=True) if o and w > TOLERANCE)
    )
