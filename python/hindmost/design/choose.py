"""From factors to a design."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from hindmost.design.design import Design
from hindmost.design.factors import Combination, Factor, cell_count, checked
from hindmost.design.fraction import fraction
from hindmost.design.full import full
from hindmost.errors import UsageError

Asked = Literal["auto", "full", "fraction"]

FULL_UP_TO = 16
"""Cells of a full factorial that ``auto`` takes as it is: 2^4, the paper's."""


def choose(
    factors: Iterable[Factor],
    *,
    kind: Asked = "auto",
    resolution: int = 5,
    forbidden: Iterable[Combination] = (),
) -> Design:
    """A design for these factors.

    Parameters
    ----------
    kind
        ``auto``: the full factorial up to `FULL_UP_TO` cells, beyond that the smallest fraction.
    resolution
        Of a fraction, at least.
    forbidden
        Combinations of levels that no cell may have.

    Raises
    ------
    UsageError
        If there is no such design, with what would be one.

    Examples
    --------
    >>> choose([Factor(name, ("off", "on")) for name in "abcde"]).text
    '2^(5-1) fraction of resolution V: 16 cells'
    """
    forbidden = tuple(forbidden)
    factors = checked(factors, forbidden)
    if kind not in get_args(Asked):
        raise UsageError(f"there is no kind of design {kind!r} (known: {', '.join(get_args(Asked))})")
    if kind == "full" or (kind == "auto" and cell_count(factors) <= FULL_UP_TO):
        return full(factors, forbidden)
    return fraction(factors, resolution)
