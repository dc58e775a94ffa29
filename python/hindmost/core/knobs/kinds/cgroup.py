"""Files of a cgroup for the server: CPU quota, weight, cpuset, memory.

A study file uses the names of version 2 (``cpu.max``, ``cpuset.cpus``, ``memory.max``, ``cpu.weight``). For a
controller that is available only in version 1 they are translated, and its own names are accepted. The group
is created when the server is ready: earlier allocations are not charged to it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost import _engine
from hindmost.core.documents import read_kernel
from hindmost.core.knobs.journal import call_engine, undo_change
from hindmost.core.knobs.knob import Idle, refuse_level, undo_on_exit
from hindmost.core.notes import Note
from hindmost.core.targets import Managed, ManagedServer
from hindmost.core.targets.cpus import parse_cpus
from hindmost.errors import HostUnfit, UsageError

FREE = "free"
_ROUNDS = 20  # a server may fork while it is moved
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Hierarchy:
    """The hierarchy of groups of one controller.

    Attributes
    ----------
    top
        The mounted folder.
    version
        1 or 2.
    root
        The group mounted there: in a container possibly the container's own.
    """

    top: Path
    version: int
    controller: str
    root: str = "/"

    def folder(self, path: str) -> Path:
        """Return the folder of a group, by its path in ``/proc/PID/cgroup``.

        Examples
        --------
        >>> Hierarchy(Path("/sys/fs/cgroup"), 2, "cpu", "/docker/a").folder("/docker/a/b")
        PosixPath('/sys/fs/cgroup/b')
        >>> Hierarchy(Path("/sys/fs/cgroup"), 2, "cpu").folder("/user.slice")
        PosixPath('/sys/fs/cgroup/user.slice')
        """
        inside = Path(path)
        return self.top / inside.relative_to(self.root if inside.is_relative_to(self.root) else "/")

    def group_of(self, pid: int) -> Path | None:
        """Return the folder of a process's group."""
        with contextlib.suppress(OSError):
            for line in read_kernel(f"/proc/{pid}/cgroup").splitlines():
                _, controllers, path = line.split(":", 2)
                if (controllers == "") if self.version == 2 else self.controller in controllers.split(","):
                    return self.folder(path)
        return None


def hierarchy(controller: str) -> Hierarchy:
    """Return the hierarchy of a controller, version 2 first.

    Raises
    ------
    HostUnfit
        If no hierarchy has it, or no group can be created there.
    """
    tops: dict[str, Hierarchy] = {}
    for line in read_kernel("/proc/self/mountinfo").splitlines():  # proc_pid_mountinfo(5)
        mount, _, source = line.partition(" - ")
        root, folder = mount.split()[3:5]
        kind, _, options = source.split()[:3]
        top = Path(folder)
        tops.pop(folder, None)  # a later mount hides it
        if kind == "cgroup2":
            with contextlib.suppress(OSError):
                if controller in (top / "cgroup.controllers").read_text().split():
                    tops[folder] = Hierarchy(top, 2, controller, root)
        elif kind == "cgroup" and controller in options.split(","):
            tops[folder] = Hierarchy(top, 1, controller, root)
    candidates = sorted(tops.values(), key=lambda candidate: -candidate.version)
    if not candidates:
        raise HostUnfit(
            "setting-unavailable",
            f"no cgroup hierarchy has the controller {controller}",
            hint="mount | grep cgroup",
            name=controller,
        )
    usable = [h for h in candidates if os.access(h.top, os.W_OK) and _is_enabled(h)]
    if not usable:
        top = candidates[0].top
        fields: dict[str, Any] = {"name": controller, "path": str(top)}
        if _is_enabled(candidates[0]):
            raise HostUnfit("needs-root", f"only root may write {top}", hint="run as root", **fields)
        raise HostUnfit(
            "setting-unavailable",
            f"{top} does not delegate {controller} to its groups",
            hint=f"echo +{controller} > {top}/cgroup.subtree_control",
            **fields,
        )
    return usable[0]


def _is_enabled(candidate: Hierarchy) -> bool:
    if candidate.version == 1:
        return True
    return candidate.controller in (candidate.top / "cgroup.subtree_control").read_text().split()


def translate_to_v1(file: str, level: str) -> dict[str, str]:
    """Return the version 1 names and values of a version 2 file; other files stay unchanged."""
    words = level.split()
    match file:
        case "cpu.max":
            period = words[1] if len(words) > 1 else "100000"
            return {"cpu.cfs_period_us": period, "cpu.cfs_quota_us": "-1" if words[0] == "max" else words[0]}
        case "cpu.weight":  # the default is 100 in version 2, 1024 in version 1
            return {"cpu.shares": str(max(2, int(words[0]) * 1024 // 100))}
        case "memory.max":
            return {"memory.limit_in_bytes": "-1" if level == "max" else level}
    return {file: level}


@dataclass(frozen=True)
class Cgroup(Idle):
    """One file of the server's group; the level ``free`` creates no group."""

    file: str
    journal: Path

    @property
    def name(self) -> str:  # noqa: D102
        return f"cgroup {self.file}"

    @property
    def sets(self) -> frozenset[str]:  # noqa: D102
        return frozenset({f"cgroup:{self.file}"})

    def check(self, level: str) -> None:  # noqa: D102
        if level == FREE:
            return
        if not level.strip() or "\n" in level:
            raise refuse_level(self.name, level, "a value is one line; free: no group")
        hierarchy(self.file.split(".")[0])

    def attempt(self, level: str) -> None:  # noqa: D102
        if level == FREE:
            return
        place = hierarchy(self.file.split(".")[0])
        group = place.top / f"hindmost-check-{os.getpid()}-{secrets.token_hex(4)}"
        with temporary_group(self.name, group, level, self.journal):
            self._write(place, group, level)

    def on_server(self, level: str, server: ManagedServer) -> AbstractContextManager[None]:  # noqa: D102
        return nullcontext() if level == FREE else self._in_group(level, server)

    @contextmanager
    def _in_group(self, level: str, server: ManagedServer) -> Iterator[None]:
        place = hierarchy(self.file.split(".")[0])
        group = place.top / f"hindmost-{os.getpid()}-{secrets.token_hex(4)}"
        before: dict[int, Path] = {}

        def move_back() -> None:
            for pid in server.pids():  # including those forked in the group
                with contextlib.suppress(OSError):
                    (before.get(pid, place.top) / "cgroup.procs").write_text(str(pid))

        with temporary_group(self.name, group, level, self.journal):
            self._write(place, group, level)
            with undo_on_exit(move_back):
                self._move(place, group, server, before)
                yield

    def _write(self, place: Hierarchy, group: Path, level: str) -> None:
        try:
            files = translate_to_v1(self.file, level) if place.version == 1 else {self.file: level}
        except ValueError:
            raise refuse_level(self.name, level, "it cannot have this value") from None
        if (
            place.version == 1 and place.controller == "cpuset"
        ):  # a new group has no CPUs, so no process can enter
            for name in ("cpuset.cpus", "cpuset.mems"):
                (group / name).write_text((place.top / name).read_text())
        for name, value in files.items():
            path = group / name
            if not path.exists():
                raise UsageError(
                    "setting-unavailable",
                    f"{self.name}: cgroups of this host (version {place.version}) have no {name}",
                    hint=f"ls {place.top}",
                    name=name,
                    value=level,
                )
            try:
                path.write_text(value)
            except OSError as error:
                raise refuse_level(
                    self.name, level, f"the kernel says {error.strerror}", code="setting-refused"
                ) from None
            if not same(value, is_now := path.read_text().strip()):
                raise HostUnfit(
                    "setting-differs",
                    f"{self.name} was set to {value!r}, but {name} then reads {is_now!r}",
                    name=name,
                    value=value,
                    found=is_now,
                )

    def _move(self, place: Hierarchy, group: Path, server: ManagedServer, before: dict[int, Path]) -> None:
        for _ in range(_ROUNDS):
            outside = [pid for pid in server.pids() if place.group_of(pid) not in (group, None)]
            if not outside:
                return
            for pid in outside:
                before[pid] = place.group_of(pid) or place.top
                try:
                    (group / "cgroup.procs").write_text(str(pid))
                except OSError as error:
                    if error.errno != errno.ESRCH:
                        raise HostUnfit(
                            "group-refused",
                            f"{self.name}: cannot move process {pid} into a group: {error.strerror}",
                            name=self.name,
                            pid=pid,
                        ) from None
        raise HostUnfit(
            "fast-forks",
            f"{self.name}: the server creates processes faster than they can be moved",
            name=self.name,
        )


@contextmanager
def temporary_group(name: str, group: Path, level: str, journal: Path) -> Iterator[None]:
    """Create a group, with its entry `name` in the journal first; remove it at the end, when it is empty.

    Raises
    ------
    HostUnfit
        If it cannot be created.
    """
    folder = str(group).lstrip("/")

    with undo_on_exit(lambda: undo_change(name, journal)):
        call_engine(lambda: _engine.promise_folder(name, folder, level, str(journal), os.getpid()))
        try:
            group.mkdir()
        except OSError as error:
            raise HostUnfit(
                "group-refused",
                f"{name}: cannot make a group: {error}",
                hint="run as root",
                name=name,
                path=str(group),
            ) from None
        yield


def same(written: str, actual: str) -> bool:
    """Whether the kernel's form means the value that was written: sizes, ranges, omitted words."""
    with contextlib.suppress(ValueError):
        return parse_cpus(written) == parse_cpus(actual)
    pairs = list(zip(written.split(), actual.split(), strict=False))
    return len(written.split()) <= len(actual.split()) and all(_same_word(*pair) for pair in pairs)


def _same_word(written: str, actual: str) -> bool:
    if written == actual:
        return True
    size = re.fullmatch(r"(\d+)([KMGkmg]?)", written)
    if size is None or not actual.isdigit():
        return written == "-1" and actual.isdigit()  # no limit, reported as the largest number
    number = int(size[1]) << {"": 0, "k": 10, "m": 20, "g": 30}[size[2].lower()]
    return 0 <= number - int(actual) < _PAGE  # the kernel rounds to pages


def make(what: Mapping[str, Any], target: Managed, journal: Path) -> Cgroup:
    """Make the setting ``cgroup = "cpu.max"``."""
    if not re.fullmatch(r"[a-z]\w*\.[\w.]+", what["cgroup"], re.ASCII):
        raise UsageError(
            "bad-value",
            f"cgroup = {what['cgroup']!r} is not a file of a group",
            hint='cgroup = "cpu.max"',
            key="cgroup",
            value=what["cgroup"],
        )
    return Cgroup(what["cgroup"], journal)


def missing() -> Note | None:
    """Return why no group can be made."""
    try:
        hierarchy("cpu")
    except HostUnfit as refusal:
        return Note(refusal.code, refusal.message, refusal.fields)
    return None
