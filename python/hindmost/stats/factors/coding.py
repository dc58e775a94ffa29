"""Factorial models: factors, levels, terms, and the meaning of their coefficients.

Two codings answer two questions with the same fit. ``corner`` (dummy variables relative to each factor's
first level, as in Treadmill's Table IV, ISCA 2016) gives the effect of a level while all other factors are at
their first level; an interaction is the additional effect of two levels together. ``average`` (the same
dummies minus their means over all levels) gives the effect of a level, averaged over all levels of the
others. With two levels each it is the usual -1/+1 coding, doubled: an effect is the change from low to high,
an interaction half of its change.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from hindmost.errors import ArgumentError
from hindmost.stats.tables import Floats

Coding = Literal["corner", "average"]
Cell = tuple[int, ...]
Term = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """One coefficient: a term, and the level of each of its factors that is compared with the first level."""

    term: Term
    levels: Cell

    @property
    def name(self) -> str:
        """The display name: ``numa:turbo``, or ``threads=2:turbo`` for a factor with more levels."""
        words = (f"{f}={v}" if v > 1 else f for f, v in zip(self.term, self.levels, strict=True))
        return ":".join(words) or "(Intercept)"


class Factorial:
    """Factors with their levels, and the terms of their model.

    Parameters
    ----------
    levels : mapping of str to int, or sequence of str
        Number of levels of each factor, in the order of a cell's entries. Names alone mean two levels each.
    terms : sequence of tuple of str, optional
        Factors that act together. The intercept is always included. Default: all terms. A model with an
        interaction must contain its parts.

    Raises
    ------
    ValueError
        For repeated names, fewer than two levels, terms of unknown factors, or a term without its parts.

    Examples
    --------
    >>> design = Factorial({"turbo": 2, "threads": 3})
    >>> [column.name for column in design.columns]
    ['(Intercept)', 'turbo', 'threads', 'threads=2', 'turbo:threads', 'turbo:threads=2']
    >>> Factorial(["a", "b", "c"], terms=[("a",), ("b",), ("c",)]).terms
    ((), ('a',), ('b',), ('c',))
    """

    def __init__(
        self, levels: Mapping[str, int] | Sequence[str], terms: Iterable[Term] | None = None
    ) -> None:
        names = list(levels)
        counts = [levels[name] for name in names] if isinstance(levels, Mapping) else [2] * len(names)
        if len(set(names)) != len(names) or not names:
            raise ArgumentError(
                "bad-argument",
                f"factors need different names, and at least one, got {names}",
                argument="factors",
            )
        if min(counts) < 2:
            raise ArgumentError(
                "bad-argument",
                f"a factor needs at least two levels, got {dict(zip(names, counts, strict=True))}",
                argument="levels",
            )
        self.factors: Term = tuple(names)
        self.levels: Cell = tuple(counts)
        self.terms: tuple[Term, ...] = _hierarchy(self.factors, terms)
        place = {name: i for i, name in enumerate(names)}
        self.columns: tuple[Column, ...] = tuple(
            Column(term, at)
            for term in self.terms
            for at in itertools.product(*(range(1, counts[place[name]]) for name in term))
        )

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All combinations of levels. The last factor changes fastest."""
        return tuple(itertools.product(*(range(count) for count in self.levels)))

    def matrix(self, cells: Sequence[Cell], coding: Coding = "corner") -> Floats:
        """Return the design matrix: one row per cell, one column per coefficient.

        Raises
        ------
        ValueError
            For a cell that is not in the grid, or an unknown coding.
        """
        if coding not in get_args(Coding):
            raise ArgumentError(
                "bad-argument",
                f"unknown coding {coding!r}; choose one of {', '.join(get_args(Coding))}",
                argument="coding",
                value=coding,
                known=list(get_args(Coding)),
            )
        for cell in cells:
            inside = (0 <= at < count for at, count in zip(cell, self.levels, strict=False))
            if len(cell) != len(self.levels) or not all(inside):
                raise ArgumentError(
                    "bad-argument",
                    f"there is no cell {cell} in a grid of {'x'.join(map(str, self.levels))}",
                    argument="cells",
                    cell=list(cell),
                )
        grid = np.array(cells, dtype=np.int64).reshape(len(cells), len(self.factors))
        return np.column_stack([self._column(grid, column, coding) for column in self.columns])

    def _column(self, grid: np.ndarray, column: Column, coding: Coding) -> Floats:
        out = np.ones(len(grid))
        for name, level in zip(column.term, column.levels, strict=True):
            at = self.factors.index(name)
            dummy = (grid[:, at] == level).astype(np.float64)
            out *= dummy if coding == "corner" else dummy - 1.0 / self.levels[at]
        # The -1/+1 coding halves an interaction for every further factor.
        return out if coding == "corner" else out * math.ldexp(1.0, max(0, len(column.term) - 1))

    def estimable(self, cells: Sequence[Cell]) -> tuple[Factorial, tuple[Term, ...]]:
        """Return the largest model that runs of `cells` can estimate, and the terms that it lacks.

        Terms are taken from the front, low orders first. A term that depends linearly on earlier ones is left
        out, and so is every term that contains it.

        Examples
        --------
        >>> model, lost = Factorial(["a", "b"]).estimable([(0, 0), (0, 1), (1, 0)])
        >>> model.terms, lost
        (((), ('a',), ('b',)), (('a', 'b'),))
        """
        matrix = self.matrix(cells)
        kept: list[Term] = []
        lost: list[Term] = []
        places: list[int] = []
        for term in self.terms:
            mine = [i for i, column in enumerate(self.columns) if column.term == term]
            told = np.linalg.matrix_rank(matrix[:, places + mine]) == len(places) + len(mine)
            if told and not any(set(missing) < set(term) for missing in lost):
                kept.append(term)
                places += mine
            else:
                lost.append(term)
        return Factorial(dict(zip(self.factors, self.levels, strict=True)), kept), tuple(lost)


def _hierarchy(factors: Term, terms: Iterable[Term] | None) -> tuple[Term, ...]:
    """Return the checked terms in order of size, each in the order of the factors."""
    if terms is None:
        orders = range(len(factors) + 1)
        return tuple(term for order in orders for term in itertools.combinations(factors, order))
    known: dict[Term, None] = {(): None}
    for term in terms:
        if unknown := set(term) - set(factors):
            raise ArgumentError(
                "bad-argument",
                f"there is no factor {min(unknown)!r}; there are {', '.join(factors)}",
                argument="terms",
                name=min(unknown),
                known=list(factors),
            )
        if len(set(term)) != len(term):
            raise ArgumentError(
                "bad-argument", f"a factor does not interact with itself: {':'.join(term)}", argument="terms"
            )
        known[tuple(name for name in factors if name in term)] = None
    for term in known:
        for part in itertools.combinations(term, max(0, len(term) - 1)):
            if part not in known:
                raise ArgumentError(
                    "bad-argument",
                    f"a model with {':'.join(term)} must also contain {':'.join(part)}",
                    argument="terms",
                    missing=list(part),
                )
    return tuple(sorted(known, key=lambda term: (len(term), [factors.index(name) for name in term])))
