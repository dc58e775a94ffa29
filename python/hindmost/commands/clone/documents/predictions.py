"""The documents with predictions of clones: their types, the source of their JSON Schemas.

===================== ================================== ===================================
schema                where                              written by
===================== ================================== ===================================
hindmost.simulation/1 ``hindmost clone simulate --json`` `hindmost.commands.clone.simulation`
hindmost.sweep/1      ``hindmost clone sweep --json``    `hindmost.commands.clone.sweep`
===================== ================================== ===================================
"""

from typing import Any, Literal

from msgspec import UNSET, UnsetType, field

from hindmost.commands.clone.parameters import Value
from hindmost.core.frames import Library, frame
from hindmost.core.store.types import Document, Number


class Interval(Document):
    """A figure in microseconds, and its 95 % interval; null without one."""

    value: float
    low: Number
    high: Number


class KindPrediction(Document):
    """Latency of one kind of request."""

    name: str
    requests: int
    latency_us: dict[str, float]


class LockPrediction(Document):
    """The cost of an array of locks."""

    name: str
    taken: int
    waited_share: float
    sleeps_per_taken: float
    mean_wait_us: float
    held_share: float


class Prediction(Document, omit_defaults=True):
    """The result of one design. ``latency_us``: ``mean`` and quantiles such as ``p99``, in microseconds.

    ``above_capacity``: it was not simulated, because the queue would grow without end. ``load``: the rate as
    a share of the capacity; ``busy_share``: the threads' time with a request; ``queueing_us``: until a thread
    takes the request; ``service_us``: from then on, including waits for locks and stalls.
    """

    state: Literal["done", "above_capacity"]
    threads: int
    requests: int | UnsetType = UNSET
    rate_per_s: Number
    capacity_per_s: Number
    throughput_per_s: Number | UnsetType = UNSET
    busy_share: float | UnsetType = UNSET
    span_us: float | UnsetType = UNSET
    demand_us: float | UnsetType = UNSET
    latency_us: dict[str, Interval] = field(default_factory=dict)
    queueing_us: dict[str, float] = field(default_factory=dict)
    service_us: dict[str, float] = field(default_factory=dict)
    kinds: list[KindPrediction] | UnsetType = UNSET
    locks: list[LockPrediction] | UnsetType = UNSET
    load: Number


class Simulation(Prediction, kw_only=False):
    """The document of ``hindmost clone simulate --json``: the prediction and its inputs."""

    schema: Literal["hindmost.simulation/1"]
    clone: str
    seed: int
    arrivals: str | dict[str, Any]


class SweepPoint(Prediction, kw_only=False):
    """One design point: number of its design, and its differences from the clone."""

    design: int
    set: dict[str, Value]


class VariedParameter(Document):
    """A parameter and its values."""

    path: str
    values: list[Value]


class SimulatedValue(Document):
    """A value that was simulated, and its latency; null above the capacity."""

    value: float
    latency_us: Interval | None


class InverseAnswer(Document):
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
    set: dict[str, Value]
    load: dict[str, float] | None
    state: Literal["found", "always", "never", "not_monotone"]
    value: float | int | None
    surely: float | int | None
    side: Literal["at_most", "at_least"]
    safe: float | int | None
    low: float | int | None
    high: float | int | None
    safe_latency_us: Interval | None
    latency_us: Interval | None
    crossings: list[list[float]]
    uneven_at: list[float]
    tried: list[SimulatedValue]


class Sweep(Document):
    """Many designs of one clone at many loads.

    Examples
    --------
    >>> import hindmost
    >>> found = hindmost.clone.sweep("silo", utilisation=0.5, requests=5_000).document
    >>> list(found.points[0].latency_us) == ["mean", "p50", "p95", "p99", "p99.9"]
    True
    """

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

    def to_frame(self, library: Library | None = None) -> Any:  # noqa: ANN401 (of either)
        """Return a DataFrame with a row per design point, a column per parameter, and times in us.

        Parameters
        ----------
        library : {"polars", "pandas", "rows"}, optional
            Which library; by default, the installed one, with polars first. ``rows`` is a list of
            dictionaries.

        Raises
        ------
        UsageError
            Neither is installed.
        """
        return frame([_row(point) for point in self.points], library)


def _row(point: SweepPoint) -> dict[str, Any]:
    row: dict[str, Any] = {"design": point.design, **point.set, "state": point.state}
    row |= {"rate_per_s": point.rate_per_s, "load": point.load, "capacity_per_s": point.capacity_per_s}
    row["busy_share"] = None if point.busy_share is UNSET else point.busy_share
    for name, one in point.latency_us.items():
        row |= {f"{name}_us": one.value, f"{name}_low_us": one.low, f"{name}_high_us": one.high}
    return row
