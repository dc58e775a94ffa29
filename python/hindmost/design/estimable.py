"""Which terms a set of cells can tell apart, and for each that it cannot, why."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.design.coding import Floats, model_matrix
from hindmost.design.factors import Cell, Factor, Term, term_text

TOLERANCE = 1e-8
"""Of a column's length: what of it must lie outside the others' span. Noise is about 1e-13."""


@dataclass(frozen=True, slots=True)
class Estimable:
    """``terms`` can be estimated together; ``unknown`` says why each of the others cannot."""

    terms: tuple[Term, ...]
    unknown: dict[Term, str]


def estimable(factors: Sequence[Factor], cells: Sequence[Cell], terms: Sequence[Term]) -> Estimable:
    """Keep each term, in the given order, that the cells can tell from those kept before it.

    A term with several columns (a factor with more than two levels) is kept whole or not at all, and only
    where all terms within it are kept (marginality, Nelder 1977): an interaction without its main effects
    means nothing.

    Examples
    --------
    >>> two = [Factor("turbo", ("off", "on")), Factor("governor", ("save", "fast"))]
    >>> terms = [(), ("turbo",), ("governor",), ("turbo", "governor")]
    >>> found = estimable(two, [(0, 0), (0, 1), (1, 1)], terms)
    >>> found.terms
    ((), ('turbo',), ('governor',))
    >>> found.unknown
    {('turbo', 'governor'): 'no cell has turbo = on with governor = save'}
    """
    kept: list[Term] = []
    unknown: dict[Term, str] = {}
    span = _Span(len(cells))
    for term in terms:
        inner = next((one for one in _inner(term) if one in unknown), None)
        if inner is not None:
            unknown[term] = f"{term_text(inner)}, which it contains, cannot be estimated"
            continue
        if span.add(model_matrix(factors, cells, [term])):
            kept.append(term)
        else:
            unknown[term] = _why(factors, cells, kept, term)
    return Estimable(tuple(kept), unknown)


def _inner(term: Term) -> list[Term]:
    return [one for order in range(1, len(term)) for one in itertools.combinations(term, order)]


class _Span:
    """An orthonormal basis of the columns added so far."""

    def __init__(self, rows: int) -> None:
        self.basis: Floats = np.empty((rows, rows), order="F")
        self.size = 0

    def add(self, columns: Floats) -> bool:
        """Take all of the columns in, or none where one lies in the span of those before it."""
        size = self.size
        for column in columns.T:
            known = self.basis[:, :size]
            rest = column - known @ (known.T @ column)
            rest -= known @ (known.T @ rest)  # twice is enough (Kahan)
            length = float(np.linalg.norm(rest))
            if size == len(rest) or length <= TOLERANCE * max(1.0, float(np.linalg.norm(column))):
                return False
            self.basis[:, size] = rest / length
            size += 1
        self.size = size
        return True


def _why(factors: Sequence[Factor], cells: Sequence[Cell], kept: Sequence[Term], term: Term) -> str:
    place = {factor.name: i for i, factor in enumerate(factors)}
    at = [place[name] for name in term]
    seen = {tuple(cell[i] for i in at) for cell in cells}
    every = itertools.product(*(range(len(factors[i].levels)) for i in at))
    if missing := [levels for levels in every if levels not in seen]:
        named = [
            " with ".join(
                f"{factors[i].name} = {factors[i].levels[k]}" for i, k in zip(at, levels, strict=True)
            )
            for levels in sorted(missing, reverse=True)
        ]
        return f"no cell has {named[0]}" + (f" (nor {len(named) - 1} more such)" if len(named) > 1 else "")
    mixed = _mixed_with(factors, cells, kept, term)
    if not mixed:
        return f"{len(cells)} cells are too few for it next to the terms before it"
    return f"in these {len(cells)} cells it is a mixture of {', '.join(mixed)}"


def _mixed_with(
    factors: Sequence[Factor], cells: Sequence[Cell], kept: Sequence[Term], term: Term
) -> list[str]:
    before = model_matrix(factors, cells, kept)
    columns = model_matrix(factors, cells, [term])
    owners = [one for one in kept for _ in range(model_matrix(factors, cells[:1], [one]).shape[1])]
    mixture, *_ = np.linalg.lstsq(before, columns, rcond=None)
    residual = np.linalg.norm(columns - before @ mixture, axis=0)
    lost = mixture[:, residual <= TOLERANCE * np.maximum(1.0, np.linalg.norm(columns, axis=0))]
    weights = np.abs(lost).max(axis=1, initial=0.0)
    return list(
        dict.fromkeys(term_text(o) for o, w in zip(owners, weights, strict=True) if o and w > TOLERANCE)
    )
