"""What ``hindmost compare`` writes (``hindmost.compare/1``): its types, the source of its JSON Schema.

- The first of ``sides`` is what the others are compared with; a *ratio* is theirs over its.
- ``"inf"`` is infinitely late, null not known: an interval's ends where the runs are too few for one.

History of the format: ``hindmost.compare/1`` (0.1.0), the first.
"""

from typing import Literal, TypedDict

from hindmost.store.estimates import Value
from hindmost.store.measure.figures import Curve
from hindmost.store.types import Count, Label, Microseconds, Note, Number, Reason, Share, Target, Verdict

Word = Literal["same", "slower", "faster", "undecided"]
Outcome = Literal["same", "different", "undecided", "invalid"]


class Ratio(TypedDict):
    """The second over the first; ``within_low`` and ``within_high``: the 90 % interval."""

    value: Number
    low: Number
    high: Number
    within_low: Number
    within_high: Number


class Contrast(TypedDict):
    """One percentile of a side next to that of the first.

    ``p`` by relabelling runs (pairs: flipping signs), ``p_twin`` Mann and Whitney's (pairs: Wilcoxon's),
    ``adjusted``: `p` for all percentiles and sides together. ``more``: about so many more runs a side would
    decide it; null where no number in reach would. ``why``: what prevents any word.
    """

    ratio: Ratio
    difference_us: Value
    p: Share | None
    p_twin: Share | None
    adjusted: Share | None
    word: Word
    more: Count | None
    why: Note | None


class Side(TypedDict):
    """One of those that are compared.

    ``label``: its name here, which no other has; ``folder``: of its study. ``values_us``: by percentile one
    figure a run that counts, in the order of ``runs``, their numbers; ``calm_values_us`` of those runs that
    calm latency is known of. ``verdict`` is that of its measurement.
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
    calm_us: dict[Label, Value]
    values_us: dict[Label, list[Microseconds]]
    calm_values_us: dict[Label, list[Microseconds]]
    distribution: Curve


class Against(TypedDict):
    """A side next to the first. ``pairs``: rounds that count, null where runs are not paired."""

    side: str
    runs: tuple[Count, Count]
    pairs: Count | None
    verdict: Outcome
    text: str
    latency: dict[Label, Contrast]
    calm: dict[Label, Contrast]


class Unlike(TypedDict):
    """A difference between sides: its ``key`` in plan, host or target; ``values`` in the order of sides."""

    key: str
    what: str
    values: list[str]
    grave: bool


class Limit(TypedDict):
    """What ``--fail-if`` asked of a side.

    ``crossed``: beyond the limit by the nearer edge of the interval; ``held``: not, by the further one.
    """

    text: str
    side: str
    figure: str
    value: Number
    low: Number
    high: Number
    unit: Literal["share", "us"]
    result: Literal["held", "crossed", "undecided"]
    said: str


class Comparison(TypedDict):
    """Whether servers, settings or versions are equally fast, percentile by percentile.

    ``left_out``: excluded rounds (``values.round``), and why; ``unlike``: the gravest first.
    """

    schema: Literal["hindmost.compare/1"]
    version: str
    created: str
    how: Literal["stored", "live"]
    study: str | None
    margin: Share
    confidence: Share
    verdict: Outcome
    headline: str
    reasons: list[Reason]
    sides: list[Side]
    against: list[Against]
    unlike: list[Unlike]
    left_out: list[Note]
    limits: list[Limit]
