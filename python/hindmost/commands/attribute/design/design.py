"""A design: which cells are run, which terms they separate, and which they confound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hindmost.commands.attribute.design.coding import Coding, Column, Floats, columns_of, model_matrix
from hindmost.commands.attribute.design.factors import (
    Cell,
    Combination,
    Factor,
    Term,
    all_low,
    is_forbidden,
    term_text,
)

Kind = Literal["full", "fraction", "screening", "subset"]


@dataclass(frozen=True)
class Design:
    """The cells of one block, and the properties that follow from them.

    Parameters
    ----------
    factors
        In the same order as in cells and terms.
    kind
        ``full``: all cells. ``fraction``: a regular fraction of two-level factors. ``screening``: many
        suspects, main effects only. ``subset``: chosen among the allowed cells.
    resolution
        Length of the shortest defining word: with IV main effects are clear of two-factor interactions, with
        V these are clear of each other. None if nothing is aliased, or if there are no words.
    cells
        Each is run once per block; all are different.
    terms
        The terms of the model, ``()`` first. All of them can be estimated from the cells.
    aliases
        For each term of the model, the terms confounded with it, completely (fraction) or partly. A fraction
        lists interactions of up to four factors, other kinds of two: longer ones are rarely large.
    words
        Defining words of a regular fraction (Box & Hunter 1961): products of factors that do not vary.
    unknown
        Terms of up to two factors (of any number if all allowed cells are run) that cannot be estimated, and
        why. Terms aliased with a term of the model are not listed here.
    forbidden
        Combinations of levels that no cell may have.

    Examples
    --------
    >>> from hindmost.commands.attribute.design import Factor, full
    >>> design = full([Factor("thp", ("madvise", "always")), Factor("threads", ("1", "2", "4"))])
    >>> design.text
    'full factorial of 2 factors: 6 cells'
    >>> design.setting((1, 2))
    {'thp': 'always', 'threads': '4'}
    """

    factors: tuple[Factor, ...]
    kind: Kind
    resolution: int | None
    cells: tuple[Cell, ...]
    terms: tuple[Term, ...]
    aliases: Mapping[Term, tuple[Term, ...]] = field(default_factory=dict)
    words: tuple[Term, ...] = ()
    unknown: Mapping[Term, str] = field(default_factory=dict)
    forbidden: tuple[Combination, ...] = ()

    @property
    def control(self) -> Cell:
        """The default cell of control runs, one more in each block: all low, if allowed."""
        low = all_low(self.factors)
        return self.cells[0] if is_forbidden(low, self.factors, self.forbidden) else low

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the model: as many as terms if all factors have two levels."""
        return columns_of(self.factors, self.terms)

    def matrix(self, coding: Coding = "corner") -> Floats:
        """Return the model matrix, shape (cells, columns), of full column rank."""
        return model_matrix(self.factors, self.cells, self.terms, coding)

    def setting(self, cell: Cell) -> dict[str, str]:
        """Return the levels of a cell by the names of their factors."""
        return {factor.name: factor.levels[i] for factor, i in zip(self.factors, cell, strict=True)}

    @property
    def hard_to_change(self) -> tuple[str, ...]:
        """Names of the factors whose level a block keeps for several runs in a row."""
        return tuple(factor.name for factor in self.factors if factor.change_s > 0.0)

    def whole_plot(self, cell: Cell) -> Cell:
        """Return the levels of the factors that are hard to change, which a block keeps for several runs."""
        return tuple(level for level, factor in zip(cell, self.factors, strict=True) if factor.change_s > 0.0)

    @property
    def whole_plots(self) -> int:
        """Number of whole plots of a block; 1 if no factor is hard to change."""
        return len({self.whole_plot(cell) for cell in self.cells})

    @property
    def change_s(self) -> float:
        """Time of a block for changes of the factors that are hard to change, s."""
        return self.whole_plots * sum(factor.change_s for factor in self.factors)

    @property
    def text(self) -> str:
        """The design in one line."""
        count = f"{len(self.cells)} cells"
        of = f"of {len(self.factors)} factor{'s' if len(self.factors) > 1 else ''}"
        if self.kind == "full":
            return f"full factorial {of}: {count}"
        if self.kind == "fraction":
            generators = (len(self.words) + 1).bit_length() - 1
            name = f"2^({len(self.factors)}-{generators}) fraction"
            return f"{name} of resolution {roman(self.resolution or 0)}: {count}"
        if self.kind == "screening":
            return f"screening {of}, main effects only: {count}"
        return f"chosen cells {of}: {count}, {len(self.columns)} coefficients"

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the design cannot show, one sentence each."""
        out = []
        shared = {t: a for t, a in self.aliases.items() if t and any(len(alias) <= 2 for alias in a)}
        if shared:
            term, others = next(iter(shared.items()))
            first = [term_text(alias) for alias in others if len(alias) <= 2]
            more = f" and {len(first) - 1} more" if len(first) > 1 else ""
            relation = "is confounded with" if self.kind == "fraction" else "is partly confounded with"
            out.append(
                f"{len(shared)} of {len(self.terms) - 1} terms are confounded with main effects or two-factor"
                f" interactions: {term_text(term)} {relation} {first[0]}{more}"
            )
        if hard := self.hard_to_change:
            out.append(
                f"the interval of {', '.join(hard)} also contains what differs from one change to the next,"
                " which the widths below leave out"
            )
        if self.kind == "screening":
            clear = "clear of" if not shared else "not clear of"
            out.append(f"interactions are not estimated; main effects are {clear} those of two factors")
        out += [
            f"{term_text(term)} cannot be estimated: {why}"
            for term, why in self.unknown.items()
            if len(term) <= 2
        ]
        if longer := sum(len(term) > 2 for term in self.unknown):
            out.append(f"{longer} interactions of three and more factors cannot be estimated")
        return tuple(out)


def roman(number: int) -> str:
    """Write a resolution in Roman numerals, as in the literature.

    Examples
    --------
    >>> [roman(n) for n in (3, 4, 5, 6, 9, 10)]
    ['III', 'IV', 'V', 'VI', 'IX', 'X']
    """
    tens, ones = divmod(number, 10)
    return "X" * tens + ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")[ones]
