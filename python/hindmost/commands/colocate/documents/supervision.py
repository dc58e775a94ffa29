"""The document of ``hindmost colocate supervise --json``: its types."""

from typing import Literal

from hindmost.core.store.types import Count, Document, Note

SUPERVISION_SCHEMA: Literal["hindmost.supervision/1"] = "hindmost.supervision/1"


class SupervisedWindow(Document):
    """One window: the server's percentile, and the job's CPUs and use.

    ``percentile_us``: null if nothing was answered. ``processors``: the job's CPUs at the end of the window;
    0: paused. ``ran``: whether the job could run when the window began. ``used_s``, ``idle_s``: CPU time that
    the job used, and that was unused. ``why``: of the last change, null for none. ``overwritten``: settings
    of the job's cgroup that another program had changed; they were set again.
    """

    at_s: float
    requests: Count
    failed: Count
    percentile_us: float | None
    kept: bool
    processors: Count
    ran: bool
    used_s: float
    idle_s: float
    why: Note | None
    overwritten: list[str]


class Supervision(Document):
    """A job next to a server whose latency limit was watched.

    ``kept``, ``broken``: windows within the limit and above it. ``broken_paused``: windows above it in
    which the job was paused throughout, so that it is not the cause. ``got``: the job's share of the CPU time
    that the server and all others left free; null if none was free. ``processors``: the CPUs it could have.
    ``fixed``: its constant number of CPUs, if nothing was adapted. ``job_exit``: null if it kept running.
    """

    schema: Literal["hindmost.supervision/1"]
    application: str
    job: str
    percentile: float
    limit_us: float
    window_s: float
    windows: list[SupervisedWindow]
    kept: Count
    broken: Count
    broken_paused: Count
    used_s: float
    got: float | None
    paused: Count
    cuts: Count
    processors: Count
    fixed: Count | None
    job_exit: int | None
    interrupted: bool
    took_s: float
