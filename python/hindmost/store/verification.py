"""What a verification writes (``hindmost.verification/1``): its types, the source of its JSON Schema.

History of the format: ``hindmost.verification/1`` (0.1.0) first version.
"""

from typing import Literal, TypedDict

from hindmost.store.estimates import Value
from hindmost.store.predictions import Interval
from hindmost.store.types import Count, Note, Number, Share

Outcome = Literal["equivalent", "different", "open"]


class Ratio(TypedDict):
    """Ratio of paired runs: geometric mean, its interval (null for one pair), what follows.

    The interval lies within ``1 - margin .. 1 + margin`` (equivalent), outside of it (different), or neither.
    """

    ratio: float
    low: Number
    high: Number
    margin: float
    pairs: Count
    outcome: Outcome


class Figure(TypedDict):
    """One figure of the latency at one load.

    ``clone``: clone over both runs of the original, the effect of the clone's own draws taken out (a control
    variate). ``as_logged``: the same, the cost effect of the original taken out, too: its requests cost more
    or less CPU time than when they were logged (null where that is not known). ``floor``: the original, with
    other requests of the same kind, over itself. Null where a run was infinitely late.
    ``predicted_us``: the simulator's, with ``outside_us`` of the document.
    """

    original_us: Value
    clone_us: Value
    predicted_us: Interval
    clone: Ratio | None
    as_logged: Ratio | None
    floor: Ratio | None


class VerifiedPoint(TypedDict):
    """One load, as a share of the clone's capacity; ``requests`` are the original's, in ``pairs`` pairs.

    ``left_out``: excluded pairs, in which a run was disturbed; ``why``: the most common reason.
    ``cost``: CPU time a request of the original, over that when it was logged.
    """

    load: Share
    rate_per_s: float
    requests: Count
    pairs: Count
    left_out: Count
    why: Note | None
    cost: Ratio | None
    figures: dict[str, Figure]


class PredictedPoint(TypedDict):
    """What the simulator says at one load."""

    load: Share
    rate_per_s: float
    latency_us: dict[str, Interval]


class Verification(TypedDict):
    """Whether a clone is as slow as its original, load by load.

    ``confidence`` is that of the ratios' intervals; ``margins`` are relative. ``curve`` is the simulator's.
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
