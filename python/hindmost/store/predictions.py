"""What clone documents predict: types for the checker, and their JSON Schemas.

===================== ================================== ===================================
schema                where                              written by
===================== ================================== ===================================
hindmost.simulation/1 ``hindmost synth simulate --json`` `hindmost.models.simulation`
===================== ================================== ===================================

History of the formats: ``hindmost.simulation/1`` (0.1.0) first version.
"""

from typing import Literal, NotRequired, TypedDict


class Interval(TypedDict):
    """A figure in microseconds, and its 95 % interval; null where there is none."""

    value: float
    low: float | None
    high: float | None


class KindPrediction(TypedDict):
    """Latency of one kind of request."""

    name: str
    requests: int
    latency_us: dict[str, float]


class LockPrediction(TypedDict):
    """What an array of locks cost."""

    name: str
    taken: int
    waited_share: float
    sleeps_per_taken: float
    mean_wait_us: float
    held_share: float


class Prediction(TypedDict):
    """What one design gave. ``latency_us``: ``mean`` and quantiles such as ``p99``, us.

    ``above_capacity``: it was not run, because the queue would grow without end. ``load`` is the rate as a
    share of the capacity, ``busy_share`` the threads' time with a request; ``queueing_us`` lasts until a
    thread takes the request, ``service_us`` from then on, waiting for locks and stand-stills included.
    """

    state: Literal["done", "above_capacity"]
    threads: int
    rate_per_s: float | None
    capacity_per_s: float | None
    load: float | None
    requests: NotRequired[int]
    throughput_per_s: NotRequired[float | None]
    busy_share: NotRequired[float]
    demand_us: NotRequired[float]
    span_us: NotRequired[float]
    latency_us: NotRequired[dict[str, Interval]]
    queueing_us: NotRequired[dict[str, float]]
    service_us: NotRequired[dict[str, float]]
    kinds: NotRequired[list[KindPrediction]]
    locks: NotRequired[list[LockPrediction]]


class Simulation(Prediction):
    """The document of ``hindmost synth simulate --json``: the prediction, and how it came about."""

    schema: Literal["hindmost.simulation/1"]
    clone: str
    seed: int
    arrivals: Literal["exponential", "deterministic"]
