"""Interventions on a cgroup and its future processes: idle priority, other CPUs, a small CPU quota."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hindmost.core.documents import read_kernel
from hindmost.core.interventions.changes import File, cpu_list
from hindmost.core.interventions.freezer import members
from hindmost.core.knobs.kinds.cgroup import same
from hindmost.core.knobs.steps import Step
from hindmost.core.notes import Note

CGROUPS = Path("/sys/fs/cgroup")
CPUS_LEFT = 0.1
"""CPUs left to a neighbour under a quota: it then interferes at most a tenth of the time."""
LEAST_US = 1_000
"""The smallest quota that the kernel accepts, µs."""
KEEPS_MASKS = (6, 2)
"""First kernel that keeps the CPU masks of threads when the CPUs of their cgroup change and change back
(commit 8f9ea86fdf99, "sched: Always preserve the user requested cpumask")."""


class ChangeRefused(Exception):
    """A cgroup may not be changed here; ``note`` holds the reason.

    Parameters
    ----------
    code : str
        One of ``hindmost.core.codes.CODES``.
    text : str
        The reason, for people.
    **values
        The parameters of the text.
    """

    def __init__(self, code: str, text: str, **values: object) -> None:
        super().__init__(text)
        self.note = Note(code, text, values)


@dataclass(frozen=True)
class GroupFile(File):
    """A file of a neighbour's cgroup, compared in the kernel's spelling."""

    program: ClassVar[bool] = True

    def is_gone(self) -> bool:  # noqa: D102
        try:
            return same(self.wanted, self.path.read_text().strip())
        except OSError:
            return False


@dataclass(frozen=True, kw_only=True)
class LastPlace(GroupFile):
    """``cpu.idle`` of a cgroup, and its weight, which the kernel resets when idle ends."""

    weight: File

    @property
    def undo(self) -> list[Step]:  # noqa: D102
        return [*super().undo, *self.weight.undo]

    def give_back(self) -> None:  # noqa: D102
        super().give_back()
        self.weight.give_back()


def groups(pid: int, controller: str) -> Iterator[tuple[Path, bool]]:
    """Yield the cgroups that limit a process, innermost first, and whether each is version 2."""
    for line in read_kernel(f"/proc/{pid}/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            tops = [CGROUPS / one for one in (controllers, controller)]
        elif controllers == "":
            tops = [CGROUPS, CGROUPS / "unified"]
        else:
            continue
        below = Path(path.lstrip("/"))
        for top in tops:
            for each in (below, *below.parents):
                if each != Path() and (top / each).is_dir():
                    yield top / each, not controllers


def confine_group(name: str, pid: int, spared: set[int], elsewhere: frozenset[int]) -> GroupFile | None:
    """Build the change that keeps a neighbour's own cgroup on other CPUs (``cpuset.cpus``).

    Returns None if the neighbour has no such cgroup.

    Parameters
    ----------
    name : str
        Name of the suspect.
    spared : set of int
        Processes that must not be in the cgroup: the application's and ours.
    elsewhere : frozenset of int
        CPUs on which the application does not run.

    Raises
    ------
    ChangeRefused
    """
    path = _own(pid, "cpuset", ("cpuset.cpus", "cpuset.cpus"), spared)
    if path is None:
        return None
    kernel = tuple(int(one) for one in os.uname().release.split("-")[0].split(".")[:2])
    if kernel < KEEPS_MASKS:
        least = ".".join(map(str, KEEPS_MASKS))
        raise ChangeRefused(
            "masks-lost",
            f"Linux {os.uname().release} would lose the CPU masks of its threads; Linux {least} keeps them",
            value=os.uname().release,
            least=least,
        )
    if not elsewhere:
        raise ChangeRefused("no-free-cpu", "the application may run on every CPU, so none is left for it")
    wanted, found = cpu_list(set(elsewhere)), path.read_text().strip()
    description = f"keep the cgroup {path.parent.name} on CPUs {wanted} ({path.name})"
    return GroupFile(name, description, path, found, wanted)


def idle_group(name: str, pid: int, spared: set[int]) -> GroupFile | None:
    """Build the change that runs a neighbour's own cgroup at idle priority, by ``cpu.idle`` (Linux 5.15).

    Returns None if the neighbour has no such cgroup or it is idle already. SCHED_IDLE is no substitute: it
    ranks threads only within one group (``sched(7)``).

    Raises
    ------
    ChangeRefused
    """
    path = _own(pid, "cpu", ("cpu.idle", "cpu.idle"), spared)
    if path is None or (found := path.read_text().strip()) == "1":
        return None
    weighs = next(one for each in ("cpu.weight", "cpu.shares") if (one := path.with_name(each)).is_file())
    description = f"run the cgroup {path.parent.name} only on idle CPUs ({path.name})"
    weight = File(name, description, weighs, weighs.read_text().strip(), "")
    return LastPlace(name, description, path, found, "1", weight=weight)


def limit_group(name: str, pid: int, spared: set[int]) -> GroupFile | None:
    """Build the change that limits a neighbour's own cgroup to a tenth of a CPU; None without a cgroup.

    Writes ``cpu.max`` (v2) or ``cpu.cfs_quota_us`` (v1) and keeps the current period.

    Raises
    ------
    ChangeRefused
    """
    path = _own(pid, "cpu", ("cpu.max", "cpu.cfs_quota_us"), spared)
    if path is None:
        return None
    found = path.read_text().strip()
    second = path.name == "cpu.max"
    period = found.split()[1] if second else (path.parent / "cpu.cfs_period_us").read_text().strip()
    quota, now = max(LEAST_US, int(CPUS_LEFT * int(period))), found.split()[0]
    if now not in ("max", "-1") and int(now) <= quota:
        raise ChangeRefused(
            "already-limited",
            f"{path} is already {found}, at most {CPUS_LEFT:g} CPUs",
            path=str(path),
            value=found,
            limit=CPUS_LEFT,
        )
    description = f"limit the cgroup {path.parent.name} to {quota / int(period):g} CPUs ({path.name})"
    return GroupFile(name, description, path, found, f"{quota} {period}" if second else str(quota))


def _own(pid: int, controller: str, files: tuple[str, str], spared: set[int]) -> Path | None:
    """Return the file of a process's own cgroup; `files` are its names in version 2 and version 1."""
    for group, second in groups(pid, controller):
        path = group / files[0 if second else 1]
        if not path.is_file():
            continue
        inside = members(path)
        if pid not in inside:
            continue
        if not spared.isdisjoint(inside):
            raise ChangeRefused(
                "shared-group",
                f"its cgroup {group} also contains the application, or a process that must keep running",
                path=str(group),
            )
        if not os.access(path, os.W_OK):
            raise ChangeRefused("needs-root", f"only root may write {path}", path=str(path))
        return path
    return None
