"""Figures of one run by client and over time, and when the runs ended."""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from hindmost.core.store.engine import StampReport
from hindmost.core.store.measure.connections import Code, Connections
from hindmost.core.store.measure.figures import Estimates, Throughput, Values
from hindmost.core.store.measure.isolated import RunIsolated
from hindmost.core.store.types import (
    Count,
    Counts,
    Document,
    Label,
    Microseconds,
    Number,
    Reason,
    Share,
    Verdict,
)


class C2(Document):
    """Squared coefficient of variation of the gaps of one worker's part; ``error``: its standard error."""

    value: float
    requested: float
    error: float


class ScheduledGaps(Document):
    """Figures of the scheduled times, for processes without a known law of one worker's gaps.

    ``dispersion`` by span, as for the sends; ``c2`` is null if gaps are not independent.
    """

    dispersion: dict[str, Number]
    c2: C2 | None


class Arrivals(Document):
    """How the gaps between a client's sends differ from the requested law.

    ``distance`` is Kolmogorov's, with its 95 % interval; ``dispersion`` is the index of dispersion of counts
    by span (1 for a Poisson process, 0 for equal gaps), ``dispersion_error`` its standard error under the
    law.
    """

    gaps: Count
    distance: Share | None
    low: Share | None
    high: Share | None
    anderson_darling: Number
    dispersion: dict[str, Number]
    dispersion_error: dict[str, float]
    scheduled: ScheduledGaps | UnsetType = UNSET


class Alone(Document):
    """A quantile from one client in one run alone, with an interval valid under autocorrelation.

    ``low`` and ``high`` are null if the run is ``too_short`` for an interval; ``need``: how many times longer
    it should be.
    """

    value: Microseconds
    low: Microseconds
    high: Microseconds
    too_short: bool
    need: Number


class Client(Document):
    """One load-generating process in one run."""

    index: Count
    cpus: list[int]
    latency_us: Values
    service_us: Values
    send_delay_us: Values
    counts: Counts
    alone_us: dict[Label, Alone] = msgspec.field(default_factory=dict)
    arrivals: Arrivals | None = None
    stamps: StampReport | None = None
    busy_share: Number
    cpu_share: Number | UnsetType = UNSET
    run_delay_share: Number
    involuntary_switches: int | None
    warmup_s: Number
    steady: bool | None


class Run(Document):
    """All clients against one start of the server; ``excluded``: why it does not count."""

    run: int
    seed: int
    started: str
    seconds: float
    excluded: str | None = None
    verdict: Verdict
    reasons: list[Reason]
    latency_us: Values
    service_us: Values
    send_delay_us: Values
    connect_us: Values | None = None
    handshake_us: Values | None = None
    first_message_us: Values | None = None
    message_gap_us: Values | None = None
    session_us: Values | None = None
    throughput: Throughput
    counts: Counts
    codes: dict[str, Code] = msgspec.field(default_factory=dict)
    connections: Connections | None = None
    server_cpu_share: Number
    isolated: RunIsolated | None = None
    clients: list[Client]


class IntervalStep(Document):
    """The interval after ``runs`` runs that count; the last of them is ``run``."""

    runs: Count
    run: Count | UnsetType = UNSET
    value: Microseconds
    low: Microseconds
    high: Microseconds


class ExcludedRun(Document):
    """A run that does not count, and why; ``code`` and ``values``: of ``why``."""

    run: Count
    why: str
    code: str | UnsetType = UNSET
    values: dict[str, Any] | UnsetType = UNSET


class ExcludedRuns(Document):
    """Runs excluded because of interference, by clocks and counters alone.

    ``counted`` of ``made`` runs make the figures; if no run counts, all do, and the verdict says so.
    ``share``: repeats allowed, as a share of the requested runs.
    """

    share: float
    made: Count
    counted: Count
    runs: list[ExcludedRun]


class Stopping(Document):
    """When and why the runs ended."""

    rule: str
    precision: float
    reached: bool
    quantile: Label
    runs: Count
    path: dict[Label, list[IntervalStep]]


class Off(Document):
    """Outlying runs at a quantile: their numbers, their share with its interval, in words."""

    runs: list[Count]
    share: Share
    low: Share
    high: Share
    text: str


class OverRuns(Document):
    """What intervals over runs are ``about``, and the alternative.

    ``beside_us`` is the latency by the other of median and mean; ``claims``: what an interval of the mean
    covers, and that states not seen do not widen it.
    """

    about: Literal["median", "mean"]
    beside_us: Estimates
    off: dict[Label, Off]
    claims: str


class Outstanding(Document):
    """How many requests were outstanding at each arrival (paper, Figure 1).

    Counted within one worker of one client; ``connections`` is the worker's number of connections.
    """

    values: list[int]
    share: list[float]
    per_client: bool
    connections: Count


class Series(Document):
    """One run in windows, from the start of its warm-up; measured from ``measure_from_s``.

    ``requested``: the rate that a schedule requested, if there was one.
    """

    run: int
    t_s: list[float]
    rate: list[Number]
    requested: list[float] | UnsetType = UNSET
    p50_us: list[Number]
    p99_us: list[Number]
    measure_from_s: Number
