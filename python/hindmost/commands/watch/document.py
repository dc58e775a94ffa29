"""The documents of ``hindmost watch show``, ``merge`` and ``list``."""

from __future__ import annotations

from typing import Any, Literal

from hindmost.core.notes import Note
from hindmost.core.store.estimates import Bounds
from hindmost.core.store.types import Document
from hindmost.stats.causes.ranking import MovedMetric
from hindmost.stats.series.changes import Change


class TraceCulprit(Document):
    """A culprit of a trace, and its share of the variance of latency."""

    name: str
    stage: str
    cause: str
    share: float


class MissingBlocks(Document):
    """Why metrics are not ranked yet.

    ``have``, ``need``: blocks that exist, and blocks that a ranking needs. ``of``: which blocks, ``slow`` or
    ``with latency``. ``at_s``: when enough blocks can exist at the earliest, if they go on like the last one.
    """

    have: int
    need: int
    of: str
    block_s: float
    at_s: float
    why: str
    code: str

    @property
    def note(self) -> Note:
        """The same as a note."""
        values = {"have": self.have, "need": self.need, "block_s": self.block_s, "at_s": self.at_s}
        return Note(self.code, self.why, values)


class RingView(Document):
    """A ring: whether latency changed, and which metrics moved with it; times in seconds since 1970.

    ``blocks``: end and percentile in microseconds of each; null without requests. ``paper_mode``: whether
    equation 6.1 of the paper, as printed, calls the last block an anomaly.
    """

    schema: Literal["hindmost.ring-view/1"] = "hindmost.ring-view/1"
    about: dict[str, Any]
    samples: int
    lasted_s: float
    cut: bool
    percentile: float
    block_s: float
    blocks: list[tuple[float, float | None]]
    change: Change
    bootstrap: Bounds
    paper_mode: bool | None
    moved: list[MovedMetric]
    moved_wait: MissingBlocks | None
    culprits: list[TraceCulprit]
    events: list[tuple[float, Any]]


class Batch(Document):
    """Latency of a batch of wall-clock time over all hosts; ``by_host``: each host's p99."""

    at_s: float
    requests: int
    p50_us: float
    p95_us: float
    p99_us: float
    by_host: dict[str, float]


class Merged(Document):
    """The latency of rings from several hosts."""

    schema: Literal["hindmost.merged/1"] = "hindmost.merged/1"
    rows: list[Batch]


class ServiceRow(Document):
    """A service of the daemon. ``fault``: why it is not watched; then only its name is known."""

    name: str
    application: str | None = None
    latency: str | None = None
    on_change: str | None = None
    ring: str | None = None
    runs: bool = False
    watched: bool = False
    fault: str | None = None


class Services(Document):
    """The services that a daemon watches. ``folder``: of their files."""

    schema: Literal["hindmost.services/1"] = "hindmost.services/1"
    folder: str
    services: list[ServiceRow]
