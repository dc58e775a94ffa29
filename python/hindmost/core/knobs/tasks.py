"""The threads of a running server."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TypeVar

from hindmost.core.documents import read_kernel
from hindmost.core.knobs.knob import undo_on_exit
from hindmost.core.targets import ManagedServer
from hindmost.errors import HostUnfit, TargetError

Setting = TypeVar("Setting")

_ROUNDS = 20  # threads may start meanwhile; a ready server starts few


@dataclass(frozen=True, order=True)
class Task:
    """One thread.

    Attributes
    ----------
    process
        Index of its process among the server's processes.
    tid
        Its thread id.
    name
        Its name, set by the server (at most 15 characters).
    """

    process: int
    pid: int
    tid: int
    name: str


def tasks(server: ManagedServer, pattern: str = "*") -> list[Task]:
    """Return the threads whose names match `pattern`, process by process in the order of their starts.

    Raises
    ------
    TargetError
        If no thread has such a name; lists the names.
    """
    all_tasks: list[Task] = []
    for process, pid in enumerate(sorted(server.pids())):
        with contextlib.suppress(OSError):
            for tid in sorted(int(entry) for entry in os.listdir(f"/proc/{pid}/task")):  # noqa: PTH208
                with contextlib.suppress(OSError):
                    name = read_kernel(f"/proc/{pid}/task/{tid}/comm").rstrip("\n")
                    all_tasks.append(Task(process, pid, tid, name))
    matching = [task for task in all_tasks if fnmatchcase(task.name, pattern)]
    if not matching:
        names = ", ".join(sorted({task.name for task in all_tasks})) or "none"
        raise TargetError(
            "no-such-thread",
            f"the server has no thread called {pattern!r}; its threads: {names}",
            value=pattern,
            known=sorted({task.name for task in all_tasks}),
        )
    return matching


@contextmanager
def set_on_each(
    knob: str,
    server: ManagedServer,
    pattern: str,
    goal_for: Callable[[int, Task], Setting],
    read: Callable[[int], Setting],
    write: Callable[[int, Setting], None],
) -> Iterator[None]:
    """Set something on every thread, verify it, and restore the old values on exit.

    Parameters
    ----------
    goal_for
        Returns the setting of a thread, given its index among those set so far.
    read, write
        Read and write the setting of a thread id.

    Raises
    ------
    HostUnfit
        If the kernel refuses it, or a thread has another setting after the write.
    """
    old: dict[int, Setting] = {}
    goal: dict[int, Setting] = {}

    def undo() -> None:
        for tid, setting in old.items():
            with contextlib.suppress(OSError):  # the thread has ended
                write(tid, setting)

    with undo_on_exit(undo):
        for _ in range(_ROUNDS):
            fresh = [task for task in tasks(server, pattern) if task.tid not in goal]
            if not fresh:
                break
            for task in fresh:
                with _ignore_ended():
                    before = read(task.tid)
                    goal[task.tid] = goal_for(len(goal), task)
                    old[task.tid] = before
                    try:
                        write(task.tid, goal[task.tid])
                    except PermissionError as error:
                        raise HostUnfit(
                            "setting-refused",
                            f"{knob}: the kernel refuses {goal[task.tid]} for thread {task.tid}:"
                            f" {error.strerror}",
                            hint="run as root",
                            name=knob,
                            value=str(goal[task.tid]),
                        ) from None
        for tid, setting in goal.items():
            with _ignore_ended():
                if (is_now := read(tid)) != setting:
                    raise HostUnfit(
                        "setting-differs",
                        f"{knob}: thread {tid} was set to {setting}, but has {is_now}",
                        name=knob,
                        value=str(setting),
                        found=str(is_now),
                    )
        yield


@contextmanager
def _ignore_ended() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno != errno.ESRCH:
            raise
