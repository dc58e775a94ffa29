"""The control group of a supervised job, journalled before it is created.

The group is idle (``cpu.idle``): it runs only on CPUs that no other program wants. This also works where the
scheduler puts the processes of each terminal into a separate group (``sched_autogroup``), in which SCHED_IDLE
of single threads has no effect. The group is also confined to some or all CPUs, and has a freezer.

It has no quota. Measured with memcached on Linux 6.18, an idle job on both CPUs left 3 of 1,000 requests/s
beyond 1 ms, as many as without the job; the same job under a quota of a quarter (``cpu.max``) left 36.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hindmost.core.knobs import steps
from hindmost.core.knobs.kinds.cgroup import Hierarchy, hierarchy, temporary_group
from hindmost.core.knobs.steps import Step
from hindmost.core.targets.cpus import parse_cpus
from hindmost.core.targets.procfs import process_tree
from hindmost.errors import HostUnfit

_ROUNDS = 20


@dataclass(frozen=True)
class Group:
    """The control groups of a job, one in each hierarchy that is needed; version 2 has a single one.

    Attributes
    ----------
    name : str
    places : dict
        Hierarchy by controller: always cpu; freezer, cpuacct and cpuset if they have their own.
    written : dict
        Last value written to each file.
    """

    name: str
    places: dict[str, Hierarchy]
    written: dict[Path, str] = field(default_factory=dict)

    def folder(self, controller: str) -> Path:
        """Return the group's folder in a controller's hierarchy."""
        return self.places[controller].top / self.name

    @property
    def folders(self) -> list[Path]:
        """All folders of the group, each once."""
        return sorted({self.folder(one) for one in self.places})

    def prepare(self, cpus: Sequence[int]) -> None:
        """Let the group run on these CPUs, at idle priority."""
        if self.places["cpu"].version == 1:
            place = self.places["cpuset"]
            # In version 1 a new group has no memory nodes, and accepts no process.
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
        """Let the group use these CPUs; an empty list freezes it.

        Raises
        ------
        OSError
        """
        if cpus:
            self._place(cpus)
        state, words = self._freezer
        self._write(state, words[not cpus])

    def restore(self) -> list[str]:
        """Rewrite the files that another program has changed, and return their names.

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

    def release(self) -> None:
        """Give the group ordinary priority, because a job without CPU time cannot even end.

        Raises
        ------
        OSError
        """
        state, words = self._freezer
        state.write_text(words[0])
        with contextlib.suppress(FileNotFoundError):
            (self.folder("cpu") / "cpu.idle").write_text("0")

    @property
    def release_steps(self) -> list[Step]:
        """Steps that unfreeze the group and give it ordinary priority."""
        state, words = self._freezer
        return [steps.write(self.folder("cpu") / "cpu.idle", "0"), steps.write(state, words[0])]

    def members(self) -> set[int]:
        """Return the group's processes."""
        found: set[int] = set()
        with contextlib.suppress(OSError):
            found = {int(one) for one in (self.folder("cpu") / "cgroup.procs").read_text().split()}
        return found

    def used_s(self) -> float:
        """Return the CPU time of all that ever ran in the group, s."""
        if "cpuacct" in self.places:
            return int((self.folder("cpuacct") / "cpuacct.usage").read_text()) / 1e9
        rows = (line.split() for line in (self.folder("cpu") / "cpu.stat").read_text().splitlines())
        return next(int(value) / 1e6 for key, value in rows if key == "usage_usec")

    def move_in(self, pid: int) -> None:
        """Move a process and its descendants into the group.

        Raises
        ------
        HostUnfit
            It creates processes faster than they can be moved, or the kernel refuses.
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
            hint="repeat later, or give a process further down the tree",
            pid=pid,
        )

    def return_steps(self, pid: int) -> list[Step]:
        """Return the steps that move all members to the process's present groups."""
        moves = []
        for place in {one.top: one for one in self.places.values()}.values():
            old = (place.group_of(pid) or place.top) / "cgroup.procs"
            moves.append(steps.move(place.top / self.name / "cgroup.procs", old))
        return moves

    @property
    def kill_steps(self) -> list[Step]:
        """Steps that kill all members, including those that they fork meanwhile."""
        return [steps.kill(self.folder("cpu") / "cgroup.procs")]


def _holds(path: Path, written: str) -> bool:
    """Whether a file still contains what was written, in the kernel's notation."""
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
    """Create a group, and remove it at the end, even after a ``kill -9``.

    Raises
    ------
    HostUnfit
        No group can be created on this host.
    """
    places = {"cpu": hierarchy("cpu"), "cpuset": hierarchy("cpuset")}
    if places["cpu"].version == 1:
        for controller in ("freezer", "cpuacct"):
            places[controller] = hierarchy(controller)
    group = Group(f"hindmost-job-{os.getpid()}-{secrets.token_hex(4)}", places)
    with ExitStack() as stack:
        for folder in group.folders:
            stack.enter_context(temporary_group(f"job group {folder.parent.name}", folder, "", journal))
        yield group
