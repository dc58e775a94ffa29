"""The document of ``hindmost trace --json``: its types."""

from typing import Literal, NotRequired, TypedDict

from hindmost.core.store.engine import TraceCost, TraceCounts
from hindmost.core.store.estimates import Value
from hindmost.core.store.types import Count, Note

SCHEMA_NAME = "hindmost.trace/2"

StageName = Literal[
    "network_to_tcp", "tcp_to_read", "read_to_start", "start_to_response", "response_to_network"
]


class Ratio(TypedDict):
    """A figure without a unit and its interval; null without one."""

    value: float | None
    low: float | None
    high: float | None


class StageFigures(TypedDict):
    """One stage, or the whole latency.

    ``share_of_variance`` is ``Cov(stage, latency) / Var(latency)``; the shares of all stages add up to 1.
    """

    stage: StageName | Literal["latency"]
    mean_us: Value
    variance_us2: Ratio
    c2: Ratio | None
    share_of_variance: Ratio | None
    share_of_mean: float


class Batch(TypedDict):
    """Requests that the server found in one read, per request; ``correlation`` with each stage."""

    mean: float
    variance: float
    correlation: list[float | None]


class Parts(TypedDict):
    """Latency from e1 to e6 and its stages.

    ``covariance_us2``: of the stages, row by row. ``closure``: how far their sum differs from the variance of
    latency, which is measured separately, as a share of it.
    """

    requests: Count
    latency: StageFigures
    stages: list[StageFigures]
    covariance_us2: list[list[float]]
    closure: float | None
    batch: Batch


class Server(TypedDict):
    """The traced server."""

    name: str
    pid: int | None
    port: int
    protocol: str


class UnmatchedRequests(TypedDict):
    """Requests that were read but are not in the figures, and why."""

    cause: str
    requests: Count
    why: str


class Group(TypedDict):
    """Requests of one thread, or of one connection, among those recorded in full."""

    name: str
    requests: Count
    mean_us: float
    variance_us2: float


Cause = Literal[
    "running", "run_queue", "interrupt", "handed_on", "wake", "lock", "page_fault", "blocked", "unseen"
]
Relation = Literal["own", "other", "kernel", "interrupt", "idle", "unknown"]


class Foremost(TypedDict):
    """The thread of a culprit with most of its variance, and that share."""

    thread: int
    share: float


class Culprit(TypedDict):
    """A program that delayed requests.

    ``relation``: its relation to the server. Threads of one process with the same name are merged:
    ``threads`` is their number, ``foremost`` the one of several with the most variance.
    """

    name: str
    process: int
    relation: Relation
    requests: Count
    threads: NotRequired[Count]
    foremost: NotRequired[Foremost | None]


class Part(TypedDict):
    """A part of the requests' time.

    ``mean_us``: per request, over all requests; ``sd_without_us``: the standard deviation of latency if the
    part were absent and nothing else changed. ``who`` is null for all culprits together.
    """

    stage: StageName
    cause: Cause
    who: Culprit | None
    mean_us: Value
    share_of_variance: Ratio | None
    sd_without_us: float


class SlowPart(TypedDict):
    """Mean of a part over the slowest requests."""

    stage: StageName
    cause: Cause
    name: str | None
    process: int | None
    relation: Relation | None
    mean_us: float


class Slowest(TypedDict):
    """The slowest requests of the trace: all above ``above_us``, ``share`` of all."""

    requests: Count
    share: float
    above_us: float
    latency_us: float
    network_to_tcp_us: float
    parts: list[SlowPart]


class ThreadSums(TypedDict):
    """What the scheduler did with a thread of the server in the whole trace.

    ``queued_ns``: on a CPU's run queue, by the kernel's ``run_delay``; ``woken_ns``: before that, from the
    start of a wake-up until it was on a queue.
    """

    thread: int
    name: str
    process: int
    queued_ns: int
    woken_ns: NotRequired[int]
    migrations: Count
    page_faults: Count


class Unknown(TypedDict):
    """A part of the requests' time without a known culprit, and why."""

    stage: StageName
    cause: Cause
    requests: Count
    mean_us: Value
    share_of_variance: Ratio | None
    why: str


class DelaySources(TypedDict):
    """What delayed requests within their stages, and which programs; largest variance first."""

    requests: Count
    parts: list[Part]
    culprits: list[Part]
    unknown: NotRequired[list[Unknown]]
    threads: list[ThreadSums]
    slowest: Slowest | None


class PredictedGain(TypedDict):
    """Latency now and without a part: mean and standard deviation, from the measured values.

    ``queue_us``: mean of waiting and service at one worker by Pollaczek and Khinchine, if the part belongs to
    the service; ``service_may_grow_to_us``: the mean service time that would use up this gain.
    """

    mean_us: list[float]
    sd_us: list[float]
    queue_us: list[float] | None
    service_may_grow_to_us: float | None


class Advice(TypedDict):
    """A change that could help; ``knob`` and ``levels`` are in the form of ``hindmost compare --set``.

    ``code``: the kind of change. ``also``: other culprits against which the same change would help.
    ``trial``: the command that tries it, at the traced rate. A server without a preset is named ``TARGET``
    there: a target file has to say how to start it.
    """

    stage: StageName
    cause: Cause | None
    who: Culprit | None
    share_of_variance: float
    code: str
    change: str
    why: str
    also: list[str]
    knob: str | None
    levels: list[str]
    trial: NotRequired[str | None]
    predicted: PredictedGain | None


class Service(TypedDict):
    """CPU time per request, and the time a request occupies a worker: from its start until it leaves.

    ``variance_us2`` and ``c2``: of ``occupied_us``.
    """

    workers: Count
    rate_per_s: float
    mean_us: float
    variance_us2: float
    c2: float
    occupied_us: float


class Records(TypedDict):
    """Requests in full: the file, their number, and the sampling interval (one in this many)."""

    path: str
    requests: Count
    every: Count


class OtherPrograms(TypedDict):
    """Mean wait of a request for other programs, and their share of the variance of latency."""

    mean_us: float
    share_of_variance: float


class CpuUseByOthers(TypedDict):
    """Interference on the CPUs on which the server may run.

    ``hypervisor_share``: of their time, by the kernel's steal ticks; None if unknown. ``other_programs``:
    with ``--who``. ``isolated``: both are too small to cause a tail.
    """

    cpus: str
    hypervisor_share: float | None
    other_programs: OtherPrograms | None
    isolated: bool


class StartProbe(TypedDict):
    """The function that showed where requests begin (e4).

    ``share``: share of the requests matched by a call; a rule decides for the others. ``astray``: unmatched
    calls per request.
    """

    file: str
    function: str
    share: float
    astray: float


class Trace(TypedDict):
    """Where in the path of a server's requests time passes and variance arises.

    ``handover``: whether the kernel showed when responses were handed over; if not, ``response_to_network``
    is part of ``start_to_response``. ``critical``: the stage with the largest share of the variance, and of
    the mean. ``followed_s``: how long arriving requests were followed; less than ``lasted_s`` with windows.
    ``blocks``: blocks of time for the intervals. ``notes``: remarks.
    """

    schema: Literal["hindmost.trace/2"]
    server: Server
    lasted_s: float
    began_ns: Count
    one_connection_in: Count
    followed_s: float
    handover: bool
    begun: StartProbe | None
    all: Parts
    kinds: dict[str, Parts]
    between_kinds: float | None
    critical: dict[Literal["by_variance", "by_mean"], StageName]
    blocks: Count
    counts: TraceCounts
    matched: float
    unmatched: list[UnmatchedRequests]
    threads: list[Group]
    connections: list[Group]
    records: Records | None
    who: DelaySources | None
    taken: CpuUseByOthers | None
    service: Service | None
    advice: list[Advice]
    cost: TraceCost
    notes: list[Note]
