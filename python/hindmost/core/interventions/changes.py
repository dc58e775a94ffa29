"""Small, reversible changes of a running host. Each one removes a suspect and restores it.

The journal of settings holds the undo steps, synced to disk, before anything is changed (`session.py`).
Nothing here ends a process.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

from hindmost.core.documents import read_kernel
from hindmost.core.knobs import steps
from hindmost.core.knobs.steps import Step
from hindmost.core.notes import Note
from hindmost.core.targets.procfs import process_tree, thread_ids


class SuspectGone(Exception):
    """The process or cgroup that was to be changed does not exist: a neighbour ended, a cgroup was removed.

    Parameters
    ----------
    code : str
        One of ``hindmost.core.codes.CODES``.
    text : str
        What happened, for people.
    **values
        The parameters of the text.
    """

    def __init__(self, code: str, text: str, **values: object) -> None:
        super().__init__(text)
        self.note = Note(code, text, values)


class Reversible(Protocol):
    """A change that the journal can undo."""

    @property
    def name(self) -> str:
        """Name of the suspect, for people and for the journal."""

    @property
    def description(self) -> str:
        """What the change does, for people."""

    @property
    def undo(self) -> list[Step]:
        """Steps that restore the original state, whatever the current state is."""


class Intervention(Reversible, Protocol):
    """A change that can be made and undone any number of times."""

    def remove(self) -> None:
        """Remove the suspect.

        Raises
        ------
        SuspectGone
        OSError
        """

    def give_back(self) -> None:
        """Restore the original state."""

    def is_gone(self) -> bool:
        """Whether the suspect is really gone: the manipulation check after `remove`."""


def start_ticks(pid: int) -> int:
    """Return the start time of a process in clock ticks: a later process with its number has another.

    Raises
    ------
    SuspectGone
    """
    start = steps.start_time(pid)
    if start is None:
        raise SuspectGone("no-such-process", f"process {pid} has ended", pid=pid)
    return start


@dataclass(frozen=True)
class Sham:
    """No change, with the timing of a real one: an effect measured with it comes from the host itself."""

    name: str = "sham"
    description: str = "change nothing, with the same timing"
    undo: list[Step] = field(default_factory=list)

    def remove(self) -> None:  # noqa: D102
        os.kill(os.getpid(), 0)

    def give_back(self) -> None:  # noqa: D102
        os.kill(os.getpid(), 0)

    def is_gone(self) -> bool:  # noqa: D102
        return True


@dataclass(frozen=True)
class Pause:
    """A neighbour or client and all its descendants, stopped by SIGSTOP and continued by SIGCONT."""

    pid: int
    comm: str
    start: int
    role: str = "neighbour"
    program: ClassVar[bool] = True

    @property
    def name(self) -> str:  # noqa: D102
        return f"{self.role} {self.comm} ({self.pid})"

    @property
    def description(self) -> str:  # noqa: D102
        return f"pause {self.comm} ({self.pid})"

    @property
    def undo(self) -> list[Step]:  # noqa: D102
        return [steps.go_on(self._pids())]

    def _pids(self) -> list[int]:
        return process_tree(self.pid) if Path(f"/proc/{self.pid}").exists() else [self.pid]

    def remove(self) -> None:  # noqa: D102
        if start_ticks(self.pid) != self.start:
            raise SuspectGone(
                "replaced-process", f"another process has the number {self.pid} now", pid=self.pid
            )
        for pid in self._pids():
            _signal(pid, signal.SIGSTOP)

    def give_back(self) -> None:  # noqa: D102
        for pid in self._pids():
            _signal(pid, signal.SIGCONT)

    def is_gone(self) -> bool:  # noqa: D102
        with contextlib.suppress(OSError):
            return read_kernel(f"/proc/{self.pid}/stat").rpartition(")")[2].split()[0] == "T"
        return False


def _signal(pid: int, number: signal.Signals) -> None:
    # A pidfd is used because the process may have ended and its number may belong to another process.
    with contextlib.suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)


def cpu_list(cpus: set[int]) -> str:
    """Format CPU numbers as taskset(1) expects them.

    Examples
    --------
    >>> cpu_list({3, 0})
    '0,3'
    """
    return ",".join(map(str, sorted(cpus)))


@dataclass(frozen=True)
class Places:
    """Threads moved to other CPUs."""

    name: str
    description: str
    found: Mapping[int, frozenset[int]]
    wanted: frozenset[int]

    @property
    def undo(self) -> list[Step]:  # noqa: D102
        return steps.place(self.found)

    def remove(self) -> None:  # noqa: D102
        for tid in self.found:
            self._place(tid, self.wanted)
        if not any(Path(f"/proc/{tid}").exists() for tid in self.found):
            raise SuspectGone("threads-ended", f"{self.name}: its threads have ended", name=self.name)

    def give_back(self) -> None:  # noqa: D102
        for tid, cpus in self.found.items():
            self._place(tid, cpus)

    def _place(self, tid: int, cpus: frozenset[int]) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(tid, cpus)

    def is_gone(self) -> bool:  # noqa: D102
        found = False
        for tid in self.found:
            with contextlib.suppress(ProcessLookupError):
                if os.sched_getaffinity(tid) != set(self.wanted):
                    return False
                found = True
        return found


def places(pids: list[int]) -> dict[int, frozenset[int]]:
    """Return the CPUs on which each thread of these processes may run, by thread id."""
    found = {}
    for tid in thread_ids(pids):
        with contextlib.suppress(ProcessLookupError):
            found[tid] = frozenset(os.sched_getaffinity(tid))
    return found


@dataclass(frozen=True)
class File:
    """A cgroup or interface file that is set to another value, such as a lifted quota or a wider mask."""

    name: str
    description: str
    path: Path
    found: str
    wanted: str
    same: tuple[str, ...] = field(default=())
    """Other values that the file may show after `wanted` was written."""

    @property
    def undo(self) -> list[Step]:  # noqa: D102
        return [steps.write(self.path, self.found)]

    def remove(self) -> None:  # noqa: D102
        self._write(self.wanted)

    def give_back(self) -> None:  # noqa: D102
        self._write(self.found)

    def _write(self, value: str) -> None:
        try:
            # A version 2 cpuset ignores an empty write, so the line end is needed to clear it.
            self.path.write_text(f"{value}\n")
        except FileNotFoundError:
            raise SuspectGone("no-such-file", f"{self.path} no longer exists", path=str(self.path)) from None

    def is_gone(self) -> bool:  # noqa: D102
        with contextlib.suppress(OSError):
            return self.path.read_text().strip() in (self.wanted, *self.same)
        return False
