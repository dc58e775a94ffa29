"""Commands with several ways to work: one option selects the way, and some options go with one way only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from hindmost.errors import UsageError

UNGIVEN = (None, False, ())
"""Values of options that were not given."""


def way_of(given: Mapping[str, object], own: Mapping[str, Sequence[str]], usual: str) -> str:
    """Return the option that selects the way; empty for the usual way.

    Parameters
    ----------
    given : dict
        Options and their values.
    own : dict
        The options that go with each way, by the option that selects it; "" is the usual way. An option that
        no way has goes with all.
    usual : str
        What the usual way is called in an error.

    Raises
    ------
    UsageError
        Two ways are selected, or an option does not go with the way.
    """
    names = [name for name, value in given.items() if value not in UNGIVEN]
    ways = [name for name in own if name in names]
    if len(ways) > 1:
        refuse_conflict(ways[1], ways[0])
    way = ways[0] if ways else ""
    others = {name for one in own.values() for name in one} - set(own[way])
    for name in names:
        if name in others:
            refuse_conflict(name, way or usual)
    return way


def refuse_conflict(option: str, other: str) -> NoReturn:
    """Refuse an option that does not go with another."""
    raise UsageError(
        "conflicting-options",
        f"{option} does not go with {other}",
        hint=f"leave out {option}",
        option=option,
        other=other,
    )
