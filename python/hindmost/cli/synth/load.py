"""Options that `simulate` and `sweep` share, and how they are read."""

from __future__ import annotations

from typing import Annotated

from hindmost.cli.options import LOAD, PROCEDURE, option, switch, whole

Requests = Annotated[int, whole(PROCEDURE, "Requests that count; a tenth as many before them do not.")]
Seed = Annotated[int, whole(PROCEDURE, "Seed of all random numbers.")]
ArrivalsOf = Annotated[
    str,
    option(
        LOAD, "LAW", "Law of the gaps between requests, like deterministic or gamma:shape=2, as of measure."
    ),
]
Backlog = Annotated[
    bool, switch(LOAD, "Take a rate above the capacity: the queue then grows all the time.", "--backlog")
]
