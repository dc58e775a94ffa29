"""Chooses a design for given factors."""

from __future__ import annotations

from collections.abc import Iterable

from hindmost.commands.attribute.design.design import Design
from hindmost.commands.attribute.design.factors import Combination, Factor
from hindmost.commands.attribute.design.ladder import DesignKind, ladder
from hindmost.commands.attribute.design.offer import offer

FULL_UP_TO = 16
"""Largest full factorial, in cells, that ``auto`` uses without a limit: 2^4, as in the paper."""


def choose(
    factors: Iterable[Factor],
    *,
    kind: DesignKind = "auto",
    resolution: int = 5,
    forbidden: Iterable[Combination] = (),
    most_runs: int | None = None,
    blocks: int | None = None,
    loads: int = 1,
    controls: int = 1,
) -> Design:
    """Choose a design for these factors.

    Parameters
    ----------
    kind
        ``auto``: the richest design within `most_runs`, see `offer`. Without a limit: the full factorial up
        to `FULL_UP_TO` cells, and beyond that the richest fraction; chosen cells if factors have more levels
        or combinations are forbidden; screening if there are too many factors.
    resolution
        Minimum resolution of a fraction.
    forbidden
        Combinations of levels that no cell may have.
    most_runs, blocks, loads, controls
        Total runs, minimum blocks, load levels, control runs per block: as for `offer`, which also returns
        the number of blocks and what is given up. `runs_within` converts a time into runs.

    Raises
    ------
    UsageError
        If there is no such design; names one that exists.

    Examples
    --------
    >>> [choose([Factor(name, ("off", "on")) for name in names]).text for names in ("abcd", "abcdefgh")]
    ['full factorial of 4 factors: 16 cells', '2^(8-2) fraction of resolution V: 64 cells']
    """
    forbidden = tuple(forbidden)
    if most_runs is not None:
        return offer(
            factors,
            most_runs,
            kind=kind,
            resolution=resolution,
            forbidden=forbidden,
            blocks=blocks,
            loads=loads,
            controls=controls,
        ).design
    rungs = ladder(factors, kind, resolution, forbidden)
    first = next(rungs)
    if kind == "auto" and first.kind != "fraction" and len(first.cells) > FULL_UP_TO:
        return next(rungs, first)
    return first
