"""The files that a study stores next to its result: ``manifest.json`` and each run's ``run.json``."""

from typing import Any, Literal, NotRequired, TypedDict

from msgspec import UNSET, UnsetType

from hindmost.core.store.engine import Finding, TcpCounters, Watched
from hindmost.core.store.types import Count, Document, Level, Share, Target


class Plan(TypedDict, total=False):
    """The resolved plan of a measurement; it may have more keys."""

    rate_per_s: float | None
    loop: Literal["open", "closed"]
    arrivals: str
    clients: int
    connections: int
    pacing: Literal["spin", "sleep"]
    quick: bool
    runs: list[int]
    precision: float
    duration_s: float
    asked_duration_s: NotRequired[float | None]
    warmup: str | float
    quantiles: list[Level]
    aggregate: Literal["mean", "median"]
    over_runs: NotRequired[Literal["median", "mean"]]
    seed: int
    workload: dict[str, Any]
    requests_per_connection: NotRequired[int | None]


class Host(TypedDict):
    """Facts of the host, and findings about what distorts a measurement."""

    facts: dict[str, Any]
    findings: list[Finding]


class Objective(Document):
    """The objective of a search, such as ``p99<500us``."""

    objective: str


class LoggedCost(Document):
    """CPU time of a request of the original when it was logged, in microseconds.

    ``rates_per_s``: rates of the studies, rising; ``beside_us``: CPU time outside of services at each rate;
    ``service_us``: mean CPU time of a service over the requests of all logs, to which the clone is fitted.
    """

    rates_per_s: list[float]
    beside_us: list[float]
    service_us: float


class VerificationPlan(Document):
    """The clone document under verification, and the loads as shares of its capacity."""

    clone: dict[str, Any]
    occupy: Literal["wall", "cpu"] = "wall"
    loads: tuple[Share, ...] = ()
    logged: LoggedCost | None = None


class ComparisonPlan(TypedDict):
    """Plans of the sides of a comparison; the first side is the reference."""

    plans: list[Plan]
    margin: Share
    fail_if: list[str]


class Manifest(TypedDict):
    """What a study was asked to do, on which host, with which versions.

    ``require``: the requested limits. ``search``, ``verification``, ``comparison`` or ``attribution`` (the
    study file, and what each factor sets) for studies of that kind.
    """

    schema: Literal["hindmost.study/1"]
    created: str
    version: str
    python: str
    kind: NotRequired[
        Literal[
            "measure", "search", "attribution", "verification", "comparison", "batching", "trial", "explain"
        ]
    ]
    plan: Plan
    host: Host
    require: NotRequired[list[str]]
    search: NotRequired[Objective]
    verification: NotRequired[VerificationPlan]
    comparison: NotRequired[ComparisonPlan]
    attribution: NotRequired[dict[str, Any]]
    sets: NotRequired[list[tuple[str, str]]]


class SocketQueues(Document):
    """Data waiting in a server's sockets at one moment."""

    connections: Count
    receive_bytes: Count
    receive_most_bytes: Count
    send_bytes: Count
    accept: Count


class ServerQueues(Document):
    """The server's sockets at the start of the measurement, under load, and after its last reply."""

    begin: SocketQueues
    end: SocketQueues


class Witness(Document):
    """The packet capture of a run: its counts, or the ``fault`` that prevented it."""

    code: str | UnsetType = UNSET
    fault: str | UnsetType = UNSET
    hint: str | UnsetType | None = UNSET
    connections: Count | UnsetType | None = UNSET
    captured: Count | UnsetType = UNSET
    dropped: Count | UnsetType = UNSET
    whole: bool | UnsetType = UNSET
    answered: Count | UnsetType = UNSET
    matched: Count | UnsetType = UNSET
    stamped: Count | UnsetType = UNSET


class StageTrace(Document):
    """A run's trace: its document, the stages with the largest variance and mean; or why there is none."""

    code: str | UnsetType = UNSET
    fault: str | UnsetType = UNSET
    hint: str | UnsetType | None = UNSET
    file: str | UnsetType = UNSET
    requests: Count | UnsetType = UNSET
    matched: float | UnsetType = UNSET
    by_variance: str | UnsetType = UNSET
    by_mean: str | UnsetType = UNSET
    culprit: str | UnsetType | None = UNSET


class Fault(Document):
    """Why a companion of a run recorded nothing."""

    code: str | UnsetType = UNSET
    fault: str
    hint: str | None


class ClockOffset(Document):
    """A host's monotonic clock minus the controller's, at a time of the latter, with error ``error_ns``."""

    offset_ns: int
    error_ns: Count
    at_ns: Count


class HostClocks(Document):
    """A host's clock just before and just after a run."""

    before: ClockOffset
    after: ClockOffset
    drift_ppm: float


class Silence(Document):
    """Activity during the measurement of the process that speaks with the controller (kernel's counters)."""

    seconds: float
    wakeups: Count
    cpu_ms: float
    bytes: int


class HostOfRun(Document):
    """A load host in one run; ``findings``: of its ``hindmost host doctor``."""

    host: str
    hostname: str
    clients: list[Count]
    places: list[dict[str, Any]]
    clock: HostClocks
    channel: Silence | None
    findings: list[dict[str, Any]]


class CleanUp(Document):
    """Clean-up on a server that is not managed: keys ``removed`` after a run, or why some may be ``left``."""

    removed: Count | UnsetType = UNSET
    left: str | UnsetType = UNSET


class RunRecord(Document):
    """One finished run; ``server_cpu_share`` counts CPUs, so it may exceed 1.

    ``server_tcp`` and ``server_queues`` are null if the server is on another host. ``server_process`` is its
    name, ``server_pids`` are its processes. ``sentinel``: observations by CPU, or why there are none.
    ``server_counters``: why the server's counters are missing. ``fleet``: load hosts other than the
    controller; ``voided``: why earlier attempts of this run were void.
    """

    schema: Literal["hindmost.run/2"] = "hindmost.run/2"
    run: Count
    seed: Count
    started: str
    seconds: float
    clients: Count
    target: Target
    server_cpu_share: float | None = None
    server_steal_share: Share | None = None
    server_process: str | None = None
    server_pids: list[Count] | None = None
    server_busy_share: Share | None = None
    server_tcp: TcpCounters | None = None
    server_queues: ServerQueues | None = None
    server_counters: Fault | UnsetType = UNSET
    sentinel: list[Watched] | Fault | UnsetType = UNSET
    fleet: list[HostOfRun] | UnsetType = UNSET
    voided: list[str] | UnsetType = UNSET
    witness: Witness | UnsetType = UNSET
    trace: StageTrace | UnsetType = UNSET
    clean_up: CleanUp | UnsetType = UNSET
