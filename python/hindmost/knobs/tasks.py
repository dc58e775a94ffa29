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

from hindmost.documents import read_kernel
from hindmost.errors import HostUnfit, TargetError
from hindmost.knobs.knob import undone
from hindmost.targets import ManagedServer

Setting = TypeVar("Setting")

_ROUNDS = 20  # threads may come while we look; a server that is ready makes few


@dataclass(frozen=True, order=True)
class Task:
    """One thread.

    Attributes
    ----------
    process
        Its process's place among the server's processes.
    tid
        Its own number.
    name
        What the server calls it (at most 15 characters).
    """

    process: int
    pid: int
    tid: int
    name: str


def tasks(server: ManagedServer, pattern: str = "*") -> list[Task]:
    """Threads whose names fit `pattern`, process by process in the order of their starts.

    Raises
    ------
    TargetError
        If no thread has such a name; says which there are.
    """
    found: list[Task] = []
    for process, pid in enumerate(sorted(server.pids())):
        with contextlib.suppress(OSError):
            for tid in sorted(int(entry) for entry in os.listdir(f"/proc/{pid}/task")):  # noqa: PTH208
                with contextlib.suppress(OSError):
                    name = read_kernel(f"/proc/{pid}/task/{tid}/comm").rstrip("\n")
                    found.append(Task(process, pid, tid, name))
    fit = [task for task in found if fnmatchcase(task.name, pattern)]
    if not fit:
        names = ", ".join(sorted({task.name for task in found})) or "none"
        raise TargetError(
            "no-such-thread",
            f"the server has no thread called {pattern!r}; its threads: {names}",
            value=pattern,
            known=sorted({task.name for task in found}),
        )
    return fit


@contextmanager
def set_on_each(
    knob: str,
    server: ManagedServer,
    pattern: str,
    wanted: Callable[[int, Task], Setting],
    read: Callable[[int], Setting],
    write: Callable[[int, Setting], None],
) -> Iterator[None]:
    """Set something on every thread, read it again, put back on exit what was found.

    Parameters
    ----------
    wanted
        What a thread shall have, given its place among those set so far.
    read, write
        By the thread's number.

    Raises
    ------
    HostUnfit
        The kernel refuses it, or a thread has something else after the write.
    """
    found: dict[int, Setting] = {}
    goal: dict[int, Setting] = {}

    def undo() -> None:
        for tid, setting in found.items():
            with contextlib.suppress(OSError):  # the thread is gone
                write(tid, setting)

    with undone(undo):
        for _ in range(_ROUNDS):
            fresh = [task for task in tasks(server, pattern) if task.tid not in goal]
            if not fresh:
                break
            for task in fresh:
                with _gone_is_fine():
                    before = read(task.tid)
                    goal[task.tid] = wanted(len(goal), task)
                    found[task.tid] = before
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
            with _gone_is_fine():
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
def _gone_is_fine() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno != errno.ESRCH:
            raise
