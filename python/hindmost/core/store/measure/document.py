"""The document of ``hindmost measure``, ``result.json``: its types and its JSON Schema.

Rules for the whole document:

- Times named ``*_us`` are microseconds, ``*_s`` seconds, ``*_share`` fractions of 1; ``started`` and
  ``created`` are ISO 8601 in UTC.
- ``"inf"`` is *infinitely late*: unsent or timed-out requests reach that quantile. ``null`` is unknown, such
  as ``low`` and ``high`` of a single run. What was not measured has no key.
- Quantiles are labelled by their percentile, ``p50``, ``p99.9``; ``mean`` is listed with them.
- ``scheduled = completed + errors + timeouts + unsent``; ``misses`` are part of ``completed``. ``codes``
  (HTTP) add up to ``completed`` and ``errors``, minus errors without a whole reply. A reply that fails a
  check of the workload is counted under ``check failed: CHECK``.
- ``connect_us`` exists if every run made connections in its measurement; if ``connections`` are ``by_turns``,
  ``latency_us`` and ``service_us`` include it.
- ``held_us`` exists if requests waited for batches (``batches``): a part of ``latency_us``, by design.
  ``send_delay_us`` is their lateness beyond it.
- ``messages``, ``first_message_us`` and ``message_gap_us`` exist with ``--stream``: the times from the
  scheduled time to the first message of a reply, and between consecutive messages of one reply.
- ``sessions`` and ``session_us`` exist if requests form sessions: the time from the scheduled time of a
  session's first request to its last reply, infinite for sessions that did not complete.
"""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

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
from hindmost.core.store.measure.messages import Messages
from hindmost.core.store.measure.proof import Capture
from hindmost.core.store.measure.runs import ExcludedRuns, Outstanding, OverRuns, Run, Series, Stopping
from hindmost.core.store.measure.sessions import Sessions
from hindmost.core.store.types import (
    Cause,
    Count,
    Counts,
    Document,
    Label,
    Level,
    Microseconds,
    Number,
    Reason,
    Share,
    Target,
    Verdict,
)


class Kind(Document):
    """One kind of request, such as ``get``; ``codes``: HTTP status codes, as for all kinds together."""

    latency_us: Estimates
    counts: Counts
    codes: dict[str, Code] | UnsetType = UNSET


class Variance(Document):
    """Spread of a quantile within a run and between runs; ``between_share`` is of the total variance."""

    between_runs_sd_us: Number
    within_run_sd_us: Number
    between_share: Share | None


class Hysteresis(Document):
    """Whether a restarted server settles elsewhere (paper, II-D), by a test on ``quantile``, and why."""

    visible: bool | None
    code: str | UnsetType = UNSET
    text: str
    values: dict[str, Any] | UnsetType = UNSET
    quantile: Label | UnsetType = UNSET
    p: Number | UnsetType = UNSET


class SharesAt(Document):
    """Each client's share of the samples around quantile ``q``."""

    q: Level
    shares: list[Share]


class Clients(Document):
    """Decomposition of the merged distribution by client (paper, Figure 2)."""

    count: Count
    pacing: Literal["spin", "sleep"]
    threshold_us: Microseconds
    share_of_slowest: list[Share]
    share_of_all: list[Share]
    owner: int | None
    by_quantile: list[SharesAt]


class Measure(Document):
    """The result of ``hindmost measure``."""

    schema: Literal["hindmost.measure/2"]
    version: str
    created: str
    verdict: Verdict
    decided_on: Literal["latency", "isolated"] = "latency"
    headline: str
    reasons: list[Reason]
    causes: list[Cause] | UnsetType = UNSET
    study: str
    seconds_total: float
    target: Target
    plan: Plan
    latency_us: Estimates
    limits: list[Limit] | UnsetType = UNSET
    isolated: Isolated | None = None
    service_us: Estimates
    send_delay_us: Estimates
    connect_us: Estimates | None = None
    handshake_us: Estimates | None = None
    held_us: Estimates | None = None
    first_message_us: Estimates | None = None
    message_gap_us: Estimates | None = None
    session_us: Estimates | None = None
    ideal_send_delay_us: Estimates | None = None
    wire_us: Estimates | None
    overhead_us: Estimates | None = None
    capture: Capture | UnsetType = UNSET
    merged_us: Values
    over_runs: OverRuns | UnsetType = UNSET
    by_kind: dict[str, Kind]
    throughput: Throughput
    saturation: Saturation | None = None
    counts: Counts
    codes: dict[str, Code] = msgspec.field(default_factory=dict)
    connections: Connections | None = None
    batches: Batches | None = None
    messages: Messages | None = None
    sessions: Sessions | None = None
    endpoints: list[Endpoint] = msgspec.field(default_factory=list)
    runs: list[Run]
    excluded: ExcludedRuns | UnsetType = UNSET
    variance: dict[Label, Variance]
    hysteresis: Hysteresis
    clients: Clients
    fleet: Fleet | UnsetType = UNSET
    stopping: Stopping
    instrument: Instrument | UnsetType = UNSET
    distributions: Distributions
    per_run_curves: list[RunCurve]
    outstanding: Outstanding | None
    series: list[Series]
    host: Host
