"""Figures of one run by client and over time, and when the runs ended."""

from typing import Any, Literal, NotRequired, TypedDict

from hindmost.core.store.engine import StampReport
from hindmost.core.store.measure.connections import Code, Connections
from hindmost.core.store.measure.figures import Estimates, Throughput, Values
from hindmost.core.store.measure.isolated import RunIsolated
from hindmost.core.store.types import Count, Counts, Label, Microseconds, Number, Reason, Share, Verdict


class C2(TypedDict):
    """Squared coefficient of variation of the gaps of one worker's part; ``error``: its standard error."""

    value: float
    requested: float
    error: float


class ScheduledGaps(TypedDict):
    """Figures of the scheduled times, for processes without a known law of one worker's gaps.

    ``dispersion`` by span, as for the sends; ``c2`` is null if gaps are not independent.
    """

    dispersion: dict[str, Number]
    c2: C2 | None


class Arrivals(TypedDict):
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
    scheduled: NotRequired[ScheduledGaps]


class Alone(TypedDict):
    """A quantile from one client in one run alone, with an interval valid under autocorrelation.

    ``low`` and ``high`` are null if the run is ``too_short`` for an interval; ``need``: how many times longer
    it should be.
    """

    value: Microseconds
    low: Microseconds
    high: Microseconds
    too_short: bool
    need: Number


class Client(TypedDict):
    """One load-generating process in one run."""

    index: Count
    cpus: list[int]
    latency_us: Values
    service_us: Values
    send_delay_us: Values
    counts: Counts
    alone_us: NotRequired[dict[Label, Alone]]
    arrivals: NotRequired[Arrivals | None]
    stamps: NotRequired[StampReport | None]
    busy_share: Number
    cpu_share: NotRequired[Number]
    run_delay_share: Number
    involuntary_switches: int | None
    warmup_s: Number
    steady: bool | None


class Run(TypedDict):
    """All clients against one start of the server; ``excluded``: why it does not count."""

    run: int
    seed: int
    started: str
    seconds: float
    excluded: NotRequired[str | None]
    verdict: Verdict
    reasons: list[Reason]
    latency_us: Values
    service_us: Values
    send_delay_us: Values
    connect_us: NotRequired[Values | None]
    handshake_us: NotRequired[Values | None]
    throughput: Throughput
    counts: Counts
    codes: NotRequired[dict[str, Code]]
    connections: NotRequired[Connections | None]
    server_cpu_share: Number
    isolated: NotRequired[RunIsolated | None]
    clients: list[Client]


class IntervalStep(TypedDict):
    """The interval after ``runs`` runs that count; the last of them is ``run``."""

    runs: Count
    run: NotRequired[Count]
    value: Microseconds
    low: Microseconds
    high: Microseconds


class ExcludedRun(TypedDict):
    """A run that does not count, and why; ``code`` and ``values``: of ``why``."""

    run: Count
    why: str
    code: NotRequired[str]
    values: NotRequired[dict[str, Any]]


class ExcludedRuns(TypedDict):
    """Runs excluded because of interference, by clocks and counters alone.

    ``counted`` of ``made`` runs make the figures; if no run counts, all do, and the verdict says so.
    ``share``: repeats allowed, as a share of the requested runs.
    """

    share: float
    made: Count
    counted: Count
    runs: list[ExcludedRun]


class Stopping(TypedDict):
    """When and why the runs ended."""

    rule: str
    precision: float
    reached: bool
    quantile: Label
    runs: Count
    path: dict[Label, list[IntervalStep]]


class Off(TypedDict):
    """Outlying runs at a quantile: their numbers, their share with its interval, in words."""

    runs: list[Count]
    share: Share
    low: Share
    high: Share
    text: str


class OverRuns(TypedDict):
    """What intervals over runs are ``about``, and the alternative.

    ``beside_us`` is the latency by the other of median and mean; ``claims``: what an interval of the mean
    covers, and that states not seen do not widen it.
    """

    about: Literal["median", "mean"]
    beside_us: Estimates
    off: dict[Label, Off]
    claims: str


class Outstanding(TypedDict):
    """How many requests were outstanding at each arrival (paper, Figure 1).

    Counted within one worker of one client; ``connections`` is the worker's number of connections.
    """

    values: list[int]
    share: list[float]
    per_client: bool
    connections: Count


class Series(TypedDict):
    """One run in windows, from the start of its warm-up; measured from ``measure_from_s``.

    ``requested``: the rate that a schedule requested, if there was one.
    """

    run: int
    t_s: list[float]
    rate: list[Number]
    requested: NotRequired[list[float]]
    p50_us: list[Number]
    p99_us: list[Number]
    measure_from_s: Number
