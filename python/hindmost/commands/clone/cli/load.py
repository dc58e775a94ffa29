"""Options that `simulate` and `sweep` share, and their parsing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hindmost.cli.options import LOAD, PROCEDURE, integer_option, option, switch
from hindmost.errors import UsageError

Requests = Annotated[int, integer_option(PROCEDURE, "Requests to count, after a warm-up of a tenth as many.")]
Seed = Annotated[int, integer_option(PROCEDURE, "Random seed.")]
ArrivalsOf = Annotated[
    str,
    option(
        LOAD, "LAW", "Distribution of the gaps between requests, for example deterministic or gamma:shape=2."
    ),
]
Backlog = Annotated[
    bool,
    switch(LOAD, "Allow a rate above the capacity, at which the queue grows without bound.", "--backlog"),
]


def need_folder(name: str, file: Path) -> None:
    """Refuse an output file whose folder does not exist."""
    folder = file.absolute().parent
    if not folder.is_dir():
        raise UsageError(
            "no-such-file",
            f"{name} {file}: there is no folder {file.parent}",
            hint=f"mkdir -p {file.parent}",
            option=name,
            path=str(file.parent),
        )
