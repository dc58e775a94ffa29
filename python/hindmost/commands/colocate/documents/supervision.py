"""The documents of ``hindmost colocate supervise``: its result, and what it learns."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from hindmost.commands.colocate.documents.profiles import Processor
from hindmost.core.store.types import Count, Document, Note

SUPERVISION_SCHEMA: Literal["hindmost.supervision/1"] = "hindmost.supervision/1"
SUPERVISED_SCHEMA: Literal["hindmost.supervised/1"] = "hindmost.supervised/1"

Positive = Annotated[float, Meta(gt=0)]


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
    ``learned``: the file to which the windows were added as evidence.
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
    learned: str | UnsetType = UNSET


class SupervisedLatency(Document):
    """Medians over windows, µs; ``percentile_us``: of the promise."""

    p50_us: Positive
    p99_us: Positive
    percentile_us: Positive


class SupervisedBlock(Document):
    """About a minute of supervision as evidence: one line of a file next to the server's profile.

    ``session``: of all blocks of one supervision. ``server``, ``job``: names of their profiles.
    ``server_program``, ``job_program``: digests (`hindmost.commands.colocate.program`), null if unknown.
    ``processors``: CPUs of the job at its full share. ``adapted``: whether the job was throttled and paused.
    ``windows``: all. ``judged``: the job ran at its full share and used CPU time, or broke the limit with
    less. ``broken``: of these, beyond the limit. ``prevented``: the supervisor took CPUs away in the window,
    or after that or after a violation in the same block, so it is not known whether the limit would have
    been kept. ``alone``, ``alone_broken``: the job was paused, and in the window before as well.
    ``latency``: with the job, null without; ``latency_alone``: while it was paused. ``load``: CPU time of the
    server as a share of its CPUs, null if unknown.
    """

    schema: Literal["hindmost.supervised/1"]
    began: str
    session: str
    server: str
    job: str
    command: list[str]
    server_program: str | None
    job_program: str | None
    host: str
    kernel: str
    processor: Processor
    percentile: float
    limit_us: Positive
    window_s: Positive
    processors: Count
    adapted: bool
    windows: Count
    judged: Count
    broken: Count
    prevented: Count
    alone: Count
    alone_broken: Count
    latency: SupervisedLatency | None
    latency_alone: SupervisedLatency | None
    used_s: float
    load: float | None
