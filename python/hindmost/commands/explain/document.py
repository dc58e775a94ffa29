"""The document of ``hindmost explain`` (``hindmost.explain/1``): the tail's origin, and what reduces it.

JSON, terminal, page and Markdown are rendered from it. Null means infinitely late, or unknown.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from hindmost.core.store.measure import Curve
from hindmost.core.store.types import Note
from hindmost.core.tracing.document import Profile

Verdict = Literal["gain", "no-gain", "undecided"]
Risk = Literal["low", "medium", "high"]
Outcome = Literal[
    "not tried", "dropped", "in combination", "confirmed", "not confirmed", "refuted", "undecided"
]


class Ratio(msgspec.Struct, frozen=True):
    """A figure with a change divided by the figure without it; the bounds are null with too few pairs."""

    value: float
    low: float | None
    high: float | None


class Part(msgspec.Struct, frozen=True):
    """One part of a request's path.

    ``of_variance``: its share of the variance of latency. ``of_slowest``: its share of the time that the
    slowest 1 % of requests spend on the server's host, without the client.
    """

    name: str
    of_variance: float | None
    of_slowest: float | None


class Culprit(msgspec.Struct, frozen=True):
    """A thread, process or other cause that delayed requests, with the evidence.

    ``kind``: client, thread, process, interrupt, kernel work, timer, idle CPU, delayed ACK, upstream or page
    faults. ``mean_us``: mean delay per request, over all requests.
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
    """A change that could help: a setting as for ``compare --set``, and its level.

    ``predicted``: ratio of the tail with the change to the tail without it, if it removes what it acts on.
    """

    what: dict[str, Any]
    level: str
    reason: str
    predicted: float
    risk: Risk

    @property
    def label(self) -> str:
        """The setting and its level, for people."""
        key, value = next(iter(self.what.items()))
        if key == "argument" and self.level == "on":
            return str(value)
        bare = key in ("option", "knob", "client")
        name = key if value is True else str(value) if bare else f"{key} {value}"
        return f"{name}={self.level}"


class Trial(msgspec.Struct, frozen=True):
    """The outcome of a candidate; ``seconds``: the duration of its runs in the first stage.

    ``not confirmed``: it looked best and did not help in half of the fresh pairs or more. ``refuted``: fresh
    pairs rule out a gain above the margin.
    """

    candidate: Candidate
    label: str
    outcome: Outcome
    pairs: int
    ratio: Ratio | None
    seconds: float


class Side(msgspec.Struct, frozen=True):
    """Latency of all fresh runs of one side, and its curve; ``rate_per_s``: replies per second."""

    latency_us: dict[str, float | None]
    rate_per_s: float
    curve: Curve


class Confirmation(msgspec.Struct, frozen=True):
    """Fresh pairs of runs with the changes chosen last and without.

    ``ratios``: of percentiles, the mean and ``throughput``. Their intervals hold simultaneously at every
    look.
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

    ``scatter``: standard deviation of the log ratio of a pair. ``decides``: the ratio (below 1) that this
    budget detects in 80 of 100 studies. ``budget_s``: the budget that detects 10 %; if the scatter is
    unknown, the smallest budget with enough pairs to decide. ``budget_seen_s``: the budget that detects the
    ratio of the fresh pairs, if that is an undecided gain of more than 5 %.
    """

    run_s: float
    scatter: float | None
    decides: float | None
    budget_s: float | None
    budget_seen_s: float | None


class Explanation(msgspec.Struct, frozen=True):
    """The answer of ``hindmost explain``.

    ``verdict``: ``gain`` if fresh runs confirm a lower figure, ``no-gain`` if they rule out a gain above the
    margin, else ``undecided``. ``answer``: five sentences. ``cannot``: what was left out on this host, and
    why. ``own_code``: the share of the variance that arises while the server works on the request itself.
    ``profile``: what the slowest requests executed, if the server's own work leads the tail.
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
    profile: Profile | None = None


SCHEMA = "hindmost.explain/1"
