"""The documents that Rust writes, as types: generated from its structs by ``docs/generate.py``; do not edit.

What a type or a field means is documented beside the struct, in ``crates/``. ``NotRequired`` fields are
missing from results of earlier builds.
"""

from typing import Literal, NotRequired, TypedDict

from hindmost.store.types import Count, Share


class AwayReport(TypedDict):
    """When a worker's processor was away, from the calibration on."""

    idle_ns: Count
    call_ns: Count
    spans_ns: list[list[int]]
    missed: Count


class Calibration(TypedDict):
    """The range found in the calibration, and what left it later."""

    seconds: float
    count: Count
    low_ns: Count | None
    high_ns: Count | None
    above: Count
    below: Count


class Gaps(TypedDict):
    """Pauses that a spinning thread met and had not asked for."""

    over_5us: Count
    total_ns: Count
    longest_ns: Count


class ThreadHost(TypedDict):
    """What the host gave to one thread, and took from it."""

    wall_ns: Count
    cpu_ns: Count
    voluntary_switches: Count
    involuntary_switches: Count
    run_delay_ns: Count | None
    gaps: Gaps


class Rung(TypedDict):
    """Spins of one length."""

    intended_us: float
    spins: Count
    p50_us: float
    p99_us: float
    longest_us: float
    cpu_share: Share
    trusted: bool


class NoiseGaps(TypedDict):
    """The gaps of one spin, summed up."""

    over_5us: Count
    over_50us: Count
    over_1ms: Count
    largest_ns: Count
    stolen_ns: Count
    stolen_share: float
    delay_p99_ns: Count
    delay_p999_ns: Count


class NoiseFloor(TypedDict):
    """What one CPU went through while a thread bound to it only read the clock."""

    cpu: Count
    pinned: bool
    elapsed_ns: Count
    read_cost_ns: float
    gaps: NoiseGaps
    outside: NoiseGaps
    run_delay_ns: Count | None
    involuntary_switches: Count


class Oversleep(TypedDict):
    """How much later than asked a sleep ends, with the smallest timer slack (1 ns): what is left is the
    timer's interrupt, the wake-up of an idle CPU and the way through the run queue.

    A thread that sleeps between requests sends them that much late.
    """

    asked_ns: Count
    sleeps: Count
    p50_ns: Count
    p99_ns: Count


class Noise(TypedDict):
    """What the host takes away, on some of its CPUs at the same time."""

    floors: list[NoiseFloor]
    oversleep: Oversleep | None
    steal_share: float | None


class Certificate(TypedDict):
    """How faithful a spin is on this host."""

    clock_read_ns: float
    cpu_clock_read_ns: Count
    ladder: list[Rung]
    trusted_from_us: float | None
    host: ThreadHost
    noise: Noise


class CpuQuota(TypedDict):
    """The tightest limit of CPU time that a control group on the way from this process to the root has."""

    file: str
    cpus: float
    period_us: Count
    throttled_periods: Count | None


class IdleState(TypedDict):
    """A sleep of an idle CPU (C-state)."""

    name: str
    exit_us: Count


class LoadAverage(TypedDict):
    """Load averages of the whole host."""

    one: float
    five: float
    fifteen: float


class PortRange(TypedDict):
    """Local ports, both ends included."""

    first: Count
    last: Count


class Nic(TypedDict):
    """A network interface, and who can stamp its packets."""

    name: str
    software: bool | None
    hardware: bool | None
    switched_on: bool | None


class HostFacts(TypedDict):
    """What a host is and how it is set. Absent files are `None`; nothing is guessed."""

    hostname: str | None
    kernel: str | None
    cpu_model: str | None
    cpus_online: Count
    cpus_allowed: list[Count]
    sockets: Count
    cores: Count
    threads_per_core: Count
    numa_nodes: Count
    isolcpus: str | None
    nohz_full: str | None
    virtual: bool
    hypervisor: str
    clocksource: str | None
    clocksources_available: list[str]
    clock_resolution_ns: Count
    timer_slack_ns: Count | None
    governor: str | None
    turbo: bool | None
    smt: bool | None
    deepest_idle: IdleState | None
    memory_bytes: Count | None
    memory_available_bytes: Count | None
    swap_used_bytes: Count | None
    transparent_hugepages: str | None
    numa_balancing: bool | None
    load_average: LoadAverage | None
    cpu_pressure_avg10: float | None
    steal_share: float | None
    uptime_s: float | None
    is_root: bool
    capabilities: list[str]
    perf_event_paranoid: int | None
    hardware_counters: bool
    cpu_quota: CpuQuota | None
    open_files_limit: Count | None
    open_files_hard_limit: Count | None
    local_ports: PortRange | None
    somaxconn: Count | None
    nics: list[Nic]


Mark = Literal["fine", "mind", "unfit"]
"""How far something distorts a measurement, from least to worst."""


class Finding(TypedDict):
    """One thing that was looked at."""

    id: str
    title: str
    value: str
    mark: Mark
    why: str
    hint: str | None


class Checkup(TypedDict):
    """What the host is, what was measured of it, and what that means."""

    facts: HostFacts
    noise: Noise | None
    findings: list[Finding]


Outcome = Literal["hit", "miss", "error"]
"""What a reply says."""


class CodeCount(TypedDict):
    """Replies with one status code, and what it means here."""

    count: Count
    outcome: Outcome


class Connects(TypedDict):
    """What became of attempts to connect."""

    all: Count
    made: Count
    failed: Count
    full_handshakes: NotRequired[Count]
    resumed_handshakes: NotRequired[Count]


class Counts(TypedDict):
    """The account of one kind of request. `due = done + errors + timeouts + unsent`, always."""

    due: Count
    done: Count
    misses: Count
    errors: Count
    timeouts: Count
    unsent: Count
    lost: NotRequired[Count]


class Datagrams(TypedDict):
    """What datagrams can come to, from the start of the load on."""

    late: Count
    refused: Count
    oversized: NotRequired[Count]


class Dispersion(TypedDict):
    """How many requests left in spans of one length.

    The index of dispersion, variance over mean, is 1 for a Poisson process, 0 for equal gaps, and large for
    bursts.
    """

    span_ns: Count
    spans: Count
    requests: Count
    squares: Count


Ended = Literal["elapsed", "steady", "never_steady"]
"""How a phase ended."""


class EndpointReport(TypedDict):
    """The account of one server of several."""

    address: str
    counts: Counts


class Fill(TypedDict):
    """How full one buffer of a socket is.

    Its memory holds bookkeeping, too, so some two thirds of the limit are data (`tcp_adv_win_scale`,
    tcp(7)).
    """

    bytes: Count
    limit_bytes: Count


class Hits(TypedDict):
    """A source of interrupts and how often it hit the CPUs asked about."""

    source: str
    count: Count


class Schedule(TypedDict):
    """`/proc/thread-self/schedstat` (Documentation/scheduler/sched-stats.rst of the kernel)."""

    on_cpu_ns: Count
    run_delay_ns: Count
    timeslices: Count


class ThreadSpan(TypedDict):
    """What a thread went through between two readings."""

    wall_ns: Count
    cpu_ns: Count
    voluntary_switches: Count
    involuntary_switches: Count
    schedule: Schedule | None


class InterruptSpan(TypedDict):
    """What hit some CPUs between two readings, the most frequent first."""

    hard: list[Hits]
    hard_total: Count
    soft: list[Hits]


class Neighbour(TypedDict):
    """A thread that ran between two readings, and whose last CPU was one of those asked about at one of
    them.
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
    """Who ran beside us between two readings."""

    named: list[Neighbour]
    more: Count
    forks: Count | None


class RunQueue(TypedDict):
    """What the scheduler of one CPU did (`/proc/schedstat`, Documentation/scheduler/sched-stats.rst of the
    kernel).
    """

    cpu: Count
    on_cpu_ns: Count
    run_delay_ns: Count
    turns: Count


class Throttling(TypedDict):
    """How often this process's control group was stopped because it had used up its CPU quota, since it was
    made or between two readings.

    A stop lasts until the next period: up to 100 ms, on all its CPUs.
    """

    periods: Count
    period_us: Count


class HostSpan(TypedDict):
    """What happened on an instance's CPUs between two readings."""

    wall_ns: Count
    cpus: list[Count]
    interrupts: InterruptSpan
    run_queues: list[RunQueue]
    throttled: Throttling | None
    neighbours: Neighbourhood
    coordinator: ThreadSpan


class Memory(TypedDict):
    """Memory of an instance, in bytes."""

    peak_bytes: Count | None
    bound_bytes: Count


class Window(TypedDict):
    """What was done in one window."""

    at_ns: Count
    count: Count
    p50_ns: Count
    p99_ns: Count


class StampReason(TypedDict):
    """Why something is missing."""

    code: Literal["off", "refused", "none_came", "card_failed", "sources_differ"]
    text: str


class StampReport(TypedDict):
    """The stamps of one instance."""

    every: Count
    source: Literal["software", "hardware"] | None
    interface: str | None
    asked: Count
    came: Count
    shared: Count
    without_out: Count
    without_in: Count
    implausible: Count
    clock_steps: Count
    largest_step_ns: Count
    reason: StampReason | None


class TcpCounters(TypedDict):
    """What went wrong with TCP in a network namespace, since it was made or between two readings.

    Each of these costs a request 200 ms or more (`TCP_RTO_MIN`; 1 s for a connection attempt, RFC 6298),
    which no server can make up for; a window of zero costs what the slow reader takes.
    """

    retransmits: Count
    syn_retransmits: Count
    listen_overflows: Count
    listen_drops: Count
    zero_windows: NotRequired[Count]


class Late(TypedDict):
    """Requests that one stage made late."""

    requests: Count
    total_ns: Count
    worst_ns: Count


class LateByStage(TypedDict):
    """Late requests of the measurement, by the stage they had to wait for."""

    writing: Late
    reading: Late
    waiting: Late


class Shares(TypedDict):
    """How a worker's requests of the measurement fell on its connections."""

    connections: Count
    least: Count
    most: Count
    chi_square: float | None
    silent: Count


class SocketReport(TypedDict):
    """What became of a worker's sockets from the start of the calibration to the last reply."""

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
    segment_requests: NotRequired[Count]
    segments: NotRequired[Count]


class ThreadReport(TypedDict):
    """How one worker fared."""

    cpu: Count | None
    busy_share: float
    cpu_share: float
    run_delay_share: float | None
    dispersion: list[Dispersion]
    span: ThreadSpan
    away: NotRequired[AwayReport]
    due_dispersion: NotRequired[list[Dispersion] | None]
    late: NotRequired[LateByStage]
    shares: NotRequired[Shares]
    sockets: NotRequired[SocketReport]


class Unhandled(TypedDict):
    """Requests that an HTTP/2 server had not worked on, from the start of the load on.

    Each is asked again, and its latency counts from when it was due; one that is refused again is an error.
    """

    refused: Count
    left_alone: Count


class Unreadable(TypedDict):
    """What the server sent that is no reply, or that no request had asked for, from the start of the load
    on: an error page on an idle connection, `-ERR max number of clients reached`.

    The connection is closed and made again, and the request that it would have answered is an error without
    reply; a datagram is dropped.
    """

    count: Count
    first: str | None


class InstanceResult(TypedDict):
    """The result of one instance; its distributions lie beside it in `instance-K.hlog`."""

    schema: Literal["hindmost.instance/1"]
    index: Count
    of: Count
    seed: Count
    started_s: float
    warmup_s: float
    warmup_ended: Ended
    calibration: Calibration
    measure_s: float
    asked_per_s: float | None
    due_per_s: float
    achieved_per_s: float
    counts: Counts
    kinds: dict[str, Counts]
    first_error: str | None
    reconnects: Count
    threads: list[ThreadReport]
    steal_share: Share | None
    tcp: TcpCounters | None
    by_turns: NotRequired[bool]
    codes: NotRequired[dict[str, CodeCount]]
    connects: NotRequired[Connects]
    datagrams: NotRequired[Datagrams | None]
    endpoints: NotRequired[list[EndpointReport]]
    host: NotRequired[HostSpan]
    kind_codes: NotRequired[dict[str, dict[str, CodeCount]]]
    measured_from_ns: NotRequired[Count]
    memory: NotRequired[Memory]
    raw_gaps_ns: NotRequired[list[Count]]
    resent: NotRequired[Count]
    series: NotRequired[list[list[Window]]]
    stamps: NotRequired[StampReport]
    tcp_before: NotRequired[TcpCounters | None]
    unhandled: NotRequired[Unhandled | None]
    unreadable: NotRequired[Unreadable]


class Knob(TypedDict):
    """A knob as it stands."""

    name: str
    about: str
    value: str | None
    choices: list[str]
    missing: str | None
    found: str | None
    files: list[str]


Whose = Literal["person", "running", "nobody"]
"""Who puts a setting back."""


class Left(TypedDict):
    """A setting that is not what was found."""

    name: str
    found: str
    set: str
    by: Whose
    pid: Count | None
    unread: str | None


class LogSummary(TypedDict):
    """What became of a log."""

    path: str
    requests: Count
    beyond: Count


Occupy = Literal["wall", "cpu"]
"""What a service time is a time of."""


class ProbeCost(TypedDict):
    """What one probe took while that was measured, the measuring included."""

    probe: str
    runs: Count
    ns: Count


class Restored(TypedDict):
    """One thing that was put back, or could not be."""

    name: str
    value: str
    failure: str | None


class ServedTotals(TypedDict):
    """What one thread did, or the sum over threads.

    Only requests that take service time (memcached: get, set, add, replace, delete; HTTP: whatever finds a
    page) count as served. All times are nanoseconds, summed since the start; two of them, taken one after
    the other, can be subtracted.
    """

    served: Count
    busy_ns: Count
    drawn_ns: Count
    achieved_ns: Count
    waited_ns: Count
    queued_ns: Count
    worst_overrun_ns: Count
    hits: Count
    misses: Count
    sets: Count


class TimeDistribution(TypedDict):
    """A distribution of times, nanoseconds."""

    count: Count
    mean_ns: float
    p50_ns: Count
    p90_ns: Count
    p95_ns: Count
    p99_ns: Count
    p999_ns: Count
    max_ns: Count
    bins: list[tuple[Count, Count]]


class ServerSummary(TypedDict):
    """What a server did, all of it, once it has ended."""

    total: ServedTotals
    threads: list[ServedTotals]
    occupy: Occupy
    service: TimeDistribution
    queueing: TimeDistribution
    sojourn: TimeDistribution
    lock_waits: TimeDistribution
    host: list[ThreadHost]
    gaps: Gaps
    steal_share: Share | None
    log: LogSummary | None


class TraceCost(TypedDict):
    """What the trace itself took."""

    reader_ns: Count
    probes_ns: Count
    costed_requests: Count
    probes: list[ProbeCost]


class TraceCounts(TypedDict):
    """What became of the requests that were seen, in the order of `enum count` of the probes.

    `seen` = `done` + the four causes + those still open when the trace ended.
    """

    seen: Count
    done: Count
    no_arrival: Count
    ring_full: Count
    ambiguous: Count
    closed: Count
    silent: Count
    before: Count
    unframed: Count
    unreadable: Count
    parts_late: Count
    stamp_missing: Count
    records_lost: Count
    connections: Count
    batched: Count
    not_begun: Count
    astray: Count
    arrived: Count
    datagrams: Count


class Watched(TypedDict):
    """A processor that was watched, in nanoseconds of the monotonic clock."""

    cpu: Count
    from_ns: Count
    to_ns: Count
    period_ns: Count
    late_ns: Count
    wakings: Count
    cpu_ns: Count
    spans_ns: list[list[Count]]
    missed: Count
    unsure_ns: NotRequired[list[list[Count]] | None]
