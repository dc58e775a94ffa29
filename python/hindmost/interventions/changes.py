"""Small reversible changes of a running host: each takes one suspect away, and gives it back.

A suspect is *there* when nothing is done, and *gone* while its intervention is in force. What undoes it
stands in the knobs' journal, synced, before anything is touched (`held.py`). Nothing here ends a process.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

from hindmost.documents import read_kernel
from hindmost.knobs import steps
from hindmost.knobs.steps import Step
from hindmost.notes import Note
from hindmost.targets.procfs import process_tree


class Gone(Exception):
    """What was to be changed is no longer there: a neighbour ended, a cgroup was removed.

    Parameters
    ----------
    code : str
        One of ``hindmost.codes.CODES``.
    text : str
        What happened, for people.
    **values
        The parameters of the text.
    """

    def __init__(self, code: str, text: str, **values: object) -> None:
        super().__init__(text)
        self.note = Note(code, text, values)


class Reversible(Protocol):
    """What the journal has to know of a change."""

    @property
    def name(self) -> str:
        """For people, and in the journal: what is suspected, or held."""

    @property
    def about(self) -> str:
        """What is done."""

    @property
    def undo(self) -> list[Step]:
        """What puts back what was found, whatever state it is in."""


class Intervention(Reversible, Protocol):
    """One change, on and off as often as asked."""

    def remove(self) -> None:
        """Take the suspect away.

        Raises
        ------
        Gone
        OSError
        """

    def give_back(self) -> None:
        """Back to what was found."""

    def arrived(self) -> bool:
        """Whether the suspect is gone indeed: the manipulation check, while it should be."""


def started(pid: int) -> int:
    """When a process started, in clock ticks: a later one of the same number is another.

    Raises
    ------
    Gone
    """
    start = steps.started(pid)
    if start is None:
        raise Gone("no-such-process", f"process {pid} has ended", pid=pid)
    return start


@dataclass(frozen=True)
class Sham:
    """Nothing, with the timing of something: what moves with it is the host's own doing."""

    name: str = "sham"
    about: str = "nothing is done, with the same timing"
    undo: list[Step] = field(default_factory=list)

    def remove(self) -> None:  # noqa: D102
        os.kill(os.getpid(), 0)

    def give_back(self) -> None:  # noqa: D102
        os.kill(os.getpid(), 0)

    def arrived(self) -> bool:  # noqa: D102
        return True


@dataclass(frozen=True)
class Pause:
    """A neighbour, or a client, stopped (SIGSTOP) and let go on (SIGCONT), with all that it started."""

    pid: int
    comm: str
    start: int
    role: str = "neighbour"
    program: ClassVar[bool] = True

    @property
    def name(self) -> str:  # noqa: D102
        return f"{self.role} {self.comm} ({self.pid})"

    @property
    def about(self) -> str:  # noqa: D102
        return f"pause {self.comm} ({self.pid})"

    @property
    def undo(self) -> list[Step]:  # noqa: D102
        return [steps.go_on(self._pids())]

    def _pids(self) -> list[int]:
        return process_tree(self.pid) if Path(f"/proc/{self.pid}").exists() else [self.pid]

    def remove(self) -> None:  # noqa: D102
        if started(self.pid) != self.start:
            raise Gone("replaced-process", f"another process has the number {self.pid} now", pid=self.pid)
        for pid in self._pids():
            _signal(pid, signal.SIGSTOP)

    def give_back(self) -> None:  # noqa: D102
        for pid in self._pids():
            _signal(pid, signal.SIGCONT)

    def arrived(self) -> bool:  # noqa: D102
        with contextlib.suppress(OSError):
            return read_kernel(f"/proc/{self.pid}/stat").rpartition(")")[2].split()[0] == "T"
        return False


def _signal(pid: int, number: signal.Signals) -> None:
    # Through a descriptor: the number may be another process's by now.
    with contextlib.suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)


def threads(pids: list[int]) -> list[int]:
    """All threads of processes."""
    found: list[int] = []
    for pid in pids:
        with contextlib.suppress(OSError):
            found += [int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir()]
    return sorted(found)


def cpu_list(cpus: set[int]) -> str:
    """Processors as taskset(1) has them.

    Examples
    --------
    >>> cpu_list({3, 0})
    '0,3'
    """
    return ",".join(map(str, sorted(cpus)))


@dataclass(frozen=True)
class Places:
    """Threads on other processors than they were found on."""

    name: str
    about: str
    found: Mapping[int, frozenset[int]]
    wanted: frozenset[int]

    @property
    def undo(self) -> list[Step]:  # noqa: D102
        return steps.place(self.found)

    def remove(self) -> None:  # noqa: D102
        for tid in self.found:
            self._place(tid, self.wanted)
        if not any(Path(f"/proc/{tid}").exists() for tid in self.found):
            raise Gone("threads-ended", f"{self.name}: its threads have ended", name=self.name)

    def give_back(self) -> None:  # noqa: D102
        for tid, cpus in self.found.items():
            self._place(tid, cpus)

    def _place(self, tid: int, cpus: frozenset[int]) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(tid, cpus)

    def arrived(self) -> bool:  # noqa: D102
        found = False
        for tid in self.found:
            with contextlib.suppress(ProcessLookupError):
                if os.sched_getaffinity(tid) != set(self.wanted):
                    return False
                found = True
        return found


def places(pids: list[int]) -> dict[int, frozenset[int]]:
    """Where each thread of processes may run."""
    found = {}
    for tid in threads(pids):
        with contextlib.suppress(ProcessLookupError):
            found[tid] = frozenset(os.sched_getaffinity(tid))
    return found


@dataclass(frozen=True)
class File:
    """A file of a cgroup or of an interface, written with something else: a quota lifted, a mask widened."""

    name: str
    about: str
    path: Path
    found: str
    wanted: str
    same: tuple[str, ...] = field(default=())
    """What else it may read once `wanted` was written."""

    @property
    def undo(self) -> list[Step]:  # noqa: D102
        return [steps.write(self.path, self.found)]

    def remove(self) -> None:  # noqa: D102
        self._write(self.wanted)

    def give_back(self) -> None:  # noqa: D102
        self._write(self.found)

    def _write(self, value: str) -> None:
        try:
            # With its end of line: nothing would be written where a cpuset of version 2 was empty.
            self.path.write_text(f"{value}\n")
        except FileNotFoundError:
            raise Gone("no-such-file", f"{self.path} no longer exists", path=str(self.path)) from None

    def arrived(self) -> bool:  # noqa: D102
        with contextlib.suppress(OSError):
            return self.path.read_text().strip() in (self.wanted, *self.same)
        return False
