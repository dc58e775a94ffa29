"""Screening by random settings: the paper's factor selection, for any number of suspects and levels.

Each run has its own random setting of all suspects, and each suspect is then tested separately: its levels
are permuted among the runs, and the observed difference is compared with the permuted ones (Treadmill IV-B;
"random balance", Satterthwaite 1959). Here each level of a suspect occurs in the same number of runs.
Compared with a Plackett-Burman design with as many runs, an effect's error is larger by sqrt(n / (n - p)) for
p coefficients, and any interaction may by chance correlate with any main effect; but there may be more than
23 suspects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from hindmost.commands.attribute.design.aliasing import partial_aliases
from hindmost.commands.attribute.design.design import Design
from hindmost.commands.attribute.design.estimable import estimable
from hindmost.commands.attribute.design.factors import Cell, Factor, all_terms, cell_count, check_factors
from hindmost.errors import UsageError

RUNS_PER_COEFFICIENT = 2
"""Errors are then 1.4 times those of an orthogonal design with as many runs."""

_TRIES = 20


def random_settings(factors: Iterable[Factor], runs: int | None = None, seed: int = 1) -> Design:
    """Draw cells at random, with each level of a factor equally often, and all cells different.

    Parameters
    ----------
    runs
        Number of cells; None: `RUNS_PER_COEFFICIENT` for each coefficient.
    seed
        Determines the cells, in all versions.

    Raises
    ------
    UsageError
        If there are too few runs to separate the main effects, or more than half of all cells.

    Examples
    --------
    >>> design = random_settings([Factor(f"suspect {i}", ("off", "on")) for i in range(30)])
    >>> design.text, sum(cell[7] for cell in design.cells)
    ('screening of 30 factors, main effects only: 62 cells', 31)
    """
    factors = check_factors(factors)
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
    cells = _remove_duplicates(_draw_balanced(factors, runs, seed), seed)
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


def _random_key(*parts: object) -> int:
    return int.from_bytes(blake2b(repr(parts).encode(), digest_size=8).digest(), "big")


def _draw_balanced(factors: Sequence[Factor], runs: int, seed: int) -> list[list[int]]:
    cells = [[0] * len(factors) for _ in range(runs)]
    for index, factor in enumerate(factors):
        order = sorted(range(runs), key=lambda run: _random_key(seed, index, run))
        for rank, run in enumerate(order):
            cells[run][index] = rank % len(factor.levels)
    return cells


def _remove_duplicates(cells: list[list[int]], seed: int) -> tuple[Cell, ...]:
    """Exchange single levels between runs until all cells are different; the balance is kept."""
    for attempt in range(_TRIES * len(cells)):
        seen = Counter(tuple(cell) for cell in cells)
        twice = [cell for cell in cells if seen[tuple(cell)] > 1]
        if not twice:
            break
        cell = twice[_random_key(seed, "one", attempt) % len(twice)]
        other = cells[_random_key(seed, "other", attempt) % len(cells)]
        index = _random_key(seed, "place", attempt) % len(cell)
        cell[index], other[index] = other[index], cell[index]
    return tuple(tuple(cell) for cell in cells)
