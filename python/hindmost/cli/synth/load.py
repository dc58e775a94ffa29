"""Options that `simulate` and `sweep` share, and how they are read."""

from __future__ import annotations

from typing import Annotated, Literal

from hindmost.cli.options import LOAD, PROCEDURE, option, switch, whole
from hindmost.errors import UsageError

Requests = Annotated[int, whole(PROCEDURE, "Requests that count; a tenth as many before them do not.")]
Seed = Annotated[int, whole(PROCEDURE, "Seed of all random numbers.")]
ArrivalsOf = Annotated[
    Literal["exponential", "deterministic"], option(LOAD, None, "Gaps between requests: random, or even.")
]
Backlog = Annotated[
    bool, switch(LOAD, "Take a rate above the capacity: the queue then grows all the time.", "--backlog")
]
MOST_SEED = 1 << 63


def check_counts(requests: int, seed: int) -> None:
    """Refuse numbers of requests and seeds that cannot be meant.

    Raises
    ------
    UsageError
        With the value.
    """
    if not 1 <= requests <= 10_000_000_000:
        raise UsageError(
            f"--requests {requests} is not between 1 and 10,000,000,000", hint="--requests 1000000"
        )
    if not 0 <= seed < MOST_SEED:
        raise UsageError(f"--seed {seed} is not between 0 and 2^63", hint="--seed 1")
