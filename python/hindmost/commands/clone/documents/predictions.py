"""The documents with predictions of clones: their types, the source of their JSON Schemas.

===================== ================================== ===================================
schema                where                              written by
===================== ================================== ===================================
hindmost.simulation/1 ``hindmost clone simulate --json`` `hindmost.commands.clone.simulation`
hindmost.sweep/1      ``hindmost clone sweep --json``    `hindmost.commands.clone.sweep`
===================== ================================== ===================================
"""

from typing import Any, Literal, NotRequired, TypedDict

from hindmost.core.store.types import Number


class Interval(TypedDict):
    """A figure in microseconds, and its 95 % interval; null without one."""

    value: float
    low: Number
    high: Number


class KindPrediction(TypedDict):
    """Latency of one kind of request."""

    name: str
    requests: int
    latency_us: dict[str, float]


class LockPrediction(TypedDict):
    """The cost of an array of locks."""

    name: str
    taken: int
    waited_share: float
    sleeps_per_taken: float
    mean_wait_us: float
    held_share: float


class Prediction(TypedDict):
    """The result of one design. ``latency_us``: ``mean`` and quantiles such as ``p99``, in microseconds.

    ``above_capacity``: it was not simulated, because the queue would grow without end. ``load``: the rate as
    a share of the capacity; ``busy_share``: the threads' time with a request; ``queueing_us``: until a thread
    takes the request; ``service_us``: from then on, including waits for locks and stalls.
    """

    state: Literal["done", "above_capacity"]
    threads: int
    rate_per_s: Number
    capacity_per_s: Number
    load: Number
    requests: NotRequired[int]
    throughput_per_s: NotRequired[Number]
    busy_share: NotRequired[float]
    demand_us: NotRequired[float]
    span_us: NotRequired[float]
    latency_us: NotRequired[dict[str, Interval]]
    queueing_us: NotRequired[dict[str, float]]
    service_us: NotRequired[dict[str, float]]
    kinds: NotRequired[list[KindPrediction]]
    locks: NotRequired[list[LockPrediction]]


class Simulation(Prediction):
    """The document of ``hindmost clone simulate --json``: the prediction and its inputs."""

    schema: Literal["hindmost.simulation/1"]
    clone: str
    seed: int
    arrivals: str | dict[str, Any]


class SweepPoint(Prediction):
    """One design point: number of its design, and its differences from the clone."""

    design: int
    set: dict[str, float | int | str | bool]


class VariedParameter(TypedDict):
    """A parameter and its values."""

    path: str
    values: list[float | int | str | bool]


class SimulatedValue(TypedDict):
    """A value that was simulated, and its latency; null above the capacity."""

    value: float
    latency_us: Interval | None


class InverseAnswer(TypedDict):
    """The answer of an inverse question.

    ``found``: ``safe`` is the answer: the last value that certainly holds, on its ``side``. ``low`` and
    ``high``: 95 % interval, over replications, of the value where the objective stops holding. ``value``: the
    last one that held in the search; ``surely``: the last one whose whole interval was below the limit.
    ``always`` and ``never`` refer to the searched range. ``not_monotone``: the objective holds in parts,
    between the values of ``crossings``. ``uneven_at``: where the latency moves against its trend by more than
    2 %.
    """

    objective: str
    figure: str
    limit_us: float
    by: str
    set: dict[str, float | int | str | bool]
    load: dict[str, float] | None
    state: Literal["found", "always", "never", "not_monotone"]
    value: float | int | None
    surely: float | int | None
    safe: float | int | None
    low: float | int | None
    high: float | int | None
    safe_latency_us: Interval | None
    side: Literal["at_most", "at_least"]
    latency_us: Interval | None
    crossings: list[list[float]]
    uneven_at: list[float]
    tried: list[SimulatedValue]


class Sweep(TypedDict):
    """Many designs of one clone at many loads."""

    schema: Literal["hindmost.sweep/1"]
    clone: str
    document: dict[str, Any]
    requests: int
    seed: int
    arrivals: str | dict[str, Any]
    together: bool
    vary: list[VariedParameter]
    points: list[SweepPoint]
    found: list[InverseAnswer]
