"""The smaller documents of a study and of other verbs: types for the checker, and their JSON Schemas.

==================  ==========================  ======================================
schema              where                       written by
==================  ==========================  ======================================
hindmost.study/1    ``manifest.json``           `hindmost.store.Study`
hindmost.run/1      ``runs/N/run.json``         `hindmost.studies.measure.Procedure`
hindmost.instance/1 ``runs/N/instance-K.json``  the engine (crates/load, ``result.rs``)
hindmost.search/1   ``search.json``             `hindmost.studies.search.RateSearch`
hindmost.doctor/1   ``hindmost doctor --json``  crates/host, through ``cli/doctor.py``
hindmost.knobs/1    ``hindmost knobs --json``   crates/host, through ``cli/knobs``
==================  ==========================  ======================================

The answer itself, ``hindmost.measure/1``, stands in `hindmost.store.result`, what clones predict in
`hindmost.store.predictions`, how near they come in `hindmost.store.verification`, how they were fitted in
`hindmost.store.fit`, what they say as servers in `hindmost.store.serving`. Keys that a schema does not
name are allowed, so that a later version may add some.
"""

from typing import Any, Literal, NotRequired, TypedDict

from hindmost.store.attribution import Attribution
from hindmost.store.fit import FitResult
from hindmost.store.knobs import Knobs
from hindmost.store.predictions import Simulation, Sweep
from hindmost.store.result import (
    Count,
    Counts,
    Finding,
    Host,
    Microseconds,
    Plan,
    Share,
    Stamps,
    Target,
    schema_of,
)
from hindmost.store.serving import Certificate, Serving
from hindmost.store.verification import Verification


class Objective(TypedDict):
    """What a search was asked for, such as ``p99<500us``."""

    objective: str


class Verified(TypedDict):
    """The clone document that a verification is of."""

    clone: dict[str, Any]
    occupy: NotRequired[Literal["wall", "cpu"]]


class Manifest(TypedDict):
    """What a study was asked to do, on which host, with which versions.

    ``search`` and ``verification`` where it is one.
    """

    schema: Literal["hindmost.study/1"]
    created: str
    version: str
    python: str
    plan: Plan
    host: Host
    search: NotRequired[Objective]
    verification: NotRequired[Verified]


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


class RunRecord(TypedDict):
    """One finished run; ``server_cpu_share`` counts CPUs, so it may exceed 1.

    ``server_tcp`` and ``server_queues`` are null where the server is on another host.
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
    server_tcp: NotRequired[dict[str, Count] | None]
    server_queues: NotRequired[ServerQueues | None]
    witness: NotRequired[Witness]


class InstanceCounts(Counts):
    """An instance's account; ``lost`` are those errors that were lost with their connection."""

    lost: NotRequired[Count]


class Calibration(TypedDict):
    """The range of latencies found before the measurement, and how many of it lay outside."""

    seconds: float
    count: Count
    low_ns: Count | None
    high_ns: Count | None
    above: Count
    below: Count


class Span(TypedDict):
    """What the kernel says of a worker's thread over the load."""

    wall_ns: Count
    cpu_ns: Count
    voluntary_switches: Count
    involuntary_switches: Count
    schedule: dict[str, Count] | None


class SpanCounts(TypedDict):
    """Requests sent per span of one length, from which the index of dispersion follows."""

    span_ns: Count
    spans: Count
    requests: Count
    squares: Count


class Fill(TypedDict):
    """Memory that one buffer of a socket uses, and its limit."""

    bytes: Count
    limit_bytes: Count


class Late(TypedDict):
    """Requests that left more than 5 us late: how many, how late in all, and the worst."""

    requests: Count
    total_ns: Count
    worst_ns: Count


class LateByStage(TypedDict):
    """Late requests, by what the worker did meanwhile.

    Handing over other requests, taking replies, or nothing: its processor was away, or its sleep too long.
    """

    writing: Late
    reading: Late
    waiting: Late


class Sockets(TypedDict):
    """What became of a worker's sockets; the kernel was asked about ``looked_at`` of them, before and after.

    ``busy_us`` is time with something to send, summed over connections; of it ``peer_full_us`` was held up
    by the server's full receive buffer, ``send_full_us`` by our own send buffer. ``blocked_writes`` were not
    taken whole by the kernel; ``largest_read_bytes`` is the most that had piled up when a read came.
    """

    looked_at: Count
    retransmits: Count
    out_of_order: Count
    busy_us: Count
    peer_full_us: Count
    send_full_us: Count
    receive: Fill
    send: Fill
    blocked_writes: Count
    largest_read_bytes: Count


class Shares(TypedDict):
    """How a worker's requests of the measurement fell on its connections.

    ``chi_square`` is Pearson's statistic against equal shares; ``silent`` connections are open, were
    given requests (in whatever phase), and never answered one.
    """

    connections: Count
    least: Count
    most: Count
    chi_square: float | None
    silent: Count


class Memory(TypedDict):
    """The most that an instance held, and the most that it could come to hold."""

    peak_bytes: Count | None
    bound_bytes: Count


class Worker(TypedDict):
    """How one worker fared."""

    cpu: Count | None
    busy_share: float
    cpu_share: float
    run_delay_share: float | None
    dispersion: list[SpanCounts]
    span: Span
    late: NotRequired[LateByStage]
    sockets: NotRequired[Sockets]
    shares: NotRequired[Shares]


class Hits(TypedDict):
    """How often one source of interrupts hit."""

    source: str
    count: Count


class Interrupts(TypedDict):
    """What hit the client's processors: hardware interrupts and deferred work, the most frequent first."""

    hard: list[Hits]
    hard_total: Count
    soft: list[Hits]


class RunQueue(TypedDict):
    """What the scheduler of one processor did: time given, time waited for, turns, everybody's."""

    cpu: Count
    on_cpu_ns: Count
    run_delay_ns: Count
    turns: Count


class Neighbour(TypedDict):
    """A thread that ran meanwhile, and on the client's processors last, then or now.

    ``bound``: it may run nowhere else, so all of its time and turns were there.
    """

    pid: Count
    tid: Count
    process: str
    name: str
    kernel: bool
    on_cpu_ns: Count
    turns: Count
    bound: bool


class Neighbourhood(TypedDict):
    """Who ran beside the client: the greediest, how many ``more``, and how many threads began meanwhile."""

    named: list[Neighbour]
    more: Count
    forks: Count | None


class Throttled(TypedDict):
    """Periods of the control group's CPU quota that ended in a stop."""

    periods: Count
    period_us: Count


class ClientHost(TypedDict):
    """What happened on an instance's processors from just before its measurement to just after."""

    wall_ns: Count
    cpus: list[Count]
    interrupts: Interrupts
    run_queues: list[RunQueue]
    throttled: Throttled | None
    neighbours: Neighbourhood
    coordinator: Span


class Window(TypedDict):
    """A tenth of a second of one worker; ``at_ns`` is its end, from the start of the warm-up."""

    at_ns: Count
    count: Count
    p50_ns: Count
    p99_ns: Count


class Instance(TypedDict):
    """The result of one load instance; its distributions lie beside it in ``instance-K.hlog``."""

    schema: Literal["hindmost.instance/1"]
    index: Count
    of: Count
    seed: Count
    started_s: float
    warmup_s: float
    warmup_ended: Literal["elapsed", "steady", "never_steady"]
    calibration: Calibration
    measure_s: float
    asked_per_s: float | None
    due_per_s: float
    achieved_per_s: float
    counts: InstanceCounts
    kinds: dict[str, InstanceCounts]
    first_error: str | None
    reconnects: Count
    resent: NotRequired[Count]
    threads: list[Worker]
    steal_share: Share | None
    stamps: NotRequired[Stamps]
    tcp: dict[str, Count] | None
    tcp_before: NotRequired[dict[str, Count] | None]
    memory: NotRequired[Memory]
    host: NotRequired[ClientHost]
    raw_gaps_ns: NotRequired[list[Count]]
    series: NotRequired[list[list[Window]]]


class SearchStep(TypedDict):
    """One rate that was tried; ``study`` is its folder within the search's.

    ``unmet``: the client could not produce the rate, or the server died of it; ``spoiled``: the host
    disturbed too many runs. A null latency is infinitely late where ``runs`` is above 0, and not known where
    it is 0. ``left_out``: runs that the host disturbed; ``error``: relative standard error of what was
    judged; ``at_most_per_s``: what a saturated server carried.
    """

    rate_per_s: float
    outcome: Literal["holds", "fails", "undecided", "unmet", "spoiled"]
    value_us: Microseconds
    low_us: Microseconds
    high_us: Microseconds
    runs: Count
    achieved_per_s: float | None
    why: str
    study: str
    left_out: Count
    error: float
    at_most_per_s: float | None


class Search(TypedDict):
    """What a search for the highest rate under an objective found.

    ``rate_per_s`` is the highest rate that held (null: none did), ``not_at_per_s`` the lowest above it that
    did not, or was undecided. The highest rate that holds lies between ``low_per_s`` and ``high_per_s`` with
    this ``confidence`` (null: beyond the rates that are searched); ``steps`` stand in the order in which they
    were made.
    """

    schema: Literal["hindmost.search/1"]
    created: str
    objective: str
    finished: bool
    headline: str
    rate_per_s: float | None
    not_at_per_s: float | None
    low_per_s: float | None
    high_per_s: float | None
    confidence: Share
    steps: list[SearchStep]


class Doctor(TypedDict):
    """What on this host will distort a measurement."""

    schema: Literal["hindmost.doctor/1"]
    facts: dict[str, Any]
    findings: list[Finding]


def schemas() -> dict[str, dict[str, Any]]:
    """Give the JSON Schema of each document, by its name (``instance`` for ``hindmost.instance/1``)."""
    return {
        "study": schema_of(Manifest, "hindmost.study/1", "Manifest of a study"),
        "run": schema_of(RunRecord, "hindmost.run/1", "One finished run of a study"),
        "instance": schema_of(Instance, "hindmost.instance/1", "Result of one load instance"),
        "search": schema_of(Search, "hindmost.search/1", "Result of hindmost measure --find-rate"),
        "doctor": schema_of(Doctor, "hindmost.doctor/1", "Result of hindmost doctor"),
        "fit": schema_of(FitResult, "hindmost.fit/1", "Result of hindmost synth fit"),
        "knobs": schema_of(Knobs, "hindmost.knobs/1", "Result of hindmost knobs"),
        "verification": schema_of(Verification, "hindmost.verification/1", "Result of hindmost synth verify"),
        "simulation": schema_of(Simulation, "hindmost.simulation/1", "Result of hindmost synth simulate"),
        "attribution": schema_of(Attribution, "hindmost.attribution/1", "Result of hindmost attribute"),
        "sweep": schema_of(Sweep, "hindmost.sweep/1", "Result of hindmost synth sweep"),
        "serve": schema_of(Serving, "hindmost.serve/1", "Result of hindmost synth serve"),
        "certificate": schema_of(
            Certificate, "hindmost.certificate/1", "Result of hindmost synth serve --certificate"
        ),
    }
