"""Suspects of the host as doses for its replica: the same quota, CPUs, shaper, load or neighbours.

A dose is in force while the suspect is *there*. Neighbours are the exception: the replica has the host's
neighbours anyway, and real-time priority shields it from them while they are to be *gone*.
"""

from __future__ import annotations

import collections
import contextlib
import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hindmost.commands.diagnose.replica.loads import Load, MoreLoad
from hindmost.commands.diagnose.replica.network import Network, move_receive, sent_bytes, shape_link
from hindmost.commands.diagnose.replica.quotas import LEAST_QUOTA_US, throttled_share, tune_quota
from hindmost.core.interventions.changes import File, Places, SuspectGone, cpu_list, places
from hindmost.core.interventions.links import Link
from hindmost.core.knobs import steps
from hindmost.core.knobs.kinds.cgroup import hierarchy
from hindmost.core.knobs.steps import Step
from hindmost.core.notes import Note
from hindmost.core.targets.procfs import thread_ids

if TYPE_CHECKING:
    from hindmost.commands.diagnose.suspects import Suspects
    from hindmost.core.interventions.changes import Intervention

TOGETHER = "neighbours together"
PRIORITY = 1
"""Real-time round-robin priority of a replica that is shielded from neighbours; the probe's is higher."""
LOOK_S = 1.0


@dataclass(slots=True)
class Scene:
    """What doses are computed from.

    Attributes
    ----------
    pids : list of int
        The replica's processes.
    work, host_work : float
        CPUs that the replica and the host's instance use.
    rate, normal_rate : float
        Requests/s now, and usually; NaN if unknown.
    """

    pids: list[int]
    work: float
    host_work: float
    rate: float
    normal_rate: float
    load: Load
    network: Network | None


@dataclass(slots=True)
class Doses:
    """Doses that can be applied, and suspects that cannot be brought to the replica, with the reason."""

    interventions: dict[str, Intervention] = field(default_factory=dict)
    shields: set[str] = field(default_factory=set)
    """Doses whose intervention keeps the suspect away instead of bringing it."""
    left_out: dict[str, Note] = field(default_factory=dict)
    members: dict[str, list[str]] = field(default_factory=dict)


def doses_of(suspects: Suspects, scene: Scene) -> Doses:
    """Build a dose for each suspect that can be brought to the replica."""
    doses = Doses()
    company: list[str] = []
    clients: list[str] = []
    for name, one in suspects.tried.items():
        if name in suspects.programs:
            (clients if suspects.programs[name].client else company).append(name)
        elif isinstance(one, Places):
            _add_places(doses, name, one, scene)
        elif isinstance(one, Link):
            _add_shaper(doses, one, scene)
        elif isinstance(one, File) and one.path.name in ("cpu.max", "cpu.cfs_quota_us"):
            _add_quota(doses, name, one, scene)
        elif isinstance(one, File) and one.path.name == "rps_cpus" and scene.network is not None:
            doses.interventions[name] = move_receive(name, scene.network, one.found)
        else:
            doses.left_out[name] = Note("no-dose", "it cannot be brought to a replica")
    _add_neighbours(doses, company, scene)
    _add_load(doses, clients, scene)
    return doses


def _add_places(doses: Doses, name: str, one: Places, scene: Scene) -> None:
    ((mask, _),) = collections.Counter(one.found.values()).most_common(1)
    now = places(scene.pids)
    if all(cpus <= mask for cpus in now.values()):
        held = cpu_list(set(mask))
        doses.left_out[name] = Note(
            "dose-in-force", f"the replica already runs on CPUs {held}", {"value": held}
        )
        return
    doses.interventions[name] = Places(
        name, f"confine the replica's threads to {cpu_list(set(mask))}", now, mask
    )


def _add_quota(doses: Doses, name: str, one: File, scene: Scene) -> None:
    """Add a quota in proportion to the work, tuned to throttle the replica like the host's instance."""
    part = scene.work / scene.host_work if min(scene.work, scene.host_work) > 0.005 else 1.0
    words = one.found.split()
    place = hierarchy("cpu")
    group = place.group_of(scene.pids[0])
    if group is None:
        doses.left_out[name] = Note("no-own-group", "the replica has no control group of its own")
        return
    quota = max(LEAST_QUOTA_US, round(int(words[0]) * part))
    period = words[1] if len(words) > 1 else (one.path.parent / "cpu.cfs_period_us").read_text().strip()
    description = f"a quota of {quota / int(period):.3g} CPUs"
    if place.version == 2:
        path, wanted = group / "cpu.max", f"{quota} {period}"
    else:
        (group / "cpu.cfs_period_us").write_text(period)
        path, wanted = group / "cpu.cfs_quota_us", str(quota)
    dose = File(name, description, path, path.read_text().strip(), wanted)
    doses.interventions[name] = tune_quota(dose, int(period), throttled_share(one.path.parent, LOOK_S))


def _add_shaper(doses: Doses, one: Link, scene: Scene) -> None:
    if scene.network is None:
        doses.left_out[one.name] = Note("no-own-network", "the replica has no network of its own")
        return
    network = scene.network

    def read_sent() -> tuple[int, int]:
        return sent_bytes(one.device), sent_bytes(network.there, network.namespace)

    before = read_sent()
    time.sleep(LOOK_S)
    host, replica = (after - then for after, then in zip(read_sent(), before, strict=True))
    # The shaped rate stays in proportion to the traffic, as a quota does to the work.
    part = replica / host if min(replica, host) > 1_000 else 1.0
    rate = max(1_000, round(one.rate * part))
    doses.interventions[one.name] = shape_link(one.name, network, rate, one.burst, one.limit)


def _add_neighbours(doses: Doses, names: list[str], scene: Scene) -> None:
    if not names:
        return
    name = names[0] if len(names) == 1 else TOGETHER
    shield = Shield(name, scene.pids, names)
    if why := shield.refusal():
        doses.left_out |= dict.fromkeys(names, why)
        return
    doses.members[name] = names
    doses.interventions[name] = shield
    doses.shields.add(name)


def _add_load(doses: Doses, clients: list[str], scene: Scene) -> None:
    name = clients[0] if len(clients) == 1 else "more load"
    if not scene.normal_rate < scene.rate:
        if math.isnan(scene.normal_rate):
            why = Note(
                "normal-load-unknown", "the normal load is not known (--normal-work or --ring gives it)"
            )
        else:
            why = Note("normal-load", "the load is not higher than normal")
        doses.left_out |= dict.fromkeys(clients, why)
        return
    doses.members[name] = clients
    doses.interventions[name] = MoreLoad(name, scene.load, scene.normal_rate, scene.rate)


class Shield:
    """The replica at real-time priority: other programs cannot keep it from a CPU."""

    def __init__(self, name: str, pids: list[int], names: list[str]) -> None:
        self.name = name
        self.description = (
            f"leave the replica among {', '.join(names)}; without: real-time priority over them"
        )
        self._pids = pids

    @property
    def undo(self) -> list[Step]:
        """Steps that take the priority from its threads."""
        return steps.schedule(dict.fromkeys(thread_ids(self._pids), os.SCHED_OTHER))

    def refusal(self) -> Note | None:
        """Return why the kernel denies the replica real-time priority; None if it allows it.

        The priority needs CAP_SYS_NICE. A kernel with CONFIG_RT_GROUP_SCHED also denies it in a control group
        without real-time bandwidth, which is every group but the root of cgroup version 2.
        """
        try:
            self._set(os.SCHED_RR, PRIORITY)
        except PermissionError as error:
            with contextlib.suppress(PermissionError):
                self.give_back()
            text = f"the kernel refuses the replica real-time priority: {error.strerror}"
            return Note("real-time-refused", text, {"errno": error.errno})
        self.give_back()
        return None

    def remove(self) -> None:
        """Give the replica priority over its neighbours."""
        if not self._set(os.SCHED_RR, PRIORITY):
            raise SuspectGone("threads-ended", "the replica has ended")

    def give_back(self) -> None:
        """Take the priority away."""
        self._set(os.SCHED_OTHER, 0)

    def _set(self, policy: int, priority: int) -> bool:
        done = False
        for tid in thread_ids(self._pids):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setscheduler(tid, policy, os.sched_param(priority))
                done = True
        return done

    def is_gone(self) -> bool:
        """Whether the replica has the priority."""
        return any(os.sched_getscheduler(tid) == os.SCHED_RR for tid in thread_ids(self._pids))


def names_on_host(leader: str, members: Mapping[str, list[str]]) -> list[str]:
    """Return the suspects to remove on the host to confirm a dose's result."""
    return members.get(leader, [leader])
