"""The documents of ``hindmost colocate``: their types.

History: ``hindmost.rulers/1``, ``hindmost.profile/1``, ``hindmost.advice/1``, ``hindmost.corun/1`` (0.1.0),
the first. A profile of a server that is asked by a probe has ``loaded``, and ``latency`` in each axis; others
have neither. Profiles made before windows were kept have no ``rows``.
"""

from typing import Literal, NotRequired, TypedDict

from hindmost.store.types import Count, Note

RULERS_SCHEMA: Literal["hindmost.rulers/1"] = "hindmost.rulers/1"
PROFILE_SCHEMA: Literal["hindmost.profile/1"] = "hindmost.profile/1"

CORUN_SCHEMA: Literal["hindmost.corun/1"] = "hindmost.corun/1"
ADVICE_SCHEMA: Literal["hindmost.advice/1"] = "hindmost.advice/1"

Place = Literal["beside", "supervised", "elsewhere"]
Placement = Literal["siblings", "near", "far", "unknown"]


class Processor(TypedDict):
    """What a certificate or a profile was made on: it holds for no other."""

    vendor: str
    family: int
    model: int
    name: str


class RulerRate(TypedDict):
    """What a class of instructions reaches, an instruction a tick of the core.

    ``share``: of the documented rate. ``low``, ``high``: by the quartiles of its bursts.
    """

    name: str
    rate: float | None
    low: float | None
    high: float | None
    documented: float | None
    share: float | None
    clean: Count
    tried: Count
    missing: str | None


class Cell(TypedDict):
    """Two classes in one stream: 0 where their times hide, 1 where they add."""

    a: str
    b: str
    value: float
    low: float
    high: float


class PortGroup(TypedDict):
    """Classes on the same ports; ``axis``: whether it stresses nothing that another axis does."""

    classes: list[str]
    axis: bool


class Caches(TypedDict):
    """The largest buffers that stay in each cache, by the knees of a chase."""

    l1_bytes: Count
    l2_bytes: Count
    l3_bytes: Count


class Neighbour(TypedDict):
    """How another processor stood to the one that was measured."""

    cpu: int
    placement: Placement
    one_way_ns: float
    same_port: float | None


class Rulers(TypedDict):
    """What stressors reach on this core, and which of them share ports."""

    schema: Literal["hindmost.rulers/1"]
    processor: Processor
    cpu: int
    ghz: float
    rates: list[RulerRate]
    overlaps: list[Cell]
    groups: list[PortGroup]
    caches: Caches
    neighbours: list[Neighbour]
    took_s: float
    certificate_s: float


class Share(TypedDict):
    """A degradation, 0.1 for a tenth less work, with its 95 % interval over windows."""

    value: float
    low: float
    high: float
    windows: Count


class Growth(TypedDict):
    """By what share percentiles of a server's latency grow, 0.1 for a tenth longer; null as for an axis."""

    p50: Share | None
    p99: Share | None


class Axis(TypedDict):
    """A program next to one stressor: the losses of both; null where windows were lost.

    ``latency``: of a server under load (`Loaded`).
    """

    ruler: str
    sensitivity: Share | None
    contentiousness: Share | None
    latency: NotRequired[Growth]


class Loaded(TypedDict):
    """A server under a probe's open loop, next to the inert stressor: medians of windows.

    ``asked_per_s``: due. ``requests``, ``failed``: of all windows. ``busy``: CPU time of the server in share
    of one processor. ``load``: share of time in which a request of the probe, which asks one at a time, is
    under way. ``presence``: of the inert stressor, against nothing on the other processor at all.
    """

    address: str
    asked_per_s: float
    requests: Count
    failed: Count
    busy: float
    load: NotRequired[float]
    p50_us: float
    p99_us: float
    presence: Growth


class WindowRow(TypedDict):
    """One window: rates a CPU second, placement and clocks (GHz, of both processors) before and after.

    ``ruler``: next to what, ``alone`` for nothing. ``kept``: whether it counts: neither did the host move a
    processor, nor change the clock of the one whose rate it tells (the program's, where there is one).
    ``lost``: why there is no rate of the program.
    ``program``: its name, where there are several.
    """

    round: Count
    program: NotRequired[str]
    ruler: str
    with_program: bool
    program_per_s: float | None
    ruler_per_s: float | None
    placement: list[Placement]
    ghz: list[list[float]]
    kept: bool
    lost: Literal["units", "processor"] | None
    real_time: bool


class Method(TypedDict):
    """How a profile was made."""

    unit: str
    window_ms: float
    windows: Count
    dropped: Count
    real_time: bool
    seed: int
    took_s: float


class Profile(TypedDict):
    """What one program loses to each resource, and takes of it: a profile.

    ``presence``: what it loses next to the inert stressor, against nothing on the other processor at all.
    ``noise``: half the width of a typical interval, what lies below is not told from zero.
    ``loaded``: where the program is a server that was asked by a probe. ``rows``: all windows.
    """

    schema: Literal["hindmost.profile/1"]
    name: str
    command: list[str]
    processor: Processor
    placement: Placement
    rate_per_s: float
    spread: float
    presence: Share | None
    axes: list[Axis]
    loaded: NotRequired[Loaded]
    noise: float
    method: Method
    notes: list[Note]
    rows: NotRequired[list[WindowRow]]


class Predicted(TypedDict):
    """A guess: loss of rate, growth of percentiles, p99 with an interval; null where a queue would not end.

    From two profiles, or (``lighter: ...``) from what came of the job under a lighter load.
    """

    model: str
    lost: float
    p50: float | None
    p99: float | None
    p99_low: float | None
    p99_high: float | None


class Beside(TypedDict):
    """A server next to one job, under one load, against the inert stressor in its place.

    ``promise``: whether p99 grew within the limit, by its interval.
    """

    job: str
    promise: Literal["kept", "broken", "undecided"]
    lost: Share | None
    latency: Growth
    predicted: list[Predicted]


class CoRan(Beside):
    """The same under the load of the server's profile.

    ``answer``: of the profiles, whether the job may run there. ``axes``: of the job's profile.
    """

    command: list[str]
    answer: Literal["yes", "no", "unknown"]
    axes: list[Axis]


class Score(TypedDict):
    """How far a guess was off: mean absolute error of logarithms of growth.

    ``covered`` of the ``told`` p99 that have an interval lie where it says.
    """

    model: str
    p50: float | None
    p99: float | None
    covered: Count
    told: Count


class AtLoad(TypedDict):
    """A server next to jobs under one load more."""

    loaded: Loaded
    jobs: list[Beside]
    scores: list[Score]


class CoRun(TypedDict):
    """A server next to jobs: predictions and results; ``axes`` are of the server's profile.

    ``loads``: further ones, in the order in which they were asked for.
    """

    schema: Literal["hindmost.corun/1"]
    server: str
    processor: Processor
    placement: Placement
    within: float
    loaded: Loaded
    axes: list[Axis]
    jobs: list[CoRan]
    scores: list[Score]
    loads: list[AtLoad]
    window_ms: float
    windows: Count
    dropped: Count
    took_s: float
    notes: list[Note]


class Advised(TypedDict):
    """One job: where it may run, and the figures that decide (shares of the server's rate).

    ``worst``: that it may cost the server, beside ``ruler``. ``allowed``: that the server may lose.
    """

    job: str
    command: list[str]
    answer: Literal["yes", "no", "unknown"]
    place: Place
    worst: float
    ruler: str | None
    allowed: float
    notes: list[Note]


class Advice(TypedDict):
    """Who goes where next to a server; processors by number."""

    schema: Literal["hindmost.advice/1"]
    server: str
    within: float
    load: float
    server_cpus: list[int]
    job_cpus: list[int]
    jobs: list[Advised]
