"""The document of ``hindmost measure``, ``result.json``: its types and its JSON Schema.

The document is a plain ``dict`` from end to end: ``json.loads`` returns it, and the page and the terminal
table read it. The classes here are its types for the checker and the source of its JSON Schema. They cost
nothing at run time.

Rules for the whole document:

- Times named ``*_us`` are microseconds, ``*_s`` seconds, ``*_share`` fractions of 1; ``started`` and
  ``created`` are ISO 8601 in UTC.
- ``"inf"`` is *infinitely late*: unsent or timed-out requests reach that quantile. ``null`` is unknown, such
  as ``low`` and ``high`` of a single run. What was not measured has no key.
- Quantiles are labelled by their percentile, ``p50``, ``p99.9``; ``mean`` is listed with them.
- ``scheduled = completed + errors + timeouts + unsent``; ``misses`` are part of ``completed``. ``codes``
  (HTTP) add up to ``completed`` and ``errors``, minus errors without a whole reply.
- ``connect_us`` exists if every run made connections in its measurement; if ``connections`` are ``by_turns``,
  ``latency_us`` and ``service_us`` include it.
- ``held_us`` exists if requests waited for batches (``batches``): a part of ``latency_us``, by design.
  ``send_delay_us`` is their lateness beyond it.
"""

from typing import Any, Literal, NotRequired, TypedDict

from hindmost.core.store.manifest import Host, Plan
from hindmost.core.store.measure.batches import Batches
from hindmost.core.store.measure.connections import Code, Connections, Endpoint
from hindmost.core.store.measure.figures import (
    Distributions,
    Estimates,
    RunCurve,
    Saturation,
    Throughput,
    Values,
)
from hindmost.core.store.measure.fleet import Fleet
from hindmost.core.store.measure.instrument import Instrument
from hindmost.core.store.measure.isolated import Isolated
from hindmost.core.store.measure.limits import Limit
from hindmost.core.store.measure.proof import Capture
from hindmost.core.store.measure.runs import ExcludedRuns, Outstanding, OverRuns, Run, Series, Stopping
from hindmost.core.store.types import (
    Cause,
    Count,
    Counts,
    Label,
    Level,
    Microseconds,
    Number,
    Reason,
    Share,
    Target,
    Verdict,
)


class Kind(TypedDict):
    """One kind of request, such as ``get``; ``codes``: HTTP status codes, as for all kinds together."""

    latency_us: Estimates
    counts: Counts
    codes: NotRequired[dict[str, Code]]


class Variance(TypedDict):
    """Spread of a quantile within a run and between runs; ``between_share`` is of the total variance."""

    between_runs_sd_us: Number
    within_run_sd_us: Number
    between_share: Share | None


class Hysteresis(TypedDict):
    """Whether a restarted server settles elsewhere (paper, II-D), by a test on ``quantile``, and why."""

    visible: bool | None
    code: NotRequired[str]
    text: str
    values: NotRequired[dict[str, Any]]
    quantile: NotRequired[Label]
    p: NotRequired[Number]


class SharesAt(TypedDict):
    """Each client's share of the samples around quantile ``q``."""

    q: Level
    shares: list[Share]


class Clients(TypedDict):
    """Decomposition of the merged distribution by client (paper, Figure 2)."""

    count: Count
    pacing: Literal["spin", "sleep"]
    threshold_us: Microseconds
    share_of_slowest: list[Share]
    share_of_all: list[Share]
    owner: int | None
    by_quantile: list[SharesAt]


class Measure(TypedDict):
    """The result of ``hindmost measure``."""

    schema: Literal["hindmost.measure/2"]
    version: str
    created: str
    verdict: Verdict
    decided_on: NotRequired[Literal["latency", "isolated"]]
    headline: str
    reasons: list[Reason]
    causes: NotRequired[list[Cause]]
    study: str
    seconds_total: float
    target: Target
    plan: Plan
    latency_us: Estimates
    limits: NotRequired[list[Limit]]
    isolated: NotRequired[Isolated | None]
    service_us: Estimates
    send_delay_us: Estimates
    connect_us: NotRequired[Estimates | None]
    handshake_us: NotRequired[Estimates | None]
    held_us: NotRequired[Estimates | None]
    ideal_send_delay_us: NotRequired[Estimates | None]
    wire_us: Estimates | None
    overhead_us: NotRequired[Estimates | None]
    capture: NotRequired[Capture]
    merged_us: Values
    over_runs: NotRequired[OverRuns]
    by_kind: dict[str, Kind]
    throughput: Throughput
    saturation: NotRequired[Saturation | None]
    counts: Counts
    codes: NotRequired[dict[str, Code]]
    connections: NotRequired[Connections | None]
    batches: NotRequired[Batches | None]
    endpoints: NotRequired[list[Endpoint]]
    runs: list[Run]
    excluded: NotRequired[ExcludedRuns]
    variance: dict[Label, Variance]
    hysteresis: Hysteresis
    clients: Clients
    fleet: NotRequired[Fleet]
    stopping: Stopping
    instrument: NotRequired[Instrument]
    distributions: Distributions
    per_run_curves: list[RunCurve]
    outstanding: Outstanding | None
    series: list[Series]
    host: Host
