"""The document that ``hindmost colocate supervise --json`` prints: its types.

History: ``hindmost.supervision/1`` (0.1.0), the first.
"""

from typing import Literal, TypedDict

from hindmost.store.types import Count, Note

SUPERVISION_SCHEMA: Literal["hindmost.supervision/1"] = "hindmost.supervision/1"


class SupervisedWindow(TypedDict):
    """One window: the server's percentile, and what the job was given and got.

    ``percentile_us``: null where nothing was answered. ``processors``: of the job, as in force at
    the window's end; 0: paused. ``ran``: whether the job could run when the window began. ``used_s``,
    ``idle_s``: processor time that the job got, and that nobody used. ``why``: of the last change, null for
    none. ``overwritten``: settings of the job's group that another program had changed; they were set again.
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


class Supervision(TypedDict):
    """A job next to a server whose promise was watched.

    ``kept``, ``broken``: windows within the promise and not. ``broken_paused``: of these, such in which the
    job was paused from begin to end, and is not to blame. ``got``: the job's part of the processor time that
    the server and all others left free; null where nothing was free. ``processors``: that it could have.
    ``fixed``: those that it had throughout, where nothing was adapted. ``job_exit``: null where it ran on.
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
