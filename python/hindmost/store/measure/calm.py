"""Isolated latency: what the server would do with its CPUs to itself, with interruptions as censoring."""

from typing import Any, NotRequired, TypedDict

from hindmost.store.estimates import Value
from hindmost.store.measure.figures import Estimates
from hindmost.store.types import Count, Label, Number, Share, Verdict


class CalmRefusal(TypedDict):
    """Why there is no isolated latency: the obstacle, and what it would ``need``."""

    code: str
    text: str
    need: str
    values: NotRequired[dict[str, Any]]


class RunCalm(TypedDict):
    """Isolated latency of one run, with interruptions as censoring.

    ``calm_us``: empty if ``refused``; ``low`` and ``high`` null if the run is too short for an interval.
    ``taken_share``: interference as a share of the measurement, in ``thefts`` interruptions;
    ``counted_share``: share of requests that count; ``seen_us``: shortest interruption that ``sources``
    always see. ``unsettled``: quantiles that differ significantly from the estimate with twice the wait after
    each interruption.
    """

    calm_us: dict[Label, Value]
    unsettled: list[Label]
    taken_share: Share | None
    counted_share: Share | None
    thefts: Count
    spells: Count
    seen_us: Number
    sources: list[str]
    refused: CalmRefusal | None


class Calm(TypedDict):
    """Isolated latency over runs, shown next to latency, never instead of it.

    ``latency_us``: as the measurement's, over the ``runs`` of ``of`` that have isolated latency; empty if it
    is ``refused`` for all of them. ``taken_share``, ``counted_share``: means over these runs; ``thefts``:
    number of interruptions in all; ``seen_us``: shortest interruption that ``sources`` always see.
    ``unsettled``: quantiles that differ significantly from the estimate with twice the wait after each
    interruption. ``verdict``: without the effects of interference on latency.
    """

    latency_us: Estimates
    verdict: Verdict
    runs: Count
    of: Count
    taken_share: Share | None
    counted_share: Share | None
    thefts: Count
    seen_us: Number
    sources: list[str]
    unsettled: list[Label]
    refused: CalmRefusal | None
