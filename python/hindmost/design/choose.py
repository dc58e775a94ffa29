"""From factors to a design."""

from __future__ import annotations

from collections.abc import Iterable

from hindmost.design.design import Design
from hindmost.design.factors import Combination, Factor
from hindmost.design.ladder import Asked, ladder
from hindmost.design.offer import offer

FULL_UP_TO = 16
"""Cells of a full factorial that ``auto`` takes as it is: 2^4, the paper's."""


def choose(
    factors: Iterable[Factor],
    *,
    kind: Asked = "auto",
    resolution: int = 5,
    forbidden: Iterable[Combination] = (),
    most_runs: int | None = None,
    blocks: int | None = None,
    loads: int = 1,
    controls: int = 1,
) -> Design:
    """A design for these factors.

    Parameters
    ----------
    kind
        ``auto``: within `most_runs` the richest, see `offer`. Without a limit the full factorial up to
        `FULL_UP_TO` cells, beyond that the richest fraction, chosen cells where factors have more levels or
        something is forbidden, and screening where there are too many factors.
    resolution
        Of a fraction, at least.
    forbidden
        Combinations of levels that no cell may have.
    most_runs, blocks, loads, controls
        Runs in all, fewest blocks, load levels, control runs a block: as for `offer`, which also says how
        many blocks there will be and what is given up. `runs_within` makes runs of a time.

    Raises
    ------
    UsageError
        If there is no such design, with what would be one.

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
