"""The documents that Rust writes, as types: generated from its structs by ``docs/generate.py``; do not edit.

What a type or a field means is documented beside the struct, in ``crates/``. Results of earlier builds lack
fields that may be ``UNSET``.
"""

from typing import Literal

from msgspec import UNSET, UnsetType

from hindmost.core.store.types import Count, Document, Share


class AwayReport(Document):
    """Interruptions of a worker since the start of the calibration."""

    idle_ns: Count
    call_ns: Count
    spans_ns: list[list[int]]
    missed: Count


class Calibration(Document):
    """The latency range of the calibration, and later latencies outside it."""

    seconds: float
    count: Count
    low_ns: Count | None
    high_ns: Count | None
    above: Count
    below: Count


class Gaps(Document):
    """Interruptions of a spinning thread."""

    over_5us: Count
    total_ns: Count
    longest_ns: Count


class ThreadHost(Document):
    """CPU time and interruptions of one thread."""

    wall_ns: Count
    cpu_ns: Count
    voluntary_switches: Count
    involuntary_switches: Count
    run_delay_ns: Count | None
    gaps: Gaps


class Rung(Document):
    """Result for spins of one length."""

    intended_us: float
    spins: Count
    p50_us: float
    p99_us: float
    longest_us: float
    cpu_share: Share
    trusted: bool


class NoiseGaps(Document):
    """Statistics of the gaps of one spin."""

    over_5us: Count
    over_50us: Count
    over_1ms: Count
    largest_ns: Count
    stolen_ns: Count
    stolen_share: float
    delay_p99_ns: Count
    delay_p999_ns: Count


class NoiseFloor(Document):
    """Measurements on one CPU while a thread pinned to it only read the clock."""

    cpu: Count
    pinned: bool
    elapsed_ns: Count
    read_cost_ns: float
    gaps: NoiseGaps
    outside: NoiseGaps
    run_delay_ns: Count | None
    involuntary_switches: Count


class Oversleep(Document):
    """How late a sleep ends with the smallest timer slack (1 ns).

    The delay consists of the timer interrupt, the wake-up of an idle CPU and the run queue. A thread that
    sleeps between requests sends them this much late.
    """

    asked_ns: Count
    sleeps: Count
    p50_ns: Count
    p99_ns: Count


class Noise(Document):
    """CPU time that the host takes away, measured on several CPUs at the same time."""

    floors: list[NoiseFloor]
    oversleep: Oversleep | None
    steal_share: float | None


class Certificate(Document):
    """Accuracy of spinning on this host."""

    clock_read_ns: float
    cpu_clock_read_ns: Count
    ladder: list[Rung]
    trusted_from_us: float | None
    host: ThreadHost
    noise: Noise


class CpuQuota(Document):
    """The tightest CPU quota of this process's cgroup and its ancestors."""

    file: str
    cpus: float
    period_us: Count
    throttled_periods: Count | None


class IdleState(Document):
    """An idle state of a CPU (C-state)."""

    name: str
    exit_us: Count


class LoadAverage(Document):
    """Load averages of the whole host."""

    one: float
    five: float
    fifteen: float


class PortRange(Document):
    """A range of local ports, both ends included."""

    first: Count
    last: Count


class Nic(Document):
    """A network interface and its ability to stamp packets."""

    name: str
    software: bool | None
    hardware: bool | None
    switched_on: bool | None


class HostFacts(Document):
    """Properties and settings of a host. Fields whose file is absent are `None`; no value is guessed."""

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


Mark = Literal["fine", "note", "unfit"]
"""How much something distorts a measurement, in ascending order."""


class Finding(Document):
    """The result of one check."""

    id: str
    title: str
    value: str
    mark: Mark
    why: str
    hint: str | None


class Checkup(Document):
    """Facts, noise and findings of a host."""

    facts: HostFacts
    noise: Noise | None
    findings: list[Finding]


Outcome = Literal["hit", "miss", "error"]
"""The outcome of a reply."""


class CodeCount(Document):
    """Number of replies with one status code, and how the workload classifies the code."""

    count: Count
    outcome: Outcome


class Connects(Document):
    """Counts of connection attempts."""

    all: Count
    made: Count
    failed: Count
    full_handshakes: Count | UnsetType = UNSET
    resumed_handshakes: Count | UnsetType = UNSET


class Counts(Document):
    """Counts of one kind of request. `scheduled = completed + errors + timeouts + unsent` always holds."""

    scheduled: Count
    completed: Count
    misses: Count
    errors: Count
    timeouts: Count
    unsent: Count
    lost: Count | UnsetType = UNSET


class Datagrams(Document):
    """Unusual fates of datagrams since the load started."""

    late: Count
    refused: Count
    oversized: Count | UnsetType = UNSET


class EndpointReport(Document):
    """Counts of one server of several."""

    address: str
    counts: Counts


class Schedule(Document):
    """`/proc/thread-self/schedstat` (Documentation/scheduler/sched-stats.rst of the kernel)."""

    on_cpu_ns: Count
    run_delay_ns: Count
    timeslices: Count


class ThreadSpan(Document):
    """Counters of a thread between two readings."""

    wall_ns: Count
    cpu_ns: Count
    voluntary_switches: Count
    involuntary_switches: Count
    schedule: Schedule | None


class Hits(Document):
    """A source of interrupts and its count on the selected CPUs."""

    source: str
    count: Count


class InterruptSpan(Document):
    """Interrupts on some CPUs between two readings, the most frequent source first."""

    hard: list[Hits]
    hard_total: Count
    soft: list[Hits]


class Neighbour(Document):
    """A thread that ran between two readings, and whose last CPU was a selected one at either reading."""

    pid: Count
    tid: Count
    process: str
    name: str
    kernel: bool
    on_cpu_ns: Count
    turns: Count
    bound: bool


class Neighbourhood(Document):
    """The threads that ran on the selected CPUs between two readings."""

    named: list[Neighbour]
    more: Count
    forks: Count | None


class RunQueue(Document):
    """Scheduler statistics of one CPU (`/proc/schedstat`, Documentation/scheduler/sched-stats.rst of the
    kernel).
    """

    cpu: Count
    on_cpu_ns: Count
    run_delay_ns: Count
    turns: Count


class Throttling(Document):
    """How often this process's cgroup was throttled because it had used up its CPU quota, over its life or
    between two readings.

    It then stands still until the next period: up to 100 ms, on all its CPUs.
    """

    periods: Count
    period_us: Count


class HostSpan(Document):
    """Activity on a client's CPUs between two readings."""

    wall_ns: Count
    cpus: list[Count]
    interrupts: InterruptSpan
    run_queues: list[RunQueue]
    throttled: Throttling | None
    neighbours: Neighbourhood
    coordinator: ThreadSpan


class Memory(Document):
    """Memory of a client, in bytes."""

    peak_bytes: Count | None
    bound_bytes: Count


class MessageCounts(Document):
    """Counts of messages, of requests scheduled in the measurement."""

    replies: Count
    messages: Count
    empty: Count


class Window(Document):
    """The replies of one window."""

    at_ns: Count
    count: Count
    p50_ns: Count
    p99_ns: Count


class SessionCounts(Document):
    """Counts of sessions that began in the first half of the measurement."""

    begun: Count
    completed: Count
    failed: Count
    cut_off: Count


class StampReason(Document):
    """Why stamps are missing."""

    code: Literal["off", "refused", "none_received", "card_failed", "sources_differ"]
    text: str


class StampReport(Document):
    """The time stamps of one client."""

    every: Count
    source: Literal["software", "hardware"] | None
    interface: str | None
    requested: Count
    received: Count
    shared: Count
    without_out: Count
    without_in: Count
    implausible: Count
    clock_steps: Count
    largest_step_ns: Count
    reason: StampReason | None


class TcpCounters(Document):
    """TCP faults of a network namespace, since it was created or between two readings.

    Each costs a request 200 ms or more (`TCP_RTO_MIN`; 1 s for a connection attempt, RFC 6298), which no
    server can compensate; a zero window costs as long as the slow reader takes.
    """

    retransmits: Count
    syn_retransmits: Count
    listen_overflows: Count
    listen_drops: Count
    zero_windows: Count | UnsetType = UNSET


class Dispersion(Document):
    """Counts of requests sent in intervals of one length.

    The index of dispersion, variance over mean, is 1 for a Poisson process, 0 for equal gaps, and large for
    bursts.
    """

    span_ns: Count
    spans: Count
    requests: Count
    squares: Count


class Late(Document):
    """Requests that one stage made late."""

    requests: Count
    total_ns: Count
    worst_ns: Count


class LateByStage(Document):
    """Late requests of the measurement, by the stage that delayed them."""

    writing: Late
    reading: Late
    waiting: Late


class Shares(Document):
    """How a worker's measured requests were spread over its connections."""

    connections: Count
    least: Count
    most: Count
    chi_square: float | None
    silent: Count


class Fill(Document):
    """How full a socket buffer is.

    Its memory includes bookkeeping, so about two thirds of the limit are data (`tcp_adv_win_scale`,
    tcp(7)).
    """

    bytes: Count
    limit_bytes: Count


class SocketReport(Document):
    """Statistics of a worker's sockets from the start of the calibration to the last reply."""

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
    segment_requests: Count | UnsetType = UNSET
    segments: Count | UnsetType = UNSET


class ThreadReport(Document):
    """Statistics of one worker."""

    cpu: Count | None
    busy_share: float
    cpu_share: float
    run_delay_share: float | None
    dispersion: list[Dispersion]
    span: ThreadSpan
    away: AwayReport | UnsetType = UNSET
    late: LateByStage | UnsetType = UNSET
    scheduled_dispersion: list[Dispersion] | UnsetType | None = UNSET
    shares: Shares | UnsetType = UNSET
    sockets: SocketReport | UnsetType = UNSET


class Unhandled(Document):
    """Requests that an HTTP/2 server did not process, since the load started.

    Each is resent, and its latency still starts at its scheduled time. A request refused twice is an error.
    """

    refused: Count
    left_alone: Count


class Unreadable(Document):
    """Bytes from the server that are no reply or answer no request, since the load started: an error page
    on an idle connection, `-ERR max number of clients reached`.

    The connection is closed and reopened, and the request they would have answered is an error without a
    reply. An unreadable datagram is dropped.
    """

    count: Count
    first: str | None


Ended = Literal["elapsed", "steady", "never_steady"]
"""How a phase ended."""


class ClientResult(Document):
    """The result of one client. Its distributions are in `client-K.hlog`."""

    schema: Literal["hindmost.client/1"]
    index: Count
    of: Count
    seed: Count
    started_s: float
    warmup_s: float
    warmup_ended: Ended
    calibration: Calibration
    measure_s: float
    requested_per_s: float | None
    scheduled_per_s: float
    achieved_per_s: float
    counts: Counts
    kinds: dict[str, Counts]
    first_error: str | None
    reconnects: Count
    threads: list[ThreadReport]
    steal_share: Share | None
    tcp: TcpCounters | None
    by_turns: bool | UnsetType = UNSET
    codes: dict[str, CodeCount] | UnsetType = UNSET
    connects: Connects | UnsetType = UNSET
    datagrams: Datagrams | UnsetType | None = UNSET
    endpoints: list[EndpointReport] | UnsetType = UNSET
    host: HostSpan | UnsetType = UNSET
    kind_codes: dict[str, dict[str, CodeCount]] | UnsetType = UNSET
    measured_from_ns: Count | UnsetType = UNSET
    memory: Memory | UnsetType = UNSET
    messages: MessageCounts | UnsetType | None = UNSET
    raw_gaps_ns: list[Count] | UnsetType = UNSET
    resent: Count | UnsetType = UNSET
    series: list[list[Window]] | UnsetType = UNSET
    sessions: SessionCounts | UnsetType | None = UNSET
    stamps: StampReport | UnsetType = UNSET
    tcp_before: TcpCounters | UnsetType | None = UNSET
    unhandled: Unhandled | UnsetType | None = UNSET
    unreadable: Unreadable | UnsetType = UNSET


class Knob(Document):
    """A setting and its state."""

    name: str
    about: str
    value: str | None
    choices: list[str]
    missing: str | None
    found: str | None
    files: list[str]


Whose = Literal["person", "running", "nobody"]
"""Who restores a setting."""


class Left(Document):
    """A setting whose value differs from the original."""

    name: str
    found: str
    set: str
    by: Whose
    pid: Count | None
    unread: str | None


class LogSummary(Document):
    """Summary of a written log."""

    path: str
    requests: Count
    beyond: Count


Occupy = Literal["wall", "cpu"]
"""The clock that measures service times."""


class ProbeCost(Document):
    """Run time of one probe, measured after the trace; it includes the cost of the measurement."""

    probe: str
    runs: Count
    ns: Count


class Restored(Document):
    """A setting that was restored, or could not be."""

    name: str
    value: str
    failure: str | None


class ServedTotals(Document):
    """Sums over the requests of one thread or of all threads.

    Only requests that take service time count as served (memcached: get, set, add, replace, delete; HTTP:
    requests for a page). Times are in nanoseconds, summed since the start; subtract two readings to get an
    interval.
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


class TimeDistribution(Document):
    """A distribution of times in nanoseconds."""

    count: Count
    mean_ns: float
    p50_ns: Count
    p90_ns: Count
    p95_ns: Count
    p99_ns: Count
    p999_ns: Count
    max_ns: Count
    bins: list[tuple[Count, Count]]


class ServerSummary(Document):
    """The final summary of a server."""

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


class TraceCost(Document):
    """Cost of the trace itself."""

    reader_ns: Count
    attached_ns: Count
    probes_ns: Count
    costed_requests: Count
    probes: list[ProbeCost]


class TraceCounts(Document):
    """Counts of traced requests and losses, in the order of `enum count` of the probes.

    `seen` = `done` + the four causes + requests still open at the end of the trace.
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


class Watched(Document):
    """Observations of one CPU, in nanoseconds of the monotonic clock."""

    cpu: Count
    from_ns: Count
    to_ns: Count
    period_ns: Count
    late_ns: Count
    wakings: Count
    cpu_ns: Count
    spans_ns: list[list[Count]]
    missed: Count
    unsure_ns: list[list[Count]] | UnsetType | None = UNSET
