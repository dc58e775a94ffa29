"""What one run says, client by client, in time, and when the runs ended."""

from typing import Any, Literal, NotRequired, TypedDict

from hindmost.store.engine import StampReport
from hindmost.store.measure.calm import RunCalm
from hindmost.store.measure.connections import Code, Connections
from hindmost.store.measure.figures import Estimates, Throughput, Values
from hindmost.store.types import Count, Counts, Label, Microseconds, Number, Reason, Share, Verdict


class C2(TypedDict):
    """Squared coefficient of variation of the gaps of one worker's part; ``error``: its standard error."""

    value: float
    asked: float
    error: float


class DueGaps(TypedDict):
    """What was due, where sends are held against that: no law of the gaps of one worker is known.

    ``dispersion`` by span, as that of the sends; ``c2`` is null where gaps are not independent.
    """

    dispersion: dict[str, Number]
    c2: C2 | None


class Arrivals(TypedDict):
    """How the gaps between a client's sends differ from the law asked for.

    ``distance`` is Kolmogorov's, with its 95 % interval; ``dispersion`` is the index of dispersion of counts
    by span (1 for a Poisson process, 0 for equal gaps), ``dispersion_error`` what chance alone gives it.
    """

    gaps: Count
    distance: Share | None
    low: Share | None
    high: Share | None
    anderson_darling: Number
    dispersion: dict[str, Number]
    dispersion_error: dict[str, float]
    due: NotRequired[DueGaps]


class Alone(TypedDict):
    """What one client in one run can say of a quantile by itself, valid under autocorrelation.

    ``low`` and ``high`` are null when the run is ``too_short`` for an interval; ``need``: how many times
    longer it should be.
    """

    value: Microseconds
    low: Microseconds
    high: Microseconds
    too_short: bool
    need: Number


class Instance(TypedDict):
    """One load-generating process in one run."""

    index: Count
    cpus: list[int]
    latency_us: Values
    service_us: Values
    slip_us: Values
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
    """All clients against one start of the server; ``set_aside``: why it does not count."""

    run: int
    seed: int
    started: str
    seconds: float
    set_aside: NotRequired[str | None]
    verdict: Verdict
    reasons: list[Reason]
    latency_us: Values
    service_us: Values
    slip_us: Values
    connect_us: NotRequired[Values | None]
    handshake_us: NotRequired[Values | None]
    throughput: Throughput
    counts: Counts
    codes: NotRequired[dict[str, Code]]
    connections: NotRequired[Connections | None]
    server_cpu_share: Number
    calm: NotRequired[RunCalm | None]
    instances: list[Instance]


class Look(TypedDict):
    """The interval as it stood after ``runs`` runs that count, the last of which was ``run``."""

    runs: Count
    run: NotRequired[Count]
    value: Microseconds
    low: Microseconds
    high: Microseconds


class Aside(TypedDict):
    """A run that does not count, and why; ``code`` and ``values``: those of ``why``."""

    run: Count
    why: str
    code: NotRequired[str]
    values: NotRequired[dict[str, Any]]


class SetAside(TypedDict):
    """Runs from which the host took more than the limits allow, by clocks and counters alone.

    ``counted`` of ``made`` runs make the figures; where none counts, all do, and the verdict says so. As many
    more as ``share`` of those asked for may be made.
    """

    share: float
    made: Count
    counted: Count
    runs: list[Aside]


class Stopping(TypedDict):
    """When and why the runs ended."""

    rule: str
    precision: float
    reached: bool
    quantile: Label
    runs: Count
    path: dict[Label, list[Look]]


class Off(TypedDict):
    """Runs unlike the others at a quantile: their numbers, their share with its interval, in words."""

    runs: list[Count]
    share: Share
    low: Share
    high: Share
    text: str


class OverRuns(TypedDict):
    """What intervals over runs are ``about``, and what stands beside.

    ``beside_us`` is the latency by the other of median and mean; ``claims`` what an interval of the mean is
    about: what was not seen widens nothing.
    """

    about: Literal["median", "mean"]
    beside_us: Estimates
    off: dict[Label, Off]
    claims: str


class Outstanding(TypedDict):
    """How many requests each arrival found outstanding before it was sent (paper, Figure 1).

    Counted within one worker of one client; ``connections`` is how many that worker has.
    """

    values: list[int]
    share: list[float]
    per_instance: bool
    connections: Count


class Series(TypedDict):
    """One run in windows, from the start of its warm-up; measured from ``measure_from_s``.

    ``asked``: the rate that a schedule asked for, where there was one.
    """

    run: int
    t_s: list[float]
    rate: list[Number]
    asked: NotRequired[list[float]]
    p50_us: list[Number]
    p99_us: list[Number]
    measure_from_s: Number
