"""Commands with several modes: one option selects the mode, and some options belong to one mode only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from hindmost.errors import UsageError

UNGIVEN = (None, False, ())
"""Values of options that were not given."""


def select_mode(given: Mapping[str, object], own: Mapping[str, Sequence[str]], usual: str) -> str:
    """Return the option that selects the mode; empty for the default mode.

    Parameters
    ----------
    given : dict
        Options and their values.
    own : dict
        The options of each mode, by the option that selects the mode; "" is the default mode. An option that
        belongs to no mode is valid in all modes.
    usual : str
        The name of the default mode in an error.

    Raises
    ------
    UsageError
        If two modes are selected, or an option does not belong to the selected mode.
    """
    names = [name for name, value in given.items() if value not in UNGIVEN]
    modes = [name for name in own if name in names]
    if len(modes) > 1:
        refuse_conflict(modes[1], modes[0])
    mode = modes[0] if modes else ""
    others = {name for one in own.values() for name in one} - set(own[mode])
    for name in names:
        if name in others:
            refuse_conflict(name, mode or usual)
    return mode


def refuse_conflict(option: str, other: str) -> NoReturn:
    """Refuse an option that cannot be combined with another."""
    raise UsageError(
        "conflicting-options",
        f"{option} cannot be combined with {other}",
        hint=f"leave out {option}",
        option=option,
        other=other,
    )
