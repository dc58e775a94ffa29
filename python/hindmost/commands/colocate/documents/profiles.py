"""The documents of ``hindmost colocate``: their types.

A profile of a server measured by a probe has ``loaded``, and ``latency`` in each axis;
others have neither. Older profiles have no ``rows``.
"""

from collections.abc import Callable
from typing import Literal, Self

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from hindmost.core.store.types import Count, Document, Note

STRESSORS_SCHEMA: Literal["hindmost.stressors/1"] = "hindmost.stressors/1"
PROFILE_SCHEMA: Literal["hindmost.profile/2"] = "hindmost.profile/2"

CORUN_SCHEMA: Literal["hindmost.corun/2"] = "hindmost.corun/2"
ADVICE_SCHEMA: Literal["hindmost.advice/2"] = "hindmost.advice/2"

Place = Literal["beside", "supervised", "elsewhere"]
Placement = Literal["siblings", "near", "far", "unknown"]


class Processor(Document):
    """The CPU model of a certificate or a profile, which is valid for this model only."""

    vendor: str
    family: int
    model: int
    name: str


class KnownStressor(Document):
    """A stressor that the engine has; ``paper``: reproduced from the paper."""

    name: str
    resource: str
    unit: str
    paper: bool


class StressorRate(Document):
    """The throughput of a class of instructions, in instructions per tick of the core.

    ``share``: of the documented rate. ``low``, ``high``: quartiles over its bursts. ``left_out``: why the
    certificate has no ports of this class; 0.1 has no such key.
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
    left_out: Note | UnsetType | None = UNSET


class Cell(Document):
    """Two classes of instructions in one stream: 0 if their times overlap, 1 if they add up."""

    a: str
    b: str
    value: float
    low: float
    high: float


class PortGroup(Document):
    """Classes on the same ports; ``axis``: whether it stresses nothing that another axis stresses."""

    classes: list[str]
    axis: bool


class Caches(Document):
    """The largest buffers that fit in each cache, from the knees of a pointer chase."""

    l1_bytes: Count
    l2_bytes: Count
    l3_bytes: Count


class Neighbour(Document):
    """Placement of another CPU relative to the measured one."""

    cpu: int
    placement: Placement
    one_way_ns: float
    same_port: float | None


class Stressors(Document):
    """What stressors reach on this core, and which of them share ports."""

    schema: Literal["hindmost.stressors/1"]
    processor: Processor
    cpu: int
    ghz: float
    rates: list[StressorRate]
    overlaps: list[Cell]
    groups: list[PortGroup]
    caches: Caches
    neighbours: list[Neighbour]
    took_s: float
    certificate_s: float


class Share(Document):
    """A degradation, 0.1 for a tenth less work, with its 95 % interval over windows."""

    value: float
    low: float
    high: float
    windows: Count

    @property
    def standard_error(self) -> float:
        """The standard error, from the 95 % interval of a normal distribution."""
        return (self.high - self.low) / 3.92

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0 or self.high < 0

    def map(self, change: Callable[[float], float]) -> Self:
        """Apply an increasing function to the value and the ends of its interval."""
        return replace(self, value=change(self.value), low=change(self.low), high=change(self.high))


class Growth(Document):
    """Growth of a server's latency percentiles as a share, 0.1 for 10 % longer; null as for an axis."""

    p50: Share | None
    p99: Share | None


class Axis(Document):
    """A program next to one stressor: the losses of both; null if windows were lost.

    ``latency``: of a server under load (`LoadedServer`).
    """

    stressor: str
    sensitivity: Share | None
    contentiousness: Share | None
    latency: Growth | UnsetType = UNSET


class LoadedServer(Document):
    """A server under a probe's open loop, next to the inert stressor: medians of windows.

    ``requested_per_s``: scheduled rate. ``requests``, ``failed``: in all windows. ``busy``: CPU time of the
    server as a share of one CPU. ``load``: share of time with a request of the probe, which sends one at a
    time, in flight. ``presence``: effect of the inert stressor, compared with an empty CPU.
    """

    address: str
    requested_per_s: float
    requests: Count
    failed: Count
    busy: float
    load: float | UnsetType = UNSET
    p50_us: float
    p99_us: float
    presence: Growth


class WindowRow(Document):
    """One window: rates per CPU second, placement and clocks (GHz, of both CPUs) before and after.

    ``stressor``: the stressor next to it, ``alone`` for none. ``kept``: whether it counts: the hypervisor
    neither moved a CPU nor changed the clock of the CPU whose rate is measured (the program's, if there is
    one). ``lost``: why the program has no rate. ``program``: its name, if there are several.
    """

    round: Count
    stressor: str
    with_program: bool
    program_per_s: float | None
    stressor_per_s: float | None
    placement: list[Placement]
    ghz: list[list[float]]
    kept: bool
    lost: Literal["units", "processor"] | None
    real_time: bool
    program: str | UnsetType = UNSET


class Method(Document):
    """How a profile was made."""

    unit: str
    window_ms: float
    windows: Count
    dropped: Count
    real_time: bool
    seed: int
    took_s: float


class Profile(Document):
    """What one program loses to each stressor, and what it inflicts: its profile.

    ``presence``: its loss next to the inert stressor, compared with an empty CPU. ``noise``: half-width of a
    typical interval; smaller values cannot be distinguished from zero. ``loaded``: if the program is a server
    measured by a probe. ``program``: digest of the program, null if it cannot be read. ``rows``: all windows.
    """

    schema: Literal["hindmost.profile/2"]
    name: str
    command: list[str]
    processor: Processor
    placement: Placement
    rate_per_s: float
    spread: float
    presence: Share | None
    axes: list[Axis]
    noise: float
    method: Method
    notes: list[Note]
    rows: list[WindowRow] | UnsetType = UNSET
    loaded: LoadedServer | UnsetType = UNSET
    program: str | UnsetType | None = UNSET


class PredictedLoss(Document):
    """A prediction: loss of rate, growth of percentiles, p99 with interval; null if the queue diverges.

    It comes from two profiles, or (``lighter: ...``) from the measured effect of the job at a lighter load.
    """

    model: str
    lost: float
    p50: float | None
    p99: float | None
    p99_low: float | None
    p99_high: float | None


class JobEffect(Document):
    """A server next to one job, at one load, compared with the inert stressor in the job's place.

    ``promise``: whether the growth of p99 stayed within the limit, judged by its interval.
    """

    job: str
    promise: Literal["kept", "broken", "undecided"]
    lost: Share | None
    latency: Growth
    predicted: list[PredictedLoss]


class JobEffectAtProfileLoad(JobEffect):
    """The same at the load of the server's profile.

    ``answer``: from the profiles, whether the job may run there. ``axes``: of the job's profile.
    """

    command: list[str]
    answer: Literal["yes", "no", "unknown"]
    axes: list[Axis]


class Score(Document):
    """The error of a prediction: mean absolute error of logarithms of growth.

    ``covered`` of the ``told`` p99 values with an interval lie inside it.
    """

    model: str
    p50: float | None
    p99: float | None
    covered: Count
    told: Count


class AtLoad(Document):
    """A server next to jobs at one additional load."""

    loaded: LoadedServer
    jobs: list[JobEffect]
    scores: list[Score]


class CoRun(Document):
    """A server next to jobs: predictions and results; ``axes`` are of the server's profile.

    ``loads``: additional loads, in the requested order.
    """

    schema: Literal["hindmost.corun/2"]
    server: str
    processor: Processor
    placement: Placement
    within: float
    loaded: LoadedServer
    axes: list[Axis]
    jobs: list[JobEffectAtProfileLoad]
    scores: list[Score]
    loads: list[AtLoad]
    window_ms: float
    windows: Count
    dropped: Count
    took_s: float
    notes: list[Note]


class SupervisedEvidence(Document):
    """Supervised windows of a server and a job, for one promise at one load.

    ``windows``: with the job at its full share, at that load or more. ``hours``: their time. ``effective``:
    independent windows that they are worth. ``broken``: share of them beyond the limit, or in which the
    supervisor had to act. ``bound``: the upper 95 % bound of this share. ``least``: the lower 95 % bound of
    the share beyond the limit, at that load or less. ``alone``: the share beyond the limit while the job was
    paused, null if it never was. ``load``: the highest observed load. ``processors``: fewest CPUs of the job.
    ``first``, ``last``: when the first and the last block began.
    """

    percentile: float
    limit_us: float
    window_s: float
    windows: Count
    hours: float
    effective: float
    broken: float
    bound: float
    least: float
    alone: float | None
    load: float | None
    processors: Count
    first: str
    last: str
    hosts: list[str]
    kernels: list[str]


class Evidence(Document):
    """What an answer rests on, next to the two profiles.

    ``pairs``: measured pairs: 1 if this pair decided, all of them if a model learned from them.
    ``supervised``: null if no supervised windows fit the question.
    """

    pairs: Count
    supervised: SupervisedEvidence | None


AnsweredBy = Literal["supervised", "measured", "model", "bound"]


class JobAdvice(Document):
    """One job: where it may run, and the figures that decide (shares of the server's rate).

    ``by``, ``evidence``: what the answer rests on, as in `Answer`. ``worst``: the most it may cost the
    server, by ``stressor``. ``allowed``: the loss the server may have.
    """

    job: str
    command: list[str]
    answer: Literal["yes", "no", "unknown"]
    by: AnsweredBy
    evidence: Evidence
    place: Place
    worst: float
    stressor: str | None
    allowed: float
    notes: list[Note]


class Advice(Document):
    """Which job goes where next to a server; CPUs by number."""

    schema: Literal["hindmost.advice/2"]
    server: str
    within: float
    load: float
    server_cpus: list[int]
    job_cpus: list[int]
    jobs: list[JobAdvice]
