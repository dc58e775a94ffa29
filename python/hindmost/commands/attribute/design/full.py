"""Full factorials: every allowed cell, and every interaction that these cells can separate."""

from __future__ import annotations

from collections.abc import Iterable

from hindmost.commands.attribute.design.aliasing import partial_aliases
from hindmost.commands.attribute.design.design import Design
from hindmost.commands.attribute.design.estimable import estimable
from hindmost.commands.attribute.design.factors import (
    LARGEST,
    Combination,
    Factor,
    all_terms,
    allowed_cells,
    cell_count,
    check_factors,
)
from hindmost.errors import UsageError


def full(factors: Iterable[Factor], forbidden: Iterable[Combination] = ()) -> Design:
    """Return all allowed cells, for any number of levels. With forbidden cells the kind is ``subset``.

    Raises
    ------
    UsageError
        If factors or forbidden combinations are invalid, or there would be more than `LARGEST` cells.

    Examples
    --------
    >>> design = full([Factor("a", ("off", "on")), Factor("b", ("1", "2", "3"))])
    >>> design.cells
    ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2))
    >>> design.terms
    ((), ('a',), ('b',), ('a', 'b'))
    """
    forbidden = tuple(forbidden)
    factors = check_factors(factors, forbidden)
    if cell_count(factors) > LARGEST:
        raise UsageError(
            "design-too-large",
            f"a full factorial of these {len(factors)} factors has {cell_count(factors):,} cells, more than"
            f" {LARGEST:,}; each cell is a run in every block",
            hint="screen the factors first (kind = screening), then study those that matter",
            cells=cell_count(factors),
            limit=LARGEST,
        )
    cells = allowed_cells(factors, forbidden)
    terms = all_terms(factors)
    if len(cells) == cell_count(factors):
        return Design(factors, "full", None, cells, terms, dict.fromkeys(terms, ()))
    result = estimable(factors, cells, terms)
    return Design(
        factors,
        "subset",
        None,
        cells,
        result.terms,
        partial_aliases(factors, cells, result.terms),
        unknown=result.unknown,
        forbidden=forbidden,
    )
