"""The document of a rate search (``hindmost.search/1``): its types, the source of its JSON Schema."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from hindmost.core.store.types import Count, Document, Microseconds, Number, Share

Outcome = Literal["holds", "fails", "undecided", "unmet", "spoiled"]


class Step(Document):
    """One tried rate; ``study`` is its folder within the search's.

    ``unmet``: the client could not produce the rate, or the server died of it; ``spoiled``: interference in
    too many runs. A latency is null if ``runs`` is 0. ``left_out``: runs excluded for interference;
    ``error``: relative standard error of the judged figure; ``at_most_per_s``: the reply rate of a saturated
    server; ``above``: runs that count and lie above a limit. Value and interval (90 %) are of the median over
    runs. ``code`` and ``values``: of ``why``.
    """

    rate_per_s: float
    outcome: Outcome
    value_us: Microseconds
    low_us: Microseconds
    high_us: Microseconds
    runs: Count
    achieved_per_s: float | None
    why: str
    study: str
    left_out: Count = 0
    error: float = 0.0
    at_most_per_s: float | None = None
    above: Count = 0
    code: str = ""
    values: dict[str, Any] = msgspec.field(default_factory=dict)


class Search(Document):
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
    steps: tuple[Step, ...]

    @property
    def verdict(self) -> str:
        """``found``, or ``open`` if no rate met the objective or the search is unfinished."""
        return "found" if self.rate_per_s is not None and self.finished else "open"
