"""Interventions on a cgroup and all that it starts: the last place, other processors, a part of one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hindmost.documents import read_kernel
from hindmost.interventions.changes import File, cpu_list
from hindmost.interventions.gentler import members
from hindmost.knobs.kinds.cgroup import same
from hindmost.knobs.steps import Step
from hindmost.notes import Note

CGROUPS = Path("/sys/fs/cgroup")
LEFT = 0.1
"""Of one processor, for a neighbour under a quota: it then hurts a tenth of the time at most."""
LEAST_US = 1_000
"""The kernel's least quota."""
KEEPS_MASKS = (6, 2)
"""Kernels before lose the masks that threads were given, when the processors of their cgroup change and come
back (commit 8f9ea86fdf99, "sched: Always preserve the user requested cpumask")."""


class Refused(Exception):
    """A cgroup may not be changed here; ``note`` says why.

    Parameters
    ----------
    code : str
        One of ``hindmost.codes.CODES``.
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
    """A file of a neighbour's cgroup; it reads as the kernel spells it."""

    program: ClassVar[bool] = True

    def arrived(self) -> bool:  # noqa: D102
        try:
            return same(self.wanted, self.path.read_text().strip())
        except OSError:
            return False


@dataclass(frozen=True, kw_only=True)
class LastPlace(GroupFile):
    """``cpu.idle`` of a cgroup: whoever leaves that has the usual weight, so its own is written again."""

    weight: File

    @property
    def undo(self) -> list[Step]:  # noqa: D102
        return [*super().undo, *self.weight.undo]

    def give_back(self) -> None:  # noqa: D102
        super().give_back()
        self.weight.give_back()


def groups(pid: int, controller: str) -> Iterator[tuple[Path, bool]]:
    """Cgroups of a process that a controller may limit, its own first, then those above; whether of v2."""
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


def confined(name: str, pid: int, spared: set[int], elsewhere: frozenset[int]) -> GroupFile | None:
    """Keep a neighbour's own cgroup on other processors (``cpuset.cpus``); None where it has none.

    Parameters
    ----------
    name : str
        Of the suspect.
    spared : set of int
        Processes that must not be in that cgroup: the application's, and ours.
    elsewhere : frozenset of int
        Processors on which the application does not run.

    Raises
    ------
    Refused
    """
    path = _own(pid, "cpuset", ("cpuset.cpus", "cpuset.cpus"), spared)
    if path is None:
        return None
    kernel = tuple(int(one) for one in os.uname().release.split("-")[0].split(".")[:2])
    if kernel < KEEPS_MASKS:
        least = ".".join(map(str, KEEPS_MASKS))
        raise Refused(
            "masks-lost",
            f"Linux {os.uname().release} would lose the CPU masks of its threads; {least} keeps them",
            value=os.uname().release,
            least=least,
        )
    if not elsewhere:
        raise Refused("no-free-cpu", "the application may run on every CPU, so none is left for it")
    wanted, found = cpu_list(set(elsewhere)), path.read_text().strip()
    about = f"keep the cgroup {path.parent.name} on processors {wanted} ({path.name})"
    return GroupFile(name, about, path, found, wanted)


def idled(name: str, pid: int, spared: set[int]) -> GroupFile | None:
    """Let a neighbour's own cgroup run only while nobody else wants to; None where it has none or does so.

    By ``cpu.idle`` (Linux 5.15). SCHED_IDLE counts among the threads of one group alone (``sched(7)``).

    Raises
    ------
    Refused
    """
    path = _own(pid, "cpu", ("cpu.idle", "cpu.idle"), spared)
    if path is None or (found := path.read_text().strip()) == "1":
        return None
    weighs = next(one for each in ("cpu.weight", "cpu.shares") if (one := path.with_name(each)).is_file())
    about = f"let the cgroup {path.parent.name} run only where nobody else wants to ({path.name})"
    weight = File(name, about, weighs, weighs.read_text().strip(), "")
    return LastPlace(name, about, path, found, "1", weight=weight)


def limited(name: str, pid: int, spared: set[int]) -> GroupFile | None:
    """Leave a neighbour's own cgroup a tenth of a processor; None where it has none.

    By ``cpu.max`` (v2) or ``cpu.cfs_quota_us`` (v1), in the period that is set there.

    Raises
    ------
    Refused
    """
    path = _own(pid, "cpu", ("cpu.max", "cpu.cfs_quota_us"), spared)
    if path is None:
        return None
    found = path.read_text().strip()
    second = path.name == "cpu.max"
    period = found.split()[1] if second else (path.parent / "cpu.cfs_period_us").read_text().strip()
    quota, now = max(LEAST_US, int(LEFT * int(period))), found.split()[0]
    if now not in ("max", "-1") and int(now) <= quota:
        raise Refused(
            "already-limited",
            f"{path} is already {found}, at most {LEFT:g} CPUs",
            path=str(path),
            value=found,
            limit=LEFT,
        )
    about = f"leave the cgroup {path.parent.name} {quota / int(period):g} of a processor ({path.name})"
    return GroupFile(name, about, path, found, f"{quota} {period}" if second else str(quota))


def _own(pid: int, controller: str, files: tuple[str, str], spared: set[int]) -> Path | None:
    """The file of a process's own cgroup, by its name in v2 and v1."""
    for group, second in groups(pid, controller):
        path = group / files[0 if second else 1]
        if not path.is_file():
            continue
        inside = members(path)
        if pid not in inside:
            continue
        if not spared.isdisjoint(inside):
            raise Refused(
                "shared-group",
                f"its cgroup {group} also contains the application, or a process that must keep running",
                path=str(group),
            )
        if not os.access(path, os.W_OK):
            raise Refused("needs-root", f"only root may write {path}", path=str(path))
        return path
    return None
