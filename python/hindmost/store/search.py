"""What a search for a rate writes (``hindmost.search/1``): its types, the source of its JSON Schema.

History of the format: ``hindmost.search/1`` (0.1.0), the first.
"""

from typing import Any, Literal, NotRequired, TypedDict

from hindmost.store.types import Count, Microseconds, Number, Share


class SearchStep(TypedDict):
    """One rate that was tried; ``study`` is its folder within the search's.

    ``unmet``: the client could not produce the rate, or the server died of it; ``spoiled``: the host
    disturbed too many runs. A latency is null where ``runs`` is 0. ``left_out``: runs the host disturbed;
    ``error``: relative standard error of what was judged; ``at_most_per_s``: what a saturated server carried;
    ``above``: runs that count and lay above a limit, while value and interval (90 %) are those of the median
    over runs. ``code`` and ``values``: those of ``why``.
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
    """What a search for the highest rate under an objective found.

    ``rate_per_s`` is the highest rate that held (null: none did), ``not_at_per_s`` the lowest above it that
    did not, or was undecided. The highest rate that holds lies between ``low_per_s`` and ``high_per_s`` with
    this ``confidence`` (null, or ``"inf"``: beyond the rates that are searched); ``steps`` stand in the order
    in which they were made.
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
