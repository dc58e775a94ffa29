"""The document of a rate search (``hindmost.search/1``): its types, the source of its JSON Schema."""

from typing import Any, Literal, NotRequired, TypedDict

from hindmost.core.store.types import Count, Microseconds, Number, Share


class SearchStep(TypedDict):
    """One tried rate; ``study`` is its folder within the search's.

    ``unmet``: the client could not produce the rate, or the server died; ``spoiled``: interference in too
    many runs. A latency is null if ``runs`` is 0. ``left_out``: runs excluded for interference; ``error``:
    relative standard error of the figure; ``at_most_per_s``: the reply rate of a saturated server; ``above``:
    runs that count and lie above a limit. Value and interval (90 %) are of the median over runs. ``code`` and
    ``values``: of ``why``.
    """

    rate_per_s: float
    outcome: Literal["holds", "fails", "undecided", "unmet", "spoiled"]
    value_us: Microseconds
    low_us: Microseconds
    high_us: Microseconds
    runs: Count
    achieved_per_s: float | None
    why: str
    study: str
    left_out: Count
    error: float
    at_most_per_s: float | None
    above: NotRequired[Count]
    code: NotRequired[str]
    values: NotRequired[dict[str, Any]]


class Search(TypedDict):
    """The result of a search for the highest rate under an objective.

    ``rate_per_s`` is the highest rate that held (null: none did), ``not_at_per_s`` the lowest above it that
    did not or was undecided. The highest sustainable rate lies between ``low_per_s`` and ``high_per_s`` with
    this ``confidence`` (null, or ``"inf"``: beyond the searched rates). ``steps`` are in the order of the
    search.
    """

    schema: Literal["hindmost.search/1"]
    created: str
    objective: str
    finished: bool
    headline: str
    rate_per_s: float | None
    not_at_per_s: float | None
    low_per_s: Number
    high_per_s: Number
    confidence: Share
    steps: list[SearchStep]
