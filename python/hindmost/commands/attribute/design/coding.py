"""Codes cells as columns, which defines what a coefficient means.

``corner`` (0/1 indicators): the effect of a level while all other factors are at their first level, as in
Table IV of Treadmill. ``average`` (indicators minus their mean over the levels): the average effect of a
level over all settings of the others; for two levels -1/2 and +1/2, so that a coefficient is the full
difference between low and high. An average interaction of k factors is scaled by 2^(k-1), the usual "half the
difference of effects" of Box, Hunter & Hunter.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from hindmost.commands.attribute.design.factors import Cell, Factor, Term

Coding = Literal["corner", "average"]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Column:
    """One coefficient: a term, and the level of each of its factors that is compared with the first."""

    term: Term
    levels: tuple[int, ...]


def columns_of(factors: Sequence[Factor], terms: Iterable[Term]) -> tuple[Column, ...]:
    """Return the columns of the terms, in order: one for two levels, (L1 - 1)(L2 - 1)... in general."""
    count = {factor.name: len(factor.levels) for factor in factors}
    return tuple(
        Column(term, levels)
        for term in terms
        for levels in itertools.product(*(range(1, count[name]) for name in term))
    )


def model_matrix(
    factors: Sequence[Factor], cells: Sequence[Cell], terms: Iterable[Term], coding: Coding = "corner"
) -> Floats:
    """Return the model matrix: rows are cells, columns are `columns_of`.

    Examples
    --------
    >>> two = [Factor("a", ("off", "on")), Factor("b", ("off", "on"))]
    >>> model_matrix(two, [(0, 0), (1, 1)], [(), ("a",), ("a", "b")]).tolist()
    [[1.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    >>> model_matrix(two, [(0, 0), (1, 1)], [(), ("a",), ("a", "b")], "average").tolist()
    [[1.0, -0.5, 0.5], [1.0, 0.5, 0.5]]
    """
    place = {factor.name: i for i, factor in enumerate(factors)}
    shift = [0.0 if coding == "corner" else 1.0 / len(factor.levels) for factor in factors]
    columns = columns_of(factors, terms)
    matrix = np.ones((len(cells), len(columns)))
    settings = np.array(cells, dtype=np.int64).reshape(len(cells), len(factors))
    for j, column in enumerate(columns):
        for name, level in zip(column.term, column.levels, strict=True):
            i = place[name]
            matrix[:, j] *= (settings[:, i] == level) - shift[i]
        if coding == "average" and column.term:
            matrix[:, j] *= math.ldexp(1.0, len(column.term) - 1)
    return matrix
