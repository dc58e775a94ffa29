"""The document of ``hindmost trace --json``. Documents of 0.1 may lack fields that have defaults."""

from pathlib import Path
from typing import Final, Literal

import msgspec

from hindmost.core.store.engine import TraceCost, TraceCounts
from hindmost.core.store.reading import read_document
from hindmost.core.store.types import Count, Document, Note

SCHEMA_NAME: Final = "hindmost.trace/2"

StageName = Literal[
    "network_to_tcp", "tcp_to_read", "read_to_start", "start_to_response", "response_to_network"
]


class Figure(Document):
    """A figure and its interval, which is null with too few blocks."""

    value: float
    low: float | None
    high: float | None


class StageFigures(Document):
    """One stage, or the whole latency.

    ``share_of_variance`` is ``Cov(stage, latency) / Var(latency)``; the shares of all stages add up to 1.
    """

    stage: StageName | Literal["latency"]
    mean_us: Figure
    variance_us2: Figure
    c2: Figure | None
    share_of_variance: Figure | None
    share_of_mean: float


class Batch(Document):
    """Requests that the server found in one read, per request; ``correlation`` with each stage."""

    mean: float
    variance: float
    correlation: list[float | None]


class Parts(Document):
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

    @property
    def rows(self) -> list[StageFigures]:
        """The stages, then the whole latency."""
        return [*self.stages, self.latency]


class Server(Document):
    """The traced server."""

    name: str
    pid: int | None
    port: int
    protocol: str


class Critical(Document):
    """The stage with the largest share of the variance, and of the mean."""

    by_variance: StageName
    by_mean: StageName


class UnmatchedRequests(Document):
    """Requests that were read but are not in the figures, and why."""

    cause: str
    requests: Count
    why: str


class Group(Document):
    """Requests of one thread, connection or name, among those recorded in full."""

    name: str
    requests: Count
    mean_us: float
    variance_us2: float


Cause = Literal[
    "running", "run_queue", "interrupt", "handed_on", "wake", "lock", "page_fault", "blocked", "unseen"
]
Relation = Literal["own", "other", "kernel", "interrupt", "idle", "unknown"]


class Foremost(Document):
    """The thread of a culprit with most of its variance, and that share."""

    thread: int
    share: float


class Culprit(Document):
    """A program that delayed requests.

    ``relation``: its relation to the server. Threads of one process with the same name are merged:
    ``threads`` is their number, ``foremost`` the one of several with the most variance.
    """

    name: str
    process: int
    relation: Relation
    requests: Count
    threads: Count = 1
    foremost: Foremost | None = None


class Part(Document):
    """A part of the requests' time.

    ``mean_us``: per request, over all requests; ``sd_without_us``: the standard deviation of latency if the
    part were absent and nothing else changed. ``who`` is null for all culprits together.
    """

    stage: StageName
    cause: Cause
    who: Culprit | None
    mean_us: Figure
    share_of_variance: Figure | None
    sd_without_us: float


class CulpritPart(Part):
    """A part of the requests' time for which one program is to blame."""

    who: Culprit


class SlowPart(Document):
    """Mean of a part over the slowest requests."""

    stage: StageName
    cause: Cause
    name: str | None = None
    process: int | None = None
    relation: Relation | None = None
    mean_us: float


class Slowest(Document):
    """The slowest requests of the trace: all above ``above_us``, ``share`` of all."""

    requests: Count
    share: float
    above_us: float
    latency_us: float
    network_to_tcp_us: float
    parts: list[SlowPart]


class ThreadSums(Document):
    """What the scheduler did with a thread of the server in the whole trace.

    ``queued_ns``: on a CPU's run queue, by the kernel's ``run_delay``; ``woken_ns``: before that, from the
    start of a wake-up until it was on a queue.
    """

    thread: int
    name: str
    process: int
    queued_ns: int
    woken_ns: int
    migrations: Count
    page_faults: Count


class Unknown(Document):
    """A part of the requests' time without a known culprit, and why."""

    stage: StageName
    cause: Cause
    requests: Count
    mean_us: Figure
    share_of_variance: Figure | None
    why: str


class DelaySources(Document):
    """What delayed requests within their stages, and which programs; largest variance first."""

    requests: Count
    parts: list[Part]
    culprits: list[CulpritPart]
    unknown: list[Unknown]
    threads: list[ThreadSums]
    slowest: Slowest | None


class PredictedGain(Document):
    """Latency now and without a part: mean and standard deviation, from the measured values.

    ``queue_us``: mean of waiting and service at one worker by Pollaczek and Khinchine, if the part belongs to
    the service; ``service_may_grow_to_us``: the mean service time that would use up this gain.
    """

    mean_us: tuple[float, float]
    sd_us: tuple[float, float]
    queue_us: tuple[float, float] | None = None
    service_may_grow_to_us: float | None = None


class Advice(Document):
    """A change that could help; ``knob`` and ``levels`` are in the form of ``hindmost compare --set``.

    ``code``: the kind of change. ``also``: other culprits against which the same change would help.
    ``trial``: the command that tries it, at the traced rate. A server without a preset is named ``TARGET``
    there: a target file has to say how to start it.
    """

    stage: StageName
    cause: Cause | None
    who: Culprit | None
    share_of_variance: float
    code: str = ""
    change: str
    why: str
    also: tuple[str, ...] = ()
    knob: str | None
    levels: list[str]
    trial: str | None = None
    predicted: PredictedGain | None


class Service(Document):
    """CPU time per request, and the time a request occupies a worker: from its start until it leaves.

    ``rate_per_s``: of one worker. ``variance_us2`` and ``c2``: of ``occupied_us``, which is 0 if unknown.
    """

    workers: Count
    rate_per_s: float
    mean_us: float
    variance_us2: float
    occupied_us: float = 0.0
    c2: float


class Records(Document):
    """Requests in full: the file, their number, and the sampling interval (one in this many)."""

    path: str
    requests: Count
    every: Count


class OtherPrograms(Document):
    """Mean wait of a request for other programs, and their share of the variance of latency."""

    mean_us: float
    share_of_variance: float


class CpuUseByOthers(Document):
    """Interference on the CPUs on which the server may run.

    ``hypervisor_share``: of their time, by the kernel's steal ticks; None if unknown. ``other_programs``:
    with ``--who``. ``isolated``: both are too small to cause a tail.
    """

    cpus: str
    hypervisor_share: float | None
    other_programs: OtherPrograms | None
    isolated: bool


class Windows(Document):
    """Which part of the time was traced: one in `one_in` windows of `window_s`, at random; 1: all of it.

    ``expected_cost``: the share of the server's CPU time that the trace was expected to take when it chose
    `one_in`; null if the user chose it, or if the share is unknown.
    """

    one_in: Count
    window_s: float
    expected_cost: float | None


class StartProbe(Document):
    """The function that showed where requests begin (e4).

    ``share``: share of the requests matched by a call; a rule decides for the others. ``astray``: unmatched
    calls per request.
    """

    file: str
    function: str
    share: float
    astray: float


class ProfiledRequests(Document):
    """Requests, the stack samples or waits that belong to them, and their thread's time per request.

    The time is CPU time, or time asleep. A sample or wait belongs to each request that its thread had not
    answered yet: the time includes earlier requests while a request waits.
    """

    requests: Count
    samples: Count
    time_us: float


class FunctionShare(Document):
    """CPU time of a function, without those that it calls, or time for which it waited in ``call``.

    ``of_all``, ``of_slowest``: shares of the time of all and of the slowest requests; ``all_us``,
    ``slowest_us``: per request. ``of_variance``: share of the variance of latency. ``call``: the system call,
    or ``page fault``.
    """

    function: str
    module: str
    of_all: float
    of_slowest: float
    all_us: float
    slowest_us: float
    of_variance: float
    call: str | None = None


class StackShare(Document):
    """A stack, outermost function first, and its time per request."""

    frames: list[str]
    all_us: float
    slowest_us: float


class Profile(Document):
    """What the threads of the slowest 1 % of requests executed, or where they waited, compared with all.

    ``functions``: those with the largest difference in time per request first. ``stacks``: those with most
    time. ``lost``: samples, or stacks of waits, for which there was no room. ``period_us``: CPU time between
    samples; null for waits, which are all recorded.
    """

    period_us: float | None
    lost: Count
    all: ProfiledRequests
    slowest: ProfiledRequests
    of_variance: float
    functions: list[FunctionShare]
    stacks: list[StackShare]


class Trace(Document):
    """Where in the path of a server's requests time passes and variance arises.

    ``handover``: whether the kernel showed when responses were handed over; if not, ``response_to_network``
    is part of ``start_to_response``. ``followed_s``: how long arriving requests were followed; less than
    ``lasted_s`` with windows, which ``windows`` describes. ``blocks``: blocks of time for the intervals.
    ``profile`` and ``waits``: what slow requests executed, and where their threads waited; null without
    ``--who``, and ``profile`` also if the kernel refuses to sample. ``threads``, ``connections``,
    ``requests``: recorded requests by thread, by connection, and by path, command or first word of SQL.
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
    critical: Critical
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
    cost: TraceCost
    notes: list[Note]
    advice: list[Advice]
    profile: Profile | None = None
    windows: Windows | None = None
    waits: Profile | None = None
    requests: list[Group] = msgspec.field(default_factory=list)


def read_trace(path: Path) -> Trace:
    """Read a document of ``hindmost trace --json``. Earlier ones had fewer counts and no ``attached_ns``.

    Raises
    ------
    OSError, ValueError
        If it cannot be read, or is no trace.
    """
    document = read_document(path)
    if isinstance(counts := document.get("counts"), dict):
        document["counts"] = dict.fromkeys(TraceCounts.__struct_fields__, 0) | counts
    if isinstance(cost := document.get("cost"), dict):
        cost.setdefault("attached_ns", round(document.get("followed_s", 0.0) * 1e9))
    return msgspec.convert(document, Trace)
