"""Screening by random settings: the paper's factor selection, for any number of suspects and levels.

Each run has its own setting of all suspects, drawn at random, and each suspect is then tested by itself:
its levels are exchanged among the runs, and the difference seen is compared with those (Treadmill IV-B;
"random balance", Satterthwaite 1959). Here each level of a suspect stands in as many runs as any other.
Compared with a Plackett-Burman design of as many runs an effect's error is larger, by sqrt(n / (n - p)) for
p coefficients, and any interaction may by chance look a little like any main effect; but there may be more
than 23 suspects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from hindmost.design.aliasing import partial_aliases
from hindmost.design.design import Design
from hindmost.design.estimable import estimable
from hindmost.design.factors import (
    Cell,
    Factor,
    all_terms,
    cell_count,
    checked,
)
from hindmost.errors import UsageError

RUNS_PER_COEFFICIENT = 2
"""Errors are then 1.4 times those of an orthogonal design of as many runs."""

_TRIES = 20


def random_settings(factors: Iterable[Factor], runs: int | None = None, seed: int = 1) -> Design:
    """Cells drawn at random, each level of a factor equally often, no cell twice.

    Parameters
    ----------
    runs
        Cells; None: `RUNS_PER_COEFFICIENT`.
    seed
        Decides the cells, the same for ever.

    Raises
    ------
    UsageError
        For too few runs to tell the main effects apart, or more than half of all cells.

    Examples
    --------
    >>> design = random_settings([Factor(f"suspect {i}", ("off", "on")) for i in range(30)])
    >>> design.text, sum(cell[7] for cell in design.cells)
    ('screening of 30 factors, main effects only: 62 cells', 31)
    """
    factors = checked(factors)
    coefficients = 1 + sum(len(factor.levels) - 1 for factor in factors)
    runs = RUNS_PER_COEFFICIENT * coefficients if runs is None else runs
    if not coefficients < runs:
        raise UsageError(
            "too-few-runs",
            f"{runs} runs cannot estimate {coefficients} coefficients",
            have=runs,
            need=coefficients + 1,
        )
    if 2 * runs > cell_count(factors):
        raise UsageError(
            "bad-value",
            f"{runs} of {cell_count(factors)} cells are too many to choose at random",
            hint="kind = full runs every cell",
            value=runs,
            most=cell_count(factors) // 2,
        )
    cells = _repaired(_balanced(factors, runs, seed), seed)
    terms = all_terms(factors, 1)
    if missing := estimable(factors, cells, terms).unknown:
        (name,), why = next(iter(missing.items()))
        raise UsageError(
            "inestimable-effect",
            f"{runs} random settings cannot estimate {name!r}: {why}",
            hint="allow more runs",
            name=name,
            have=runs,
        )
    aliases = partial_aliases(factors, cells, terms)
    return Design(factors, "screening", None, cells, terms, aliases)


def _lot(*what: object) -> int:
    return int.from_bytes(blake2b(repr(what).encode(), digest_size=8).digest(), "big")


def _balanced(factors: Sequence[Factor], runs: int, seed: int) -> list[list[int]]:
    cells = [[0] * len(factors) for _ in range(runs)]
    for place, factor in enumerate(factors):
        order = sorted(range(runs), key=lambda run: _lot(seed, place, run))
        for rank, run in enumerate(order):
            cells[run][place] = rank % len(factor.levels)
    return cells


def _repaired(cells: list[list[int]], seed: int) -> tuple[Cell, ...]:
    """Exchange single levels between runs until no cell stands twice; balance stays."""
    for attempt in range(_TRIES * len(cells)):
        seen = Counter(tuple(cell) for cell in cells)
        twice = [cell for cell in cells if seen[tuple(cell)] > 1]
        if not twice:
            break
        one = twice[_lot(seed, "one", attempt) % len(twice)]
        other = cells[_lot(seed, "other", attempt) % len(cells)]
        place = _lot(seed, "place", attempt) % len(one)
        one[place], other[place] = other[place], one[place]
    return tuple(tuple(cell) for cell in cells)
