"""The document of ``hindmost compare --batch`` (``hindmost.batching/1``): types, source of its schema.

- A *side* is one batching mode at one rate; ``rates`` has the sides by rate.
- ``"inf"`` is infinitely late, null unknown.
- Ratios compare with Nagle's algorithm and with no batching, run by run of the same rounds: below 1 is
  faster.
"""

from typing import Literal

import msgspec

from hindmost.commands.compare.documents.targets import Ratio, Word
from hindmost.core.store.estimates import Value
from hindmost.core.store.measure.batches import Sizes
from hindmost.core.store.measure.figures import Curve
from hindmost.core.store.types import Count, Document, Label, Note, Number, Target


class Against(Document):
    """The ratio of a figure to another side's, and the conclusion."""

    ratio: Ratio
    word: Word


class BatchingSide(Document):
    """One batching mode at one rate.

    ``batching``: none, nagle, or an interval in seconds. ``latency_us``, ``values_us``: by figure, the
    summary over rounds and the value of each; ``sd`` is the standard deviation within a run. ``service_cv``,
    ``size_cv``: coefficient of variation of service latency and of requests per write call. ``against``: by
    the name of the other side, by figure.
    """

    batching: Literal["none", "nagle"] | float
    folder: str
    rounds: list[Count]
    latency_us: dict[str, Value]
    values_us: dict[str, list[Number]]
    distribution: Curve
    requests_per_write: Number
    requests_per_segment: Number
    size_cv: Number
    service_cv: Value
    against: dict[Literal["none", "nagle"], dict[str, Against]]
    sizes: Sizes


class BatchingRate(Document):
    """All sides at one rate; ``best``: index of the fastest; ``not_told``: indexes of sides as fast as it."""

    rate_per_s: float
    sides: list[BatchingSide]
    best: Count | None
    best_interval: Count | None
    not_told: list[Count]


class Batching(Document):
    """The result of ``hindmost compare --batch``.

    ``isolated``: percentiles that are of isolated latency, in all modes. ``aside``: excluded rounds, and why;
    ``least_rounds``: rounds needed at least to separate the modes.
    """

    schema: Literal["hindmost.batching/1"]
    version: str
    created: str
    headline: str
    study: str
    target: Target
    connections: Count
    by: Label
    margin: float
    rounds: Count
    least_rounds: Count
    aside: dict[str, Note]
    rates: list[BatchingRate]
    isolated: list[Label] = msgspec.field(default_factory=list)
