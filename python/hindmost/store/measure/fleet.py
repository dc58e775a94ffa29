"""Load machines in ``result.json``: what each saw, its clock against the controller's, its silence."""

from typing import TypedDict

from hindmost.store.types import Count, Label, Microseconds, Share


class HostClock(TypedDict):
    """Its monotonic clock less the controller's, after the last run; the greatest error and drift of all."""

    offset_us: float
    error_us: float
    drift_ppm: float


class HostChannel(TypedDict):
    """What the process did that speaks with the controller, in the measurement of the worst run.

    ``bytes`` went through its connections, both ways; ``wakeups``: how often a thread of it was woken.
    """

    bytes: int
    wakeups: Count
    cpu_ms: float


class LoadHost(TypedDict):
    """One load machine: its clients, their latency (mean over them and runs), their part in the tail."""

    host: str
    hostname: str
    instances: list[Count]
    latency_us: dict[Label, Microseconds]
    share_of_slowest: Share | None
    share_of_all: Share | None
    clock: HostClock
    channel: HostChannel | None


class VoidRun(TypedDict):
    """A run that was void for want of a host, and was made again."""

    run: Count
    why: str


class Fleet(TypedDict):
    """All load machines."""

    hosts: list[LoadHost]
    voided: list[VoidRun]
