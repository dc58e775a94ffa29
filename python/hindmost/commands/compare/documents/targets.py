"""The document of ``hindmost compare`` (``hindmost.compare/2``): its types, the source of its JSON Schema.

- The first of ``sides`` is the reference of the others; a *ratio* is theirs over the reference.
- ``"inf"`` is infinitely late, null unknown: an interval's ends if there are too few runs for one.
"""

from typing import Literal

from hindmost.core.store.estimates import Value
from hindmost.core.store.measure.figures import Curve
from hindmost.core.store.types import (
    Count,
    Document,
    Label,
    Microseconds,
    Note,
    Number,
    Reason,
    Share,
    Target,
    Verdict,
)

Word = Literal["same", "slower", "faster", "undecided"]
Outcome = Literal["same", "different", "undecided", "invalid"]
Result = Literal["held", "crossed", "undecided"]


class Ratio(Document):
    """The second over the first; ``within_low`` and ``within_high``: the 90 % interval."""

    value: Number
    low: Number
    high: Number
    within_low: Number
    within_high: Number


class Contrast(Document):
    """One percentile of a side compared with the first side's.

    ``p`` from relabelling runs (pairs: flipping signs), ``p_textbook`` Mann and Whitney's (pairs:
    Wilcoxon's), ``adjusted``: `p` for all percentiles, sides and looks together. ``more``: approximate
    additional runs per side that would decide it; null if no feasible number would. ``why``: what prevents a
    conclusion.
    """

    ratio: Ratio
    difference_us: Value
    p: Share | None
    p_textbook: Share | None
    adjusted: Share | None
    word: Word
    more: Count | None
    why: Note | None


class Side(Document):
    """One side of a comparison.

    ``label``: its unique name here; ``folder``: of its study. ``values_us``: by percentile, one figure per
    run that counts, in the order of ``runs``, their numbers; ``isolated_values_us``: for the runs with
    isolated latency; latency stands for it in undisturbed runs without it. ``verdict``: of its measurement.
    """

    label: str
    folder: str
    study: str
    target: Target
    rate_per_s: float | None
    created: str
    version: str
    verdict: Verdict
    runs: list[Count]
    made: Count
    latency_us: dict[Label, Value]
    isolated_us: dict[Label, Value]
    values_us: dict[Label, list[Microseconds]]
    isolated_values_us: dict[Label, list[Microseconds]]
    distribution: Curve


class Against(Document):
    """A side compared with the first.

    ``pairs``: rounds that count for what the comparison was decided on, null if runs are not paired.
    """

    side: str
    runs: tuple[Count, Count]
    pairs: Count | None
    decided_on: Literal["isolated", "latency"]
    verdict: Outcome
    text: str
    latency: dict[Label, Contrast]
    isolated: dict[Label, Contrast]


class Unlike(Document):
    """A difference between sides: its ``key`` in plan, host or target; ``values`` in the order of sides."""

    key: str
    what: str
    values: list[str]
    grave: bool


class Limit(Document):
    """The result of a ``--fail-if`` limit for one side.

    ``crossed``: the whole interval is beyond the limit; ``held``: none of it is.
    """

    text: str
    side: str
    figure: str
    value: Number
    low: Number
    high: Number
    unit: Literal["share", "us"]
    result: Result
    said: str


class Comparison(Document):
    """Whether servers, settings or versions are equally fast, percentile by percentile.

    ``looks``: numbers of rounds at which a live comparison may end; ``look_error``: the error that this look
    may make, so that all looks together make at most 1 - ``confidence``. ``left_out``: excluded rounds
    (``values.round``), and why; ``unlike``: the gravest first.
    """

    schema: Literal["hindmost.compare/2"]
    version: str
    created: str
    how: Literal["stored", "live"]
    study: str | None
    margin: Share
    confidence: Share
    looks: list[Count]
    look_error: Share
    verdict: Outcome
    headline: str
    reasons: list[Reason]
    sides: list[Side]
    against: list[Against]
    unlike: list[Unlike]
    left_out: list[Note]
    limits: list[Limit]
