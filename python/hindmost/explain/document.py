"""The document of ``hindmost explain`` (``hindmost.explain/1``): where the tail comes from, what reduces it.

JSON, terminal, page and Markdown are made of it. Null is infinitely late, or not known.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from hindmost.store.types import Note

Verdict = Literal["gain", "no-gain", "undecided"]
Risk = Literal["low", "medium", "high"]
Outcome = Literal["not tried", "dropped", "in combination", "confirmed", "refuted", "undecided"]


class Ratio(msgspec.Struct, frozen=True):
    """A figure with a change over the figure without it; the ends are null where too few pairs were made."""

    value: float
    low: float | None
    high: float | None


class Part(msgspec.Struct, frozen=True):
    """One part of a request's path.

    ``of_variance``: its share of the variance of latency; ``of_slowest``: its share of the time of the
    slowest 1 % of requests in the server's host, without the client.
    """

    name: str
    of_variance: float | None
    of_slowest: float | None


class Culprit(msgspec.Struct, frozen=True):
    """Who held requests up, with the evidence.

    ``kind``: client, thread, process, interrupt, kernel work, timer, idle CPU, delayed ACK, upstream or
    page faults. ``mean_us``: by request, of all requests.
    """

    name: str
    kind: str
    process: int | None
    requests: int
    mean_us: float
    of_variance: float | None
    of_slowest: float | None
    causes: tuple[str, ...]


class Candidate(msgspec.Struct, frozen=True):
    """A change that could help: a setting as ``compare --set`` takes it, and its level.

    ``predicted``: the ratio of the tail that is left if the change removes what it acts on.
    """

    what: dict[str, Any]
    level: str
    reason: str
    predicted: float
    risk: Risk

    @property
    def label(self) -> str:
        """The setting and its level as people read them."""
        key, value = next(iter(self.what.items()))
        if key == "argument" and self.level == "on":
            return str(value)
        bare = key in ("option", "knob", "client")
        name = key if value is True else str(value) if bare else f"{key} {value}"
        return f"{name}={self.level}"


class Trial(msgspec.Struct, frozen=True):
    """A candidate and what became of it; ``seconds``: the time that its runs took."""

    candidate: Candidate
    label: str
    outcome: Outcome
    pairs: int
    ratio: Ratio | None
    seconds: float


class Side(msgspec.Struct, frozen=True):
    """Latency of all fresh runs of one side, and its curve; ``rate_per_s``: replies a second."""

    latency_us: dict[str, float | None]
    rate_per_s: float
    curve: dict[str, list[float | None]]


class Confirmation(msgspec.Struct, frozen=True):
    """Fresh pairs of runs with the chosen changes and without.

    ``ratios``: of percentiles, the mean and ``throughput``. Their intervals hold at every look together.
    """

    labels: tuple[str, ...]
    pairs: int
    confidence: float
    ratios: dict[str, Ratio]
    before: Side
    after: Side
    seconds: float


class Resolution(msgspec.Struct, frozen=True):
    """What the budget can decide on this host.

    ``scatter``: standard deviation of the logarithm of a pair's ratio. ``decides``: the ratio (below 1) that
    this budget finds in 80 of 100 studies; ``budget_s``: the budget that finds 10 %, or where the scatter is
    not known, the one that has room for the fewest pairs that can decide. ``budget_seen_s``: the budget that
    finds the ratio of the fresh pairs, where that is a gain of more than 5 % and not decided.
    """

    run_s: float
    scatter: float | None
    decides: float | None
    budget_s: float | None
    budget_seen_s: float | None


class Explanation(msgspec.Struct, frozen=True):
    """The answer.

    ``verdict``: ``gain`` where fresh runs confirm a lower figure, ``no-gain`` where they exclude a gain of
    more than the margin, else ``undecided``. ``answer``: five sentences. ``cannot``: what was left out here,
    and why. ``own_code``: the share of the variance that arises while the server works on the request itself.
    """

    schema: str
    version: str
    created: str
    verdict: Verdict
    headline: str
    answer: tuple[str, ...]
    study: str
    target: str
    rate_per_s: float | None
    by: str
    budget_s: float
    spent_s: float
    host: str
    cannot: tuple[Note, ...]
    parts: tuple[Part, ...]
    culprits: tuple[Culprit, ...]
    own_code: float | None
    trials: tuple[Trial, ...]
    confirmation: Confirmation | None
    resolution: Resolution
    applied: tuple[str, ...]
    undo: str | None


SCHEMA = "hindmost.explain/1"
