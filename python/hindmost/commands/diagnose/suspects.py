"""Suspects for a slowdown on this host, and the intervention that tests each."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hindmost.commands.diagnose.hardware import find_hardware
from hindmost.commands.diagnose.kernel import find_kernel_settings
from hindmost.commands.diagnose.metrics import SET_BY
from hindmost.commands.diagnose.neighbours import Neighbour, find_neighbours, has_thread, protected_pids
from hindmost.core.interventions.changes import File, Places, cpu_list, places
from hindmost.core.interventions.groups import (
    ChangeRefused,
    GroupFile,
    confine_group,
    groups,
    idle_group,
    limit_group,
)
from hindmost.core.interventions.idle import make_idle
from hindmost.core.interventions.links import links
from hindmost.core.notes import Note
from hindmost.core.targets.procfs import process_tree

if TYPE_CHECKING:
    from hindmost.core.interventions.changes import Intervention
    from hindmost.core.interventions.policy import Policy, Touch


@dataclass(slots=True)
class Suspects:
    """Suspects that can be tried, in order, and those that cannot, with the reason."""

    tried: dict[str, Intervention] = field(default_factory=dict)
    left_out: dict[str, Note] = field(default_factory=dict)
    corrections: dict[str, list[Intervention]] = field(default_factory=dict)
    """Changes that may stay in force, gentlest first: a neighbour yields or moves, but is never paused for
    good."""
    direct: dict[str, frozenset[str]] = field(default_factory=dict)
    """Metrics that an experiment sets itself, which are therefore no evidence."""
    first: list[str] = field(default_factory=list)
    """Suspects with a thread that a trace charged. They are tried first."""
    programs: dict[str, Neighbour] = field(default_factory=dict)
    """Programs behind suspects, by suspect."""

    @property
    def demand(self) -> frozenset[str]:
        """Suspects that are load: without it nothing waits, whatever the cause of the slowdown."""
        return frozenset(name for name, one in self.tried.items() if getattr(one, "role", "") == "client")


def find_suspects(pid: int, policy: Policy, hour: int | None = None, first: Collection[str] = ()) -> Suspects:
    """Find the suspects on this host.

    Parameters
    ----------
    pid : int
        The application's topmost process.
    policy : Policy
        What may be changed.
    hour : int, optional
        Hour of the local day; now by default.
    first : collection of str
        Names of threads whose programs are tried before all others.
    """
    hour = time.localtime().tm_hour if hour is None else hour
    suspects = Suspects()
    own = process_tree(pid)
    online = frozenset(os.sched_getaffinity(1) if os.geteuid() == 0 else os.sched_getaffinity(0))
    _quota(suspects, pid, policy, hour)
    _neighbours(suspects, own, online, policy, hour, first)
    _spread(suspects, own, online, policy, hour)
    _receive(suspects, online, policy, hour)
    _links(suspects, policy, hour)
    for touch, one, path in (*find_hardware(own), *find_kernel_settings(pid)):
        if why := policy.allows(touch, hour) or (None if path is None else _not_writable(path)):
            suspects.left_out[one.name] = why
        else:
            suspects.tried[one.name] = one
    return suspects


def _neighbours(
    suspects: Suspects,
    own: list[int],
    online: frozenset[int],
    policy: Policy,
    hour: int,
    first: Collection[str],
) -> None:
    home = frozenset().union(*places(own).values()) if own else online
    elsewhere = online - home
    for one in find_neighbours(own, policy.spares, first):
        name, comm = one.change.name, one.comm
        suspects.programs[name] = one
        if first and has_thread(one.pids, first):
            suspects.first.append(name)
        if why := policy.spares(comm):
            suspects.left_out[name] = why
            continue
        if one.backend is not None:
            suspects.left_out[name] = _backend(one)
            continue
        touch: Touch = "clients" if one.client else "pause"
        why = policy.allows(touch, hour)
        if one.client:
            if why:
                suspects.left_out[name] = why
                continue
            suspects.tried[name] = one.change
            suspects.corrections[name] = []  # its requests are wanted, so no lasting change is offered
            continue
        by_group = _by_group(suspects, one, elsewhere, own, policy, hour)
        if why and not by_group:
            suspects.left_out[name] = why
            continue
        # If it may not be paused, the strongest permitted limit on its cgroup is used.
        suspects.tried[name] = by_group[-1] if why else one.change
        gentle: list[Intervention] = []
        idles = any(change.path.name == "cpu.idle" for change in by_group)
        if policy.allows("idle", hour) is None and not idles:
            description = f"run {comm} only on idle CPUs (SCHED_IDLE)"
            gentle.append(make_idle(name, description, one.pids))
        confines = any(change.path.name == "cpuset.cpus" for change in by_group)
        if policy.allows("confine", hour) is None and elsewhere and not confines:
            description = f"confine {comm} to CPUs {cpu_list(set(elsewhere))}"
            gentle.append(Places(name, description, places(one.pids), elsewhere))
        suspects.corrections[name] = [*gentle, *by_group]


def _backend(one: Neighbour) -> Note:
    """Explain why a program that the application depends on is never paused."""
    text = f"the application depends on {one.comm} ({one.backend}), so it would wait too"
    return Note("application-depends", text, {"name": one.change.name, "by": one.backend})


def _by_group(
    suspects: Suspects, one: Neighbour, elsewhere: frozenset[int], own: list[int], policy: Policy, hour: int
) -> list[GroupFile]:
    """Return the permitted limits on a neighbour's cgroup, gentlest first; record why others are left out."""
    name, pid, spared = one.change.name, one.pids[0], protected_pids(own)
    offers = {
        "idle": lambda: idle_group(name, pid, spared),
        "confine": lambda: confine_group(name, pid, spared, elsewhere),
        "limit": lambda: limit_group(name, pid, spared),
    }
    changes: list[GroupFile] = []
    touches: tuple[Touch, ...] = ("idle", "confine", "limit")
    for touch in touches:
        try:
            if policy.allows(touch, hour) is None and (change := offers[touch]()) is not None:
                changes.append(change)
        except ChangeRefused as refused:
            suspects.left_out[f"{name}, to {touch}"] = refused.note
        except OSError as error:
            suspects.left_out[f"{name}, to {touch}"] = Note(
                "no-such-file", f"its cgroup no longer exists: {error.strerror}", {"path": error.filename}
            )
    return changes


def _spread(suspects: Suspects, own: list[int], online: frozenset[int], policy: Policy, hour: int) -> None:
    now = places(own)
    narrow = {tid: cpus for tid, cpus in now.items() if cpus < online}
    name = "threads on few processors"
    if not narrow:
        return
    if why := policy.allows("spread", hour):
        suspects.left_out[name] = why
        return
    held = cpu_list(set(frozenset().union(*narrow.values())))
    suspects.tried[name] = Places(
        name, f"let threads confined to {held} run on {cpu_list(set(online))}", narrow, online
    )


def _quota(suspects: Suspects, pid: int, policy: Policy, hour: int) -> None:
    for group, second in groups(pid, "cpu"):
        place = group / ("cpu.max" if second else "cpu.cfs_quota_us")
        name = f"quota of {group.name}"
        if not place.is_file() or name in suspects.tried:
            continue
        value, free = place.read_text().strip(), "max" if second else "-1"
        if value.split()[0] == free:
            continue
        if why := policy.allows("quota", hour) or _not_writable(place):
            suspects.left_out[name] = why
            continue
        wanted = " ".join([free, *value.split()[1:]])
        description = f"lift {place.name} of {group.name} from {value} to {wanted}"
        suspects.tried[name] = File(name, description, place, value, wanted)
        suspects.direct[name] = SET_BY["quota"]


def _links(suspects: Suspects, policy: Policy, hour: int) -> None:
    no_root = None if os.geteuid() == 0 else Note("needs-root", "only root may change a shaper")
    for link in links():
        if why := policy.allows("link", hour) or no_root:
            suspects.left_out[link.name] = why
        else:
            suspects.tried[link.name] = link


def _receive(suspects: Suspects, online: frozenset[int], policy: Policy, hour: int) -> None:
    every = f"{sum(1 << cpu for cpu in online):x}"
    for place in sorted(Path("/sys/class/net").glob("*/queues/rx-*/rps_cpus")):
        with contextlib.suppress(OSError):
            value = place.read_text().strip()
            mask = int(value.replace(",", ""), 16)
            if mask == 0 or mask == int(every, 16):
                continue
            name = f"receive processing of {place.parts[-4]}"
            if why := policy.allows("receive", hour) or _not_writable(place):
                suspects.left_out[name] = why
                continue
            plain = f"{mask:x}"
            suspects.tried[name] = File(
                name, f"handle its packets where they arrive (rps_cpus {plain} to 0)", place, plain, "0"
            )


def _not_writable(path: Path) -> Note | None:
    if os.access(path, os.W_OK):
        return None
    return Note("needs-root", f"only root may write {path}", {"path": str(path)})
