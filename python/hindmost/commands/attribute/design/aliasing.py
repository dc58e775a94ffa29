"""How terms left out of a model bias its coefficients.

If the true model has further terms X2 b2, least squares on X1 gives b1 + A b2 with A = (X1'X1)^-1 X1'X2: the
alias matrix of Box & Wilson (1951). In a regular fraction its entries are 0 and 1; otherwise shares, for
example 1/3 in Plackett-Burman designs of 12 runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hindmost.commands.attribute.design.coding import Floats, columns_of, model_matrix
from hindmost.commands.attribute.design.factors import Cell, Factor, Term, all_terms

LISTED = 0.05
"""Smallest share of a left-out effect that is listed. In orthogonal arrays no share lies between 0 and
0.1."""


def alias_matrix(
    factors: Sequence[Factor], cells: Sequence[Cell], terms: Sequence[Term], left_out: Sequence[Term]
) -> Floats:
    """Return the alias matrix, shape (columns of `terms`, columns of `left_out`), in ``average`` coding."""
    included = model_matrix(factors, cells, terms, "average")
    excluded = model_matrix(factors, cells, left_out, "average")
    solved, *_ = np.linalg.lstsq(included, excluded, rcond=None)
    return np.asarray(solved, dtype=np.float64)


def partial_aliases(
    factors: Sequence[Factor], cells: Sequence[Cell], terms: Sequence[Term]
) -> dict[Term, tuple[Term, ...]]:
    """Return, for each term but ``()``, the terms of up to two factors outside the model that bias it."""
    left_out = [term for term in all_terms(factors, 2) if term not in set(terms)]
    aliases: dict[Term, tuple[Term, ...]] = dict.fromkeys(terms, ())
    if not left_out:
        return aliases
    shares = np.abs(alias_matrix(factors, cells, terms, left_out)) >= LISTED
    mine = np.array([list(terms).index(column.term) for column in columns_of(factors, terms)])
    theirs = np.array([left_out.index(column.term) for column in columns_of(factors, left_out)])
    for i, term in enumerate(terms):
        if term:
            caught = set(theirs[shares[mine == i].any(axis=0)].tolist())
            aliases[term] = tuple(left_out[j] for j in sorted(caught))
    return aliases
