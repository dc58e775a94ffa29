"""The document of ``hindmost compare --set`` (``hindmost.trial/1``): types, source of its JSON Schema.

- ``levels``: the present state first; ratios compare with it, run by run of the same rounds: below 1 is
  faster.
- ``"inf"`` is infinitely late, null unknown.
"""

from typing import Any, Literal

import msgspec

from hindmost.core.store.estimates import Value
from hindmost.core.store.measure.figures import Curve
from hindmost.core.store.types import Count, Document, Label, Note, Number


class Span(Document):
    """A ratio and its interval."""

    value: float
    low: Number
    high: Number


class Change(Document):
    """A figure compared with the present state's."""

    change: Literal["lower", "higher", "no change seen", "undecided"]
    ratio: Span


class Level(Document):
    """One level and its figures.

    ``latency_us``, ``values_us``: by figure, the summary over rounds and the value of each; ``sd`` is the
    standard deviation within a run.
    """

    level: str
    folder: str
    latency_us: dict[str, Value]
    values_us: dict[str, list[Number]]
    distribution: Curve
    against: dict[str, Change]


class Stage(Document):
    """Levels, by index, with runs in the same rounds; ``rounds``: those that count."""

    levels: list[Count]
    rounds: Count


class Trial(Document):
    """The result of ``hindmost compare --set``.

    ``isolated``: percentiles that are of isolated latency, in all levels.

    ``verdict``: ``set`` if a level is significantly lower than the present one; ``leave`` if every other
    level is shown to lower the figure by less than 5 %, if at all. ``best``: index of the level with the
    lowest figure; ``keep``: the same if it is significantly lower than the present one. ``aside``: excluded
    rounds, and why. ``comparisons``: how often a level was compared with the present state; the intervals of
    their ratios hold simultaneously, at 95 %. ``stages``: first all requested levels, then those around the
    best.
    """

    schema: Literal["hindmost.trial/1"]
    version: str
    created: str
    verdict: Literal["set", "leave", "undecided"]
    headline: str
    study: str
    target: str
    rate_per_s: Number
    knob: dict[str, Any]
    by: Label
    rounds: Count
    aside: dict[str, Note]
    levels: list[Level]
    best: Count | None
    keep: Count | None
    comparisons: Count
    stages: list[Stage]
    isolated: list[Label] = msgspec.field(default_factory=list)
