"""Option groups of the help page, and helpers that declare options."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group, Parameter

TARGET = Group("Target", sort_key=1)
LOAD = Group("Load", sort_key=2)
CLIENTS = Group("Clients", sort_key=3)
PROCEDURE = Group("Procedure", sort_key=4)
OUTPUT = Group("Output", sort_key=5)
GROUPS = {group.name: group for group in (TARGET, LOAD, CLIENTS, PROCEDURE, OUTPUT)}


def option(group: Group, metavar: str | None, help: str) -> Parameter:
    """Declare an option that takes a value."""
    return Parameter(group=group, metavar=metavar, help=help)


def switch(group: Group, help: str, *names: str) -> Parameter:
    """Declare an option without a value."""
    return Parameter(group=group, name=list(names) or None, negative="", help=help)


def whole_number(hint: Any, tokens: Sequence[Any]) -> int:  # noqa: ANN401 (cyclopts' types)
    """Read a whole number. 1.5 is an error, not 2."""
    text = tokens[0].value
    if not re.fullmatch(r"[+-]?\d[\d_]*", text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def integer_option(group: Group, help: str, metavar: str = "N", least: int | None = None) -> Parameter:
    """Declare an option that takes a whole number of at least `least`."""

    def convert(hint: Any, tokens: Sequence[Any]) -> int:  # noqa: ANN401 (cyclopts' types)
        found = whole_number(hint, tokens)
        if least is not None and found < least:
            raise ValueError(f"{found} is below {least}")
        return found

    return Parameter(group=group, metavar=metavar, help=help, converter=convert)


Json = Annotated[bool, switch(OUTPUT, "Print the result as JSON.", "--json")]
"""JSON output, available for every view that is meant for people."""

Yes = Annotated[
    bool,
    switch(
        PROCEDURE, "Do not ask before a stored study uses secrets or programs of this host.", "--yes", "-y"
    ),
]
Page = Annotated[
    Path | None, option(OUTPUT, "FILE", "Write the page to this file. [default: report.html in the study]")
]
Shared = Annotated[bool, switch(OUTPUT, "Let other users of this host read the study.", "--shared")]

Verbose = Annotated[
    bool, switch(OUTPUT, "Print full details of the load, the runs and the client.", "--verbose", "-v")
]


def keep_private(*, shared: bool) -> None:
    """Restrict new files to the current user, unless the study is shared."""
    from hindmost.core.store.study import share

    if shared:
        share()
    else:
        os.umask(0o077)


def split_command(command: str) -> list[str]:
    """Split a command as a shell does.

    Raises
    ------
    UsageError
        If a quotation mark is not closed.
    """
    from hindmost.errors import UsageError

    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(
            "bad-value",
            f"cannot split the command {command!r}: {error}",
            hint="close the quotation mark",
            value=command,
        ) from None
