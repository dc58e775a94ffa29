"""Where a job runs under supervision: a control group that is journalled before it is made.

The group is idle (``cpu.idle``): it gets only what nobody else wants, also where the scheduler puts each
terminal's processes into a group of their own (``sched_autogroup``), beside which SCHED_IDLE of single
threads means nothing. On top of that it is given some processors or all, and has a freezer.

There is no quota: measured on memcached (Linux 6.18), an idle job on both processors left 3 of 1,000 requests
a second beyond 1 ms, as many as without it, and the same job under a quota of a quarter (``cpu.max``) 36.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hindmost.errors import HostUnfit
from hindmost.knobs import steps
from hindmost.knobs.kinds.cgroup import Hierarchy, hierarchy, made
from hindmost.knobs.steps import Step
from hindmost.targets.cpus import parse_cpus
from hindmost.targets.procfs import process_tree

_ROUNDS = 20


@dataclass(frozen=True)
class Group:
    """A job's groups, one in each hierarchy that is needed; version 2 has all in one.

    Attributes
    ----------
    name : str
    places : dict
        The hierarchy by controller: cpu always, freezer, cpuacct and cpuset where they have their own.
    written : dict
        What was written last, by file.
    """

    name: str
    places: dict[str, Hierarchy]
    written: dict[Path, str] = field(default_factory=dict)

    def folder(self, controller: str) -> Path:
        """The group's folder of a controller."""
        return self.places[controller].top / self.name

    @property
    def folders(self) -> list[Path]:
        """Each folder once."""
        return sorted({self.folder(one) for one in self.places})

    def prepare(self, cpus: Sequence[int]) -> None:
        """Let it run on these processors, and only where nobody else wants to."""
        if self.places["cpu"].version == 1:
            place = self.places["cpuset"]
            # A new one is empty, and takes nobody.
            (self.folder("cpuset") / "cpuset.mems").write_text((place.top / "cpuset.mems").read_text())
        self._place(cpus)
        folder = self.folder("cpu")
        if (folder / "cpu.idle").exists():
            self._write(folder / "cpu.idle", "1")
        elif self.places["cpu"].version == 2:
            self._write(folder / "cpu.weight", "1")
        else:
            self._write(folder / "cpu.shares", "2")

    def allow(self, cpus: Sequence[int]) -> None:
        """Let it use these processors; none freezes it.

        Raises
        ------
        OSError
        """
        if cpus:
            self._place(cpus)
        state, words = self._freezer
        self._write(state, words[not cpus])

    def restore(self) -> list[str]:
        """Write again whatever somebody else has changed since, and return the names of those files.

        Raises
        ------
        OSError
        """
        changed = [path for path, value in self.written.items() if not _holds(path, value)]
        for path in changed:
            path.write_text(self.written[path])
        return [path.name for path in changed]

    def _place(self, cpus: Sequence[int]) -> None:
        self._write(self.folder("cpuset") / "cpuset.cpus", ",".join(map(str, cpus)))

    def _write(self, path: Path, value: str) -> None:
        path.write_text(value)
        self.written[path] = value

    @property
    def _freezer(self) -> tuple[Path, tuple[str, str]]:
        if "freezer" in self.places:
            return self.folder("freezer") / "freezer.state", ("THAWED", "FROZEN")
        return self.folder("cpu") / "cgroup.freeze", ("0", "1")

    def free(self) -> None:
        """Let it run as anybody: a job that gets nothing cannot even end.

        Raises
        ------
        OSError
        """
        state, words = self._freezer
        state.write_text(words[0])
        with contextlib.suppress(FileNotFoundError):
            (self.folder("cpu") / "cpu.idle").write_text("0")

    @property
    def freed(self) -> list[Step]:
        """Whatever state it is in, it goes on, and as anybody."""
        state, words = self._freezer
        return [steps.write(self.folder("cpu") / "cpu.idle", "0"), steps.write(state, words[0])]

    def members(self) -> set[int]:
        """Its processes."""
        found: set[int] = set()
        with contextlib.suppress(OSError):
            found = {int(one) for one in (self.folder("cpu") / "cgroup.procs").read_text().split()}
        return found

    def used_s(self) -> float:
        """Processor time of all that ever ran in it, seconds."""
        if "cpuacct" in self.places:
            return int((self.folder("cpuacct") / "cpuacct.usage").read_text()) / 1e9
        rows = (line.split() for line in (self.folder("cpu") / "cpu.stat").read_text().splitlines())
        return next(int(value) / 1e6 for key, value in rows if key == "usage_usec")

    def take(self, pid: int) -> None:
        """Move a process with all that it started.

        Raises
        ------
        HostUnfit
            It makes processes faster than they can be moved, or the kernel refuses.
        """
        for _ in range(_ROUNDS):
            outside = [one for one in process_tree(pid) if one not in self.members()]
            if not outside:
                return
            for one in outside:
                for folder in self.folders:
                    with contextlib.suppress(ProcessLookupError):
                        _enter(folder, one)
        raise HostUnfit(
            "fast-forks",
            f"process {pid} creates children faster than they can be moved into a control group",
            hint="repeat later, or name a process further down the tree",
            pid=pid,
        )

    def back(self, pid: int) -> list[Step]:
        """All members go to where the process is now, the group of the job's top."""
        moves = []
        for place in {one.top: one for one in self.places.values()}.values():
            old = (place.group_of(pid) or place.top) / "cgroup.procs"
            moves.append(steps.move(place.top / self.name / "cgroup.procs", old))
        return moves

    @property
    def end(self) -> list[Step]:
        """All members are killed, those that they fork meanwhile too."""
        return [steps.kill(self.folder("cpu") / "cgroup.procs")]


def _holds(path: Path, written: str) -> bool:
    """Whether a file still holds what was written, in the kernel's words."""
    found = path.read_text().strip()
    if path.name == "cpuset.cpus":
        return bool(found) and parse_cpus(found) == parse_cpus(written)
    return found.replace("FREEZING", "FROZEN") == written


def _enter(folder: Path, pid: int) -> None:
    try:
        (folder / "cgroup.procs").write_text(str(pid))
    except ProcessLookupError:
        raise
    except OSError as error:
        raise HostUnfit(
            "group-refused",
            f"process {pid} cannot be moved into {folder}: {error.strerror}",
            hint="run as root",
            pid=pid,
            path=str(folder),
        ) from None


@contextmanager
def new_group(journal: Path) -> Iterator[Group]:
    """Make a group; it is removed at the end, also after a ``kill -9``.

    Raises
    ------
    HostUnfit
        No group can be made here.
    """
    places = {"cpu": hierarchy("cpu"), "cpuset": hierarchy("cpuset")}
    if places["cpu"].version == 1:
        for controller in ("freezer", "cpuacct"):
            places[controller] = hierarchy(controller)
    group = Group(f"hindmost-job-{os.getpid()}-{secrets.token_hex(4)}", places)
    with ExitStack() as stack:
        for folder in group.folders:
            stack.enter_context(made(f"job group {folder.parent.name}", folder, "", journal))
        yield group
