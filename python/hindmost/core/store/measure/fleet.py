"""Load hosts in ``result.json``: their latency, their clock relative to the controller's, their activity."""

from hindmost.core.store.types import Count, Document, Label, Microseconds, Share


class HostClock(Document):
    """Its monotonic clock minus the controller's, after the last run; largest error and drift of all runs."""

    offset_us: float
    error_us: float
    drift_ppm: float


class HostChannel(Document):
    """Activity of the process that speaks with the controller, in the measurement of the worst run.

    ``bytes``: sent and received on its connections; ``wakeups``: of all its threads.
    """

    bytes: int
    wakeups: Count
    cpu_ms: float


class LoadHost(Document):
    """One load host: its clients, their latency (mean over them and runs), their part in the tail."""

    host: str
    hostname: str
    clients: list[Count]
    latency_us: dict[Label, Microseconds]
    share_of_slowest: Share | None
    share_of_all: Share | None
    clock: HostClock
    channel: HostChannel | None


class VoidRun(Document):
    """A run that was void because a host was lost, and was repeated."""

    run: Count
    why: str


class Fleet(Document):
    """All load hosts."""

    hosts: list[LoadHost]
    voided: list[VoidRun]
