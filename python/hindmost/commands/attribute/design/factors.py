"""Factors, cells and terms: the vocabulary of designs; and forbidden combinations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hindmost.errors import UsageError

Cell = tuple[int, ...]
"""One combination of levels: an index into each factor's levels, in the order of the factors."""

Term = tuple[str, ...]
"""Names of the factors that interact, in the order of the factors; ``()`` is the intercept."""

Combination = Mapping[str, str]
"""Levels of some factors by name. Forbidden: no cell may have all of them."""

LARGEST = 1024
"""Most cells of a design: one block of them takes three hours at ten seconds per run."""


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor of a study. The first level is the low one, usually the present setting.

    ``change_s``: time that a change takes, s. If above 0, the factor is *hard to change*: a block keeps its
    level for several runs in a row.

    Raises
    ------
    UsageError
        If it has no name, fewer than two levels, or one level twice.

    Examples
    --------
    >>> Factor("thp", ("madvise", "always")).two_level
    True
    """

    name: str
    levels: tuple[str, ...]
    change_s: float = 0.0

    def __post_init__(self) -> None:
        if not self.name or ":" in self.name:
            raise UsageError(
                "bad-value",
                f"a factor needs a name without a colon, got {self.name!r}",
                key="name",
                value=self.name,
            )
        if len(self.levels) < 2:
            raise UsageError(
                "bad-value",
                f"factor {self.name!r} has {len(self.levels)} level(s): without a second level it has no"
                " effect",
                hint="give it two or more levels, or leave it out",
                name=self.name,
                have=len(self.levels),
                need=2,
            )
        if len(set(self.levels)) < len(self.levels):
            raise UsageError(
                "duplicate-name",
                f"factor {self.name!r} has a level twice: {', '.join(self.levels)}",
                name=self.name,
                value=list(self.levels),
            )

    @property
    def two_level(self) -> bool:
        """Whether it has exactly two levels."""
        return len(self.levels) == 2


def check_factors(factors: Iterable[Factor], forbidden: Iterable[Combination] = ()) -> tuple[Factor, ...]:
    """Return the factors, if they and the forbidden combinations are valid.

    Raises
    ------
    UsageError
        If there are no factors, two with one name, or an unknown forbidden level or factor.
    """
    factors = tuple(factors)
    if not factors:
        raise UsageError("missing-argument", "a design needs at least one factor", key="factors")
    levels = {factor.name: factor.levels for factor in factors}
    if len(levels) < len(factors):
        names = [factor.name for factor in factors]
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError("duplicate-name", f"two factors are called {twice!r}", name=twice)
    for combination in forbidden:
        if not combination:
            raise UsageError(
                "bad-value",
                "a forbidden combination names no factor, so it would forbid every cell",
                key="forbidden",
                value={},
            )
        for name, level in combination.items():
            if name not in levels:
                raise UsageError(
                    "unknown-name",
                    f"forbidden: there is no factor {name!r} (known: {', '.join(levels)})",
                    key="forbidden",
                    name=name,
                    known=list(levels),
                )
            if level not in levels[name]:
                raise UsageError(
                    "unknown-name",
                    f"forbidden: {name!r} has no level {level!r} (known: {', '.join(levels[name])})",
                    key=name,
                    name=level,
                    known=list(levels[name]),
                )
    return factors


def all_low(factors: Sequence[Factor]) -> Cell:
    """Return the cell of the first levels: usually the present state of the machine."""
    return (0,) * len(factors)


def cell_count(factors: Iterable[Factor]) -> int:
    """Return the number of cells of the full factorial."""
    return math.prod(len(factor.levels) for factor in factors)


def is_forbidden(cell: Cell, factors: Sequence[Factor], forbidden: Iterable[Combination]) -> bool:
    """Whether the cell has all levels of some forbidden combination."""
    levels = {factor.name: factor.levels[i] for factor, i in zip(factors, cell, strict=True)}
    return any(all(levels[name] == level for name, level in combination.items()) for combination in forbidden)


def allowed_cells(factors: Sequence[Factor], forbidden: Sequence[Combination] = ()) -> tuple[Cell, ...]:
    """Return all cells of the full factorial that are not forbidden; the last factor varies fastest.

    Raises
    ------
    UsageError
        If everything is forbidden, or all cells with some level of a factor.
    """
    every = itertools.product(*(range(len(factor.levels)) for factor in factors))
    cells = tuple(cell for cell in every if not is_forbidden(cell, factors, forbidden))
    for i, factor in enumerate(factors):
        unused = [level for k, level in enumerate(factor.levels) if not any(cell[i] == k for cell in cells)]
        if unused:
            raise UsageError(
                "unused-level",
                f"no allowed cell has {factor.name} = {unused[0]}: the forbidden combinations leave"
                f" {len(cells)} of {cell_count(factors)} cells",
                hint=f"remove {unused[0]!r} from the levels of {factor.name!r}, or forbid less",
                name=factor.name,
                value=unused[0],
            )
    return cells


def all_terms(factors: Sequence[Factor], most: int | None = None) -> tuple[Term, ...]:
    """Return the terms of up to `most` factors (None: any number), by number of factors."""
    names = [factor.name for factor in factors]
    orders = range((len(names) if most is None else min(most, len(names))) + 1)
    return tuple(term for order in orders for term in itertools.combinations(names, order))


def term_text(term: Term) -> str:
    """Write a term for people.

    Examples
    --------
    >>> term_text(("numa", "turbo")), term_text(())
    ('numa:turbo', '(Intercept)')
    """
    return ":".join(term) or "(Intercept)"
