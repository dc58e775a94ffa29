"""The files that a study stores next to its result: ``manifest.json`` and each run's ``run.json``."""

from typing import Any, Literal, NotRequired, TypedDict

from hindmost.core.store.engine import Finding, Watched
from hindmost.core.store.types import Count, Level, Share, Target


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


class Objective(TypedDict):
    """The objective of a search, such as ``p99<500us``."""

    objective: str


class LoggedCost(TypedDict):
    """CPU time of a request of the original when it was logged, in addition to its service, by rate."""

    rates_per_s: list[float]
    beside_us: list[float]
    service_us: float


class VerificationPlan(TypedDict):
    """The clone document under verification, and the loads as shares of its capacity."""

    clone: dict[str, Any]
    occupy: NotRequired[Literal["wall", "cpu"]]
    loads: NotRequired[list[Share]]
    logged: NotRequired[LoggedCost | None]


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


class SocketQueues(TypedDict):
    """Data waiting in a server's sockets at one moment."""

    connections: Count
    receive_bytes: Count
    receive_most_bytes: Count
    send_bytes: Count
    accept: Count


class ServerQueues(TypedDict):
    """The server's sockets at the start of the measurement, under load, and after its last reply."""

    begin: SocketQueues
    end: SocketQueues


class Witness(TypedDict, total=False):
    """The packet capture of a run: its counts, or the ``fault`` that prevented it."""

    fault: str
    hint: str | None
    connections: Count | None
    captured: Count
    dropped: Count
    whole: bool
    answered: Count
    matched: Count
    stamped: Count


class StageTrace(TypedDict, total=False):
    """A run's trace: its document, the stages with the largest variance and mean; or why there is none."""

    fault: str
    hint: str | None
    file: str
    requests: Count
    matched: float
    by_variance: str
    by_mean: str
    culprit: str | None


class Fault(TypedDict):
    """Why a companion of a run recorded nothing."""

    fault: str
    hint: str | None


class ClockOffset(TypedDict):
    """A host's monotonic clock minus the controller's, at a time of the latter, with error ``error_ns``."""

    offset_ns: int
    error_ns: Count
    at_ns: Count


class HostClocks(TypedDict):
    """A host's clock just before and just after a run."""

    before: ClockOffset
    after: ClockOffset
    drift_ppm: float


class Silence(TypedDict):
    """Activity during the measurement of the process that speaks with the controller (kernel's counters)."""

    seconds: float
    wakeups: Count
    cpu_ms: float
    bytes: int


class HostOfRun(TypedDict):
    """A load host in one run; ``findings``: of its ``hindmost host doctor``."""

    host: str
    hostname: str
    clients: list[Count]
    places: list[dict[str, Any]]
    clock: HostClocks
    channel: Silence | None
    findings: list[dict[str, Any]]


class CleanUp(TypedDict):
    """Clean-up on a server that is not managed: keys ``removed`` after a run, or why some may be ``left``."""

    removed: NotRequired[Count]
    left: NotRequired[str]


class RunRecord(TypedDict):
    """One finished run; ``server_cpu_share`` counts CPUs, so it may exceed 1.

    ``server_tcp`` and ``server_queues`` are null if the server is on another host. ``server_process`` is its
    name, ``server_pids`` are its processes. ``sentinel``: observations by CPU, or why there are none.
    ``fleet``: load hosts other than the controller; ``voided``: why earlier attempts of this run were void.
    """

    schema: Literal["hindmost.run/2"]
    run: Count
    seed: Count
    started: str
    seconds: float
    clients: Count
    target: Target
    server_cpu_share: float | None
    server_steal_share: Share | None
    server_process: NotRequired[str | None]
    server_pids: NotRequired[list[Count] | None]
    server_busy_share: NotRequired[Share | None]
    server_tcp: NotRequired[dict[str, Count] | None]
    server_queues: NotRequired[ServerQueues | None]
    sentinel: NotRequired[list[Watched] | Fault]
    fleet: NotRequired[list[HostOfRun]]
    voided: NotRequired[list[str]]
    witness: NotRequired[Witness]
    trace: NotRequired[StageTrace]
    clean_up: NotRequired[CleanUp]
