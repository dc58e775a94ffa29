"""What a study keeps next to its answer: ``manifest.json`` and each run's ``run.json``.

History of the formats: ``hindmost.study/1``, ``hindmost.run/1`` (0.1.0), the first.
"""

from typing import Any, Literal, NotRequired, TypedDict

from hindmost.store.engine import Finding, Watched
from hindmost.store.types import Count, Level, Share, Target


class Plan(TypedDict, total=False):
    """The measure plan as it was resolved; more keys may stand here."""

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
    """Facts of the host, and what of them distorts a measurement."""

    facts: dict[str, Any]
    findings: list[Finding]


class Objective(TypedDict):
    """What a search was asked for, such as ``p99<500us``."""

    objective: str


class LoggedCost(TypedDict):
    """What a request of the original cost when it was logged, in CPU time, next to services by rate."""

    rates_per_s: list[float]
    beside_us: list[float]
    service_us: float


class Verified(TypedDict):
    """The clone document that a verification is of, and the shares of its capacity that it is loaded with."""

    clone: dict[str, Any]
    occupy: NotRequired[Literal["wall", "cpu"]]
    loads: NotRequired[list[Share]]
    logged: NotRequired[LoggedCost | None]


class Compared(TypedDict):
    """Plans of the sides of a comparison, the first of which is what the others are compared with."""

    plans: list[Plan]
    margin: Share
    fail_if: list[str]


class Manifest(TypedDict):
    """What a study was asked to do, on which host, with which versions.

    ``require``: limits as they were asked for. ``search``, ``verification``, ``comparison`` or
    ``attribution`` (the study file, and what each factor sets) where it is one.
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
    verification: NotRequired[Verified]
    comparison: NotRequired[Compared]
    attribution: NotRequired[dict[str, Any]]
    sets: NotRequired[list[tuple[str, str]]]


class SocketQueues(TypedDict):
    """What waited in a server's sockets at one moment."""

    connections: Count
    receive_bytes: Count
    receive_most_bytes: Count
    send_bytes: Count
    accept: Count


class ServerQueues(TypedDict):
    """The server's sockets as the measurement began, under load, and after its last reply."""

    begin: SocketQueues
    end: SocketQueues


class Witness(TypedDict, total=False):
    """The packet capture of a run: what became of it, or the ``fault`` for which there is none."""

    fault: str
    hint: str | None
    connections: Count | None
    captured: Count
    dropped: Count
    whole: bool
    answered: Count
    matched: Count
    stamped: Count


class StagesTraced(TypedDict, total=False):
    """A run's trace: its document, the stages with most of variance and mean; or why there is none."""

    fault: str
    hint: str | None
    file: str
    requests: Count
    matched: float
    by_variance: str
    by_mean: str
    culprit: str | None


class Fault(TypedDict):
    """Why a companion of a run left nothing."""

    fault: str
    hint: str | None


class ClockOffset(TypedDict):
    """A host's monotonic clock less the controller's, at a moment of the latter; within ``error_ns``."""

    offset_ns: int
    error_ns: Count
    at_ns: Count


class HostClocks(TypedDict):
    """Its clock just before and just after a run."""

    before: ClockOffset
    after: ClockOffset
    drift_ppm: float


class Silence(TypedDict):
    """What the process that speaks with the controller did in the measurement, by the kernel's counters."""

    seconds: float
    wakeups: Count
    cpu_ms: float
    bytes: int


class HostOfRun(TypedDict):
    """A load machine in one run; ``findings``: what its doctor would mind."""

    host: str
    hostname: str
    instances: list[Count]
    places: list[dict[str, Any]]
    clock: HostClocks
    channel: Silence | None
    findings: list[dict[str, Any]]


class CleanUp(TypedDict):
    """What a server that is not ours was given: keys ``removed`` after a run, or why some may be ``left``."""

    removed: NotRequired[Count]
    left: NotRequired[str]


class RunRecord(TypedDict):
    """One finished run; ``server_cpu_share`` counts CPUs, so it may exceed 1.

    ``server_tcp`` and ``server_queues`` are null where the server is on another host. ``server_process`` is
    its name, ``server_pids`` are its processes. ``sentinel``: the processors that were watched for thefts, or
    why none was. ``fleet``: load machines, where it was made by others than the controller's; ``voided``: why
    this run was void before, as often as it was.
    """

    schema: Literal["hindmost.run/1"]
    run: Count
    seed: Count
    started: str
    seconds: float
    instances: Count
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
    trace: NotRequired[StagesTraced]
    clean_up: NotRequired[CleanUp]
