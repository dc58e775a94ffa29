"""Calm latency: what the server would do on processors of its own, thefts taken as censoring."""

from typing import Any, NotRequired, TypedDict

from hindmost.store.estimates import Value
from hindmost.store.measure.figures import Estimates
from hindmost.store.types import Count, Label, Number, Share, Verdict


class CalmRefusal(TypedDict):
    """Why there is no isolated latency: what prevents it, and what would be ``need``ed instead."""

    code: str
    text: str
    need: str
    values: NotRequired[dict[str, Any]]


class RunCalm(TypedDict):
    """What a run says of its server on processors of its own, thefts taken as censoring.

    ``calm_us``: empty where it is ``refused``; ``low`` and ``high`` null where the run is too short for an
    interval. ``taken_share`` of the measurement, in so many ``thefts``; ``counted_share`` of the requests;
    ``seen_us``: the smallest theft that was sure to be seen, by ``sources``. ``unsettled``: quantiles that
    change, beyond chance, where one waits twice as long after each theft.
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
    """Calm latency over runs, next to latency and never instead of it.

    ``latency_us`` as that of the measurement, over the ``runs`` of ``of`` that have calm figures; empty where
    it is ``refused`` for all of them. ``taken_share``, ``counted_share``: means over these runs; ``thefts``
    in all; ``seen_us``: the smallest theft that was sure to be seen, by ``sources``. ``unsettled``:
    quantiles that change, beyond chance, where one waits twice as long after each theft. ``verdict``: without
    what thefts did to the latency itself.
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
