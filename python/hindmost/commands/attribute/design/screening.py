"""Screening: many suspects, main effects only, in as few cells as there are suspects.

Plackett & Burman (1946) give orthogonal arrays of n = 8, 12, 16, 20, 24 runs for up to n - 1 factors of two
levels: a first row, its cyclic shifts, and a row of low levels. Main effects are then clear of each other but
confounded with two-factor interactions (in shares of 1/3 at n = 12). Adding the mirror image of each run
(fold-over, Box & Wilson 1951) clears them of these, too. For n = 12, 20, 24 any three columns contain a full
2^3 (Box & Tyssedal 1996): if few suspects matter, the same runs show their interactions.
"""

from __future__ import annotations

from collections.abc import Iterable

from hindmost.commands.attribute.design.aliasing import partial_aliases
from hindmost.commands.attribute.design.design import Design
from hindmost.commands.attribute.design.factors import Cell, Factor, all_terms, check_factors
from hindmost.errors import UsageError

FIRST_ROWS = {
    8: "+++-+--",
    12: "++-+++---+-",
    16: "++++-+-++--+---",
    20: "++--++++-+-+----++-",
    24: "+++++-+-++--++--+-+----",
}
"""Plackett & Burman 1946, page 323."""

LEAST = 5
"""Minimum number of suspects: with fewer, a full factorial has no more cells than this with its fold-over."""


def screening(factors: Iterable[Factor], *, fold: bool = True) -> Design:
    """Return a Plackett-Burman design, by default with its fold-over.

    Parameters
    ----------
    factors
        5 to 23 factors of two levels each.
    fold
        Add the mirror image of each cell, so that two-factor interactions do not bias main effects.

    Raises
    ------
    UsageError
        If factors have more than two levels, or there are too many or too few.

    Examples
    --------
    >>> design = screening([Factor(f"suspect {i}", ("off", "on")) for i in range(11)])
    >>> design.text, design.resolution
    ('screening of 11 factors, main effects only: 24 cells', 4)
    >>> len(screening(design.factors, fold=False).aliases[("suspect 0",)])  # all interactions without it
    45
    """
    factors = check_factors(factors)
    if many := [factor for factor in factors if not factor.two_level]:
        raise UsageError(
            "bad-value",
            f"screening needs factors of two levels; {many[0].name!r} has {len(many[0].levels)}",
            hint="use its two most different levels; study all levels of the factors that matter later",
            name=many[0].name,
            have=len(many[0].levels),
            need=2,
        )
    if not LEAST <= len(factors) < max(FIRST_ROWS):
        raise UsageError(
            "bad-value",
            f"screening takes {LEAST} to {max(FIRST_ROWS) - 1} factors, got {len(factors)}",
            hint="kind = full" if len(factors) < LEAST else "random_settings takes any number",
            key="factors",
            value=len(factors),
            least=LEAST,
            most=max(FIRST_ROWS) - 1,
        )
    size = min(n for n in FIRST_ROWS if n > len(factors))
    cells = plackett_burman(size, len(factors))
    if fold:
        cells += tuple(tuple(1 - level for level in cell) for cell in cells)
    terms = all_terms(factors, 1)
    return Design(
        factors, "screening", 4 if fold else 3, cells, terms, partial_aliases(factors, cells, terms)
    )


def plackett_burman(size: int, count: int) -> tuple[Cell, ...]:
    """Return the first `count` columns of the array of `size` runs; 1 is high.

    Examples
    --------
    >>> plackett_burman(8, 7)[0], plackett_burman(8, 7)[-1]
    ((1, 1, 1, 0, 1, 0, 0), (0, 0, 0, 0, 0, 0, 0))
    """
    row = [int(sign == "+") for sign in FIRST_ROWS[size]]
    shifts = [tuple((row[-shift:] + row[:-shift])[:count]) for shift in range(size - 1)]
    return (*shifts, (0,) * count)
