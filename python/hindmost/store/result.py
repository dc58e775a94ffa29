"""The document that ``hindmost measure`` writes as ``result.json``: its types and its JSON Schema.

The document is a plain ``dict`` from end to end (``json.loads`` gives it, the page and the terminal table
read it); the classes here are its types for the checker and the source of ``schemas/measure.schema.json``.
They cost nothing at run time.

Rules that hold everywhere in the document:

- Times named ``*_us`` are microseconds, ``*_s`` seconds, ``*_share`` fractions of 1; ``started`` and
  ``created`` are ISO 8601 in UTC.
- JSON has no infinity. A ``null`` latency beside ``censored_runs > 0`` (or in a run or on a curve) means
  *infinitely late*: that quantile was reached by unsent or timed-out requests. ``low`` and ``high`` are
  ``null`` with ``censored_runs == 0`` when one run cannot carry an interval.
- Quantiles are labelled by their percentile, ``p50``, ``p99.9``; ``mean`` stands beside them.
- ``due = done + errors + timeouts + unsent``; ``misses`` are part of ``done``.

History of the format: ``hindmost.measure/1`` (0.1.0), the first.
"""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec

SCHEMA_NAME = "hindmost.measure/1"

Verdict = Literal["valid", "invalid", "inconclusive"]
Mark = Literal["fine", "mind", "unfit"]

Label = Annotated[str, msgspec.Meta(pattern=r"^(mean|p\d{1,3}(\.\d+)?)$")]
Count = Annotated[int, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Level = Annotated[float, msgspec.Meta(ge=0, le=1, description="a quantile level, 0..1")]
Microseconds = Annotated[
    float | None, msgspec.Meta(description="microseconds; null is infinitely late, or not known")
]


class Reason(TypedDict):
    """Why the verdict is what it is, or what to keep in mind; commands in a hint stand between backticks."""

    code: str
    level: Literal["invalid", "inconclusive", "mind"]
    text: str
    hint: str | None


class Target(TypedDict):
    """The server under test; ``managed`` says whether Hindmost started (and restarted) it."""

    name: str
    protocol: str
    address: str
    managed: bool
    command: NotRequired[list[str] | None]
    cpus: NotRequired[list[int] | None]
    server_version: NotRequired[str | None]


class Plan(TypedDict, total=False):
    """The measure plan as it was resolved; more keys may stand here."""

    rate_per_s: float | None
    loop: Literal["open", "closed"]
    arrivals: str
    clients: int
    connections: int
    pacing: Literal["spin", "sleep"]
    runs: list[int]
    precision: float
    duration_s: float
    warmup: str | float
    quantiles: list[Level]
    aggregate: Literal["mean", "median"]
    seed: int
    workload: dict[str, Any]


class Estimate(TypedDict):
    """One figure with its interval over runs: never one without the other."""

    value: Microseconds
    low: Microseconds
    high: Microseconds
    runs: Count
    censored_runs: Count
    verdict: Verdict


Estimates = dict[Label, Estimate]
Values = dict[Label, Microseconds]


class Counts(TypedDict):
    """What became of every request that was due."""

    due: Count
    done: Count
    misses: Count
    errors: Count
    timeouts: Count
    unsent: Count


class Throughput(TypedDict):
    """Requests per second; ``asked`` is null in a closed loop."""

    asked: float | None
    achieved: float


class Rate(TypedDict):
    """Requests per second, with its interval over runs; ``low`` and ``high`` are null for a single run."""

    value: float
    low: float | None
    high: float | None
    runs: Count


class Saturation(TypedDict):
    """The asked rate was not carried: by whom, and what was answered then, late replies included.

    ``answered_per_s`` is an upper estimate of the rates that can hold (where ``by`` is ``server``); ``find``
    is the command that searches for the highest one.
    """

    by: Literal["server", "client", "connections", "silence"]
    asked_per_s: float
    answered_per_s: Rate
    text: str
    find: str


class Curve(TypedDict):
    """A quantile function, level against value; null is infinitely late."""

    q: list[Level]
    us: list[float | None]


class Margin(TypedDict):
    """A figure beside a packet capture, over runs; a difference may be negative."""

    value: Annotated[float, msgspec.Meta(description="microseconds")]
    low: float | None
    high: float | None
    runs: Count


class Differences(TypedDict):
    """Differences request by request, in microseconds: median, 5th and 95th percentile."""

    value: float
    low: float
    high: float


class Compared(TypedDict):
    """One of our latencies beside the capture's, of the same requests.

    ``gap_us`` is the distance of the two quantiles; ``request_us`` the differences request by request, of the
    requests about that quantile of the capture's. ``constancy_us`` is the largest less the least gap up to
    the percentile ``upto``, null where there are too few requests; ``goal_us`` is what it should not exceed.
    """

    requests: Count
    ours_us: dict[Label, Margin]
    capture_us: dict[Label, Margin]
    gap_us: dict[Label, Margin]
    request_us: dict[Label, Differences]
    constancy_us: float | None
    upto: str
    goal_us: float


class Curves(TypedDict):
    """Quantile curves of the requests that the captures saw, all runs together."""

    capture: Curve
    wire: Curve
    service: Curve


class Capture(TypedDict):
    """The proof against a packet capture (``--verify-wire``).

    ``runs`` of ``of`` runs have one that proves something; ``requests`` of the ``answered`` ones among their
    samples were found in it; ``dropped`` packets had no room; so many ``connections`` were captured, null for
    all. ``fault`` and ``hint``: why there is none.
    """

    runs: Count
    of: Count
    requests: Count
    answered: Count
    dropped: Count
    connections: Count | None
    fault: str | None
    hint: str | None
    wire: Compared | None
    service: Compared | None
    curves: Curves


class Kind(TypedDict):
    """One kind of request, such as ``get``."""

    latency_us: Estimates
    counts: Counts


class Arrivals(TypedDict):
    """How the gaps between an instance's sends differ from the law asked for.

    ``distance`` is Kolmogorov's, with its 95 % interval; ``dispersion`` is the index of dispersion of counts
    by span (1 for a Poisson process, 0 for equal gaps), ``dispersion_error`` what chance alone gives it.
    """

    gaps: Count
    distance: Share | None
    low: Share | None
    high: Share | None
    anderson_darling: float | None
    dispersion: dict[str, float | None]
    dispersion_error: dict[str, float]


class Alone(TypedDict):
    """What one instance in one run can say of a quantile by itself, valid under autocorrelation.

    ``low`` and ``high`` are null when the run is ``too_short`` for an interval; ``need``: how many times
    longer it should be.
    """

    value: Microseconds
    low: Microseconds
    high: Microseconds
    too_short: bool
    need: float | None


class StampReason(TypedDict):
    """Why stamps are missing, or why they are not the network card's."""

    code: Literal["off", "refused", "none_came", "card_failed", "sources_differ"]
    text: str


class Stamps(TypedDict):
    """Where an instance's wire latency comes from, and how much of it came.

    One request in ``every`` was to be stamped (0: none); of ``asked`` that were answered, ``came`` have a
    wire latency. The others lack a transmit stamp, a receive stamp, or their stamps are impossible, because
    a clock was set between them. Of those that came, ``shared`` bear a receive stamp that is also that of
    bytes behind the reply. ``clock_steps``: times that the time of day was set meanwhile.
    """

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
    stamps: NotRequired[Stamps | None]
    busy_share: float | None
    cpu_share: NotRequired[float | None]
    run_delay_share: float | None
    involuntary_switches: int | None
    warmup_s: float | None
    steady: bool | None


class Run(TypedDict):
    """All instances against one start of the server."""

    run: int
    seed: int
    started: str
    seconds: float
    verdict: Verdict
    reasons: list[Reason]
    latency_us: Values
    service_us: Values
    slip_us: Values
    throughput: Throughput
    counts: Counts
    server_cpu_share: float | None
    instances: list[Instance]


class Variance(TypedDict):
    """Spread of a quantile within a run and between runs; ``between_share`` is of the total variance."""

    between_runs_sd_us: float | None
    within_run_sd_us: float | None
    between_share: Share | None


class Hysteresis(TypedDict):
    """Whether the runs settled at different values (paper, II-D), in words."""

    visible: bool | None
    text: str


class SharesAt(TypedDict):
    """Who contributed the samples around quantile ``q``; one share per instance."""

    q: Level
    shares: list[Share]


class Clients(TypedDict):
    """Decomposition of the merged distribution by instance (paper, Figure 2)."""

    instances: Count
    pacing: Literal["spin", "sleep"]
    threshold_us: Microseconds
    share_of_slowest: list[Share]
    share_of_all: list[Share]
    owner: int | None
    by_quantile: list[SharesAt]


class Look(TypedDict):
    """The interval as it stood after ``runs`` runs."""

    runs: Count
    value: Microseconds
    low: Microseconds
    high: Microseconds


class Stopping(TypedDict):
    """When and why the runs ended."""

    rule: str
    precision: float
    reached: bool
    quantile: Label
    runs: Count
    path: dict[Label, list[Look]]


class RunCurve(Curve):
    """The latency curve of one run."""

    run: int


class Distributions(TypedDict, total=False):
    """Curves of the distributions merged over runs and instances."""

    latency: Curve
    service: Curve
    slip: Curve


class Figure(TypedDict):
    """One thing that the instrument watched of itself, beside its limits.

    A ``share`` is of the time, or of requests; above ``mind_above`` it is worth a word, above ``grave_above``
    it can cost the verdict. Limits that depend on a quantile are those of the highest one asked for. ``mark``
    is what became of it: ``mind`` a word, ``unfit`` the verdict.
    """

    id: str
    title: str
    value: float | None
    unit: Literal["share", "per_s", "count", "us"]
    mind_above: float | None
    grave_above: float | None
    mark: Mark


class Neighbour(TypedDict):
    """Who ran on the clients' processors; if not ``bound`` to them, part of it may have been elsewhere."""

    name: str
    pid: Count
    share: float
    turns_per_s: float
    bound: bool
    kernel: bool


class InterruptSource(TypedDict):
    """What interrupted the clients' processors."""

    source: str
    per_s: float


class Instrument(TypedDict):
    """The instrument's own account."""

    figures: list[Figure]
    neighbours: list[Neighbour]
    interrupts: list[InterruptSource]


class Outstanding(TypedDict):
    """How many requests each arrival found outstanding before it was sent (paper, Figure 1).

    Counted within one worker of one instance; ``connections`` is how many that worker has.
    """

    values: list[int]
    share: list[float]
    per_instance: bool
    connections: Count


class Series(TypedDict):
    """One run in windows, from the start of its warm-up; measured from ``measure_from_s``."""

    run: int
    t_s: list[float]
    rate: list[float | None]
    p50_us: list[float | None]
    p99_us: list[float | None]
    measure_from_s: float | None


class Finding(TypedDict):
    """One thing that ``hindmost doctor`` looked at."""

    id: str
    title: str
    value: str | int | float | bool | None
    mark: Mark
    why: NotRequired[str | None]
    hint: NotRequired[str | None]


class Host(TypedDict):
    """Facts of the host, and what of them distorts a measurement."""

    facts: dict[str, Any]
    findings: list[Finding]


class Measure(TypedDict):
    """The result of ``hindmost measure``."""

    schema: Literal["hindmost.measure/1"]
    version: str
    created: str
    verdict: Verdict
    headline: str
    reasons: list[Reason]
    study: str
    seconds_total: float
    target: Target
    plan: Plan
    latency_us: Estimates
    service_us: Estimates
    slip_us: Estimates
    ideal_slip_us: NotRequired[Estimates | None]
    wire_us: Estimates | None
    overhead_us: NotRequired[Estimates | None]
    capture: NotRequired[Capture]
    merged_us: Values
    by_kind: dict[str, Kind]
    throughput: Throughput
    saturation: NotRequired[Saturation | None]
    counts: Counts
    runs: list[Run]
    variance: dict[Label, Variance]
    hysteresis: Hysteresis
    clients: Clients
    stopping: Stopping
    instrument: NotRequired[Instrument]
    distributions: Distributions
    per_run_curves: list[RunCurve]
    outstanding: Outstanding | None
    series: list[Series]
    host: Host


def json_schema() -> dict[str, Any]:
    """Give the JSON Schema (2020-12) of the document, as kept in ``schemas/measure.schema.json``.

    Keys that the schema does not name are allowed, so that a later version may add some.

    Returns
    -------
    dict
        A schema that any validator of draft 2020-12 takes.

    """
    return schema_of(Measure, SCHEMA_NAME, "Result of hindmost measure")


def schema_of(document: Any, name: str, title: str) -> dict[str, Any]:  # noqa: ANN401 (a TypedDict class)
    """Give the JSON Schema (2020-12) of one kind of document."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": name, "title": title}
    body = msgspec.json.schema(document)
    return {**head, **body, "$defs": dict(sorted(body["$defs"].items()))}
