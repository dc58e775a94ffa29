"""What a fit found (``hindmost.fit/1``): its types, the source of its JSON Schema.

History of the format: ``hindmost.fit/1`` (0.1.0) first version.
"""

from typing import Any, Literal, NotRequired, TypedDict

from hindmost.store.types import Count, Share


class Source(TypedDict):
    """What was read: logs of the same threads as one; quantiles in microseconds."""

    source: str
    column: str
    samples: Count
    threads: Count
    utilisation: float | None
    wall_us: dict[str, float]
    cpu_us: dict[str, float] | None


class Asked(TypedDict):
    """Which time was fitted: CPU time or wall time, and how far the two lie apart."""

    of: Literal["cpu", "wall"]
    cpu_share: float | None
    wall_over_cpu: float | None
    contaminated: bool


class Law(TypedDict):
    """A candidate: its mean error on what was held out, and by statistic and load, as shares.

    ``misfit``: where its tail is not that of the samples, and it cannot be taken.
    """

    name: str
    parameters: Count
    error: float
    errors: dict[str, float]
    misfit: str | None


class Curves(TypedDict):
    """Densities over the logarithm of the time, and times beyond levels: of the samples and of the law."""

    edges_us: list[float]
    density: list[float]
    law: list[float]
    components: NotRequired[list[list[float]]]
    levels: list[float]
    samples_us: list[float]
    law_us: list[float]


class Fitted(TypedDict):
    """The law of all requests, or of one kind."""

    name: str
    share: Share
    samples: Count
    taken: str
    candidates: list[Law]
    curves: Curves


class OrderFound(TypedDict):
    """Lag-1 autocorrelation with its 95 % interval, errors of the forms tried, and what the document says."""

    autocorrelation: float
    interval: list[float]
    errors: dict[str, float]
    taken: dict[str, Any]


class Gaps(TypedDict):
    """What took the CPU away: how often in how much CPU time, for how long; ``every_us`` if by the clock."""

    hits: Count
    exposed_s: float
    per_second: float
    every_us: float | None
    length_us: dict[str, float]


class LoadFound(TypedDict):
    """How service times change from no load to full, with its 95 % interval, and the load of each log.

    ``bend``: how far the farthest log lies off that line; ``seen``: whether the document says it.
    """

    time: float
    low: float
    high: float
    at: list[float]
    bend: float
    seen: bool
    said: str


class FitResult(TypedDict):
    """A clone and how it was found."""

    schema: Literal["hindmost.fit/1"]
    clone: dict[str, Any]
    mean_busy_us: float
    capacity_per_s: float | None
    log: Source
    demand: Asked
    law: Fitted
    kinds: list[Fitted]
    by_kind_error: float | None
    order: OrderFound
    disturbance: Gaps | None
    beside: str | None
    load: LoadFound | None
    threads: list[str]
    unknown: list[str]
