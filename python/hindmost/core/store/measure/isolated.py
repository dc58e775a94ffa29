"""Isolated latency: what the server would do with its CPUs to itself, with interruptions as censoring."""

from typing import Any

from msgspec import UNSET, UnsetType

from hindmost.core.store.estimates import Value
from hindmost.core.store.measure.figures import Estimates
from hindmost.core.store.types import Count, Document, Label, Number, Share, Verdict


class IsolatedRefusal(Document):
    """Why there is no isolated latency: the obstacle, and what it would ``need``."""

    code: str
    text: str
    need: str
    values: dict[str, Any] | UnsetType = UNSET


class RunIsolated(Document):
    """Isolated latency of one run, with interruptions as censoring.

    ``isolated_us``: empty if ``refused``; ``low`` and ``high`` null if the run is too short for an interval.
    ``interference_share``: interference as a share of the measurement, in ``interruptions`` interruptions;
    ``counted_share``: share of requests that count; ``seen_us``: shortest interruption that ``sources``
    always see. ``unsettled``: quantiles that differ significantly from the estimate with twice the wait after
    each interruption.
    """

    isolated_us: dict[Label, Value]
    unsettled: list[Label]
    interference_share: Share | None
    counted_share: Share | None
    interruptions: Count
    spells: Count
    seen_us: Number
    sources: list[str]
    refused: IsolatedRefusal | None


class Isolated(Document):
    """Isolated latency over runs, shown next to latency, never instead of it.

    ``latency_us``: as the measurement's, over the ``runs`` of ``of`` that have isolated latency; empty if it
    is ``refused`` for all of them. ``interference_share``, ``counted_share``: means over these runs;
    ``interruptions``: number of interruptions in all; ``seen_us``: shortest interruption that ``sources``
    always see. ``unsettled``: quantiles that differ significantly from the estimate with twice the wait
    after each interruption. ``verdict``: without the effects of interference on latency.
    """

    latency_us: Estimates
    verdict: Verdict
    runs: Count
    of: Count
    interference_share: Share | None
    counted_share: Share | None
    interruptions: Count
    seen_us: Number
    sources: list[str]
    unsettled: list[Label]
    refused: IsolatedRefusal | None
