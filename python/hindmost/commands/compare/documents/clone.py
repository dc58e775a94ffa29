"""The document of a verification (``hindmost.verification/1``): its types, the source of its JSON Schema."""

from typing import Literal

from hindmost.commands.clone.documents.predictions import Interval
from hindmost.core.store.estimates import Value
from hindmost.core.store.types import Count, Document, Note, Number, Share

Outcome = Literal["equivalent", "different", "open"]


class Ratio(Document):
    """Ratio of paired runs: geometric mean, its interval (null for one pair), and the conclusion.

    The interval lies within ``1 - margin .. 1 + margin`` (equivalent), outside of it (different), or neither.
    """

    ratio: float
    low: Number
    high: Number
    margin: float
    pairs: Count
    outcome: Outcome


class Figure(Document):
    """One figure of the latency at one load.

    ``clone``: clone over both runs of the original, with the effect of the clone's own random draws removed
    (a control variate). ``as_logged``: the same with the cost effect of the original removed, too: its
    requests cost more or less CPU time than when they were logged (null if that is unknown). ``floor``: the
    original, with other requests of the same kind, over itself. Null if a run was infinitely late.
    ``predicted_us``: the simulator's, with the document's ``outside_us``.
    """

    original_us: Value
    clone_us: Value
    predicted_us: Interval
    clone: Ratio | None
    as_logged: Ratio | None
    floor: Ratio | None


class VerifiedPoint(Document):
    """One load, as a share of the clone's capacity; ``requests`` are the original's, in ``pairs`` pairs.

    ``left_out``: pairs excluded for interference in a run; ``why``: the most common reason. ``cost``: CPU
    time of a request of the original, over that when it was logged.
    """

    load: Share
    rate_per_s: float
    requests: Count
    pairs: Count
    left_out: Count
    why: Note | None
    cost: Ratio | None
    figures: dict[str, Figure]


class PredictedPoint(Document):
    """The simulator's prediction at one load."""

    load: Share
    rate_per_s: float
    latency_us: dict[str, Interval]


class Verification(Document):
    """Whether a clone is as slow as its original, load by load.

    ``confidence``: of the ratios' intervals; ``margins`` are relative. ``curve``: the simulator's.
    """

    schema: Literal["hindmost.verification/1"]
    version: str
    created: str
    study: str
    original: str
    clone: str
    threads: Count
    capacity_per_s: float
    duration_s: float
    confidence: Share
    margins: dict[str, float]
    verdict: Outcome
    points: list[VerifiedPoint]
    curve: list[PredictedPoint]
