"""Options that `simulate` and `sweep` share, and how they are read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hindmost.cli.options import LOAD, PROCEDURE, option, switch, whole
from hindmost.errors import UsageError

Requests = Annotated[int, whole(PROCEDURE, "Requests to count, after a tenth as many that are not counted.")]
Seed = Annotated[int, whole(PROCEDURE, "Random seed.")]
ArrivalsOf = Annotated[
    str,
    option(LOAD, "LAW", "Distribution of the gaps between requests, like deterministic or gamma:shape=2."),
]
Backlog = Annotated[
    bool, switch(LOAD, "Allow a rate above the capacity, where the queue grows without end.", "--backlog")
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
