"""The document of a fit (``hindmost.fit/1``): its types, the source of its JSON Schema.

``misfit``, ``why``, ``beside``, ``threads`` and ``unknown`` are notes with codes since 0.2, sentences before.
"""

from typing import Any, Literal

from msgspec import UNSET, UnsetType

from hindmost.commands.clone.documents.predictions import Interval
from hindmost.core.store.types import Count, Document, Note, Share


class Source(Document):
    """The input: logs of the same threads count as one; quantiles in microseconds."""

    source: str
    column: str
    samples: Count
    threads: Count
    utilisation: float | None
    wall_us: dict[str, float]
    cpu_us: dict[str, float] | None


class DemandKind(Document):
    """Which time was fitted, CPU time or wall time, and how far the two differ."""

    of: Literal["cpu", "wall"]
    cpu_share: float | None
    wall_over_cpu: float | None
    contaminated: bool


class Law(Document):
    """A candidate: its mean error on held-out samples, and its errors by statistic and load, as shares.

    ``misfit``: where its tail differs from the samples', so that it cannot be chosen.
    """

    name: str
    parameters: Count
    error: float
    errors: dict[str, float]
    misfit: Note | None


class Curves(Document):
    """Densities over the logarithm of the time, and times above levels: of the samples and of the law."""

    edges_us: list[float]
    density: list[float]
    law: list[float]
    levels: list[float]
    samples_us: list[float]
    law_us: list[float]
    components: list[list[float]] | UnsetType = UNSET


class FittedLaw(Document):
    """The law of all requests, or of one kind.

    ``floor``: how much parts of the log differ from one another, measured like the candidates' errors.
    """

    name: str
    share: Share
    samples: Count
    taken: str
    floor: float
    candidates: list[Law]
    curves: Curves


class OrderFound(Document):
    """Lag-1 autocorrelation with its 95 % interval, errors of the forms tried, and the form used."""

    autocorrelation: float
    interval: list[float]
    errors: dict[str, float]
    taken: dict[str, Any]


class Pause(Document):
    """Pauses of one kind: by the clock (``per_second``, ``every_us``), or with a ``chance`` per request."""

    name: str
    hits: float
    per_second: float | None
    chance: float | None
    every_us: float | None
    length_us: dict[str, float]


class Gaps(Document):
    """Pauses in services: how often, in how much CPU time, for how long; ``every_us`` if at regular times.

    ``whom``: ``clock`` (a thread, whatever it does), ``request`` (waits of the request itself), ``both``, or
    ``untold`` and ``why``. Decided from pauses longer than ``longer_us``: of arrivals at an idle thread,
    ``idle_delayed`` were delayed by more than that, and ``idle_expected`` would have been delayed by
    clock-driven pauses. ``clock_share``: the share of clock-driven pauses and its 99 % interval. ``parts``:
    the clone's pauses.
    """

    hits: Count
    exposed_s: float
    per_second: float
    every_us: float | None
    length_us: dict[str, float]
    whom: Literal["clock", "request", "both", "untold"]
    longer_us: float
    idle_delayed: Count
    idle_expected: float
    clock_share: list[float]
    why: Note | None
    parts: list[Pause]


class OwnRow(Document):
    """A figure of the log's latency, and the clone's under the log's arrivals.

    ``off``: the clone's over the log's, minus 1; ``chance``: logarithm of the factor within which all figures
    of the clone vary in 95 % of such logs; ``differs``: by more than that, and by more than 5 %.
    """

    name: str
    log_us: Interval
    clone_us: float
    off: float
    chance: float
    differs: bool


class Own(Document):
    """One log's own latency compared with the clone's; or ``why`` the log does not have it."""

    why: Note | None
    source: str | None
    utilisation: float | None
    requests: int | None
    rows: list[OwnRow]


class LoadFound(Document):
    """Change of service times from no load to full load, with its 95 % interval, and the load of each log.

    ``bend``: the largest distance of a log from that line; ``seen``: whether the document includes the
    change.
    """

    time: float
    low: float
    high: float
    at: list[float]
    bend: float
    seen: bool
    said: str


class FitResult(Document):
    """A clone and how it was fitted."""

    schema: Literal["hindmost.fit/1"]
    clone: dict[str, Any]
    mean_busy_us: float
    capacity_per_s: float | None
    log: Source
    demand: DemandKind
    law: FittedLaw
    kinds: list[FittedLaw]
    by_kind_error: float | None
    floor: float
    order: OrderFound
    disturbance: Gaps | None
    beside: Note | None
    load: LoadFound | None
    threads: list[Note]
    own: list[Own]
    unknown: list[Note]
