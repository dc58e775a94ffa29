"""Suspects of the host as doses for its twin: the same quota, places, shaper, load; or the same company.

A dose is in force where the suspect is *there*. One way is the other way round: neighbours of the host are
the twin's as well, and it is kept from them (real-time) where they are to be *gone*.
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

from hindmost.interventions.changes import File, Places, SuspectGone, cpu_list, places, threads
from hindmost.interventions.links import Link
from hindmost.knobs import steps
from hindmost.knobs.kinds.cgroup import hierarchy
from hindmost.knobs.steps import Step
from hindmost.notes import Note
from hindmost.studies.diagnosis.twin.loads import Load, MoreLoad
from hindmost.studies.diagnosis.twin.network import Network, received, sent_bytes, shaped
from hindmost.studies.diagnosis.twin.quotas import LEAST_QUOTA_US, held_back, titrated

if TYPE_CHECKING:
    from hindmost.interventions.changes import Intervention
    from hindmost.studies.diagnosis.suspects import Suspects

TOGETHER = "neighbours together"
PRIORITY = 1
"""Of the kernel's real-time round robin, for a twin that is kept from neighbours; the probe goes first."""
LOOK_S = 1.0


@dataclass(slots=True)
class Scene:
    """What doses are made of.

    Attributes
    ----------
    pids : list of int
        The twin's processes.
    work, host_work : float
        Processors that the twin and the host's instance use.
    rate, normal_rate : float
        Requests a second now, and those that were asked for when all was well; NaN: not known.
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
    """Doses that can be given, and suspects that cannot be brought to the replica, with the reason."""

    given: dict[str, Intervention] = field(default_factory=dict)
    shields: set[str] = field(default_factory=set)
    """Whose intervention keeps the suspect away, instead of bringing it."""
    left_out: dict[str, Note] = field(default_factory=dict)
    members: dict[str, list[str]] = field(default_factory=dict)


def doses_of(suspects: Suspects, scene: Scene) -> Doses:
    """Bring each suspect to the twin, as far as that can be."""
    found = Doses()
    company: list[str] = []
    clients: list[str] = []
    for name, one in suspects.tried.items():
        if name in suspects.others:
            (clients if suspects.others[name].client else company).append(name)
        elif isinstance(one, Places):
            _placed(found, name, one, scene)
        elif isinstance(one, Link):
            _shaped(found, one, scene)
        elif isinstance(one, File) and one.path.name in ("cpu.max", "cpu.cfs_quota_us"):
            _limited(found, name, one, scene)
        elif isinstance(one, File) and one.path.name == "rps_cpus" and scene.network is not None:
            found.given[name] = received(name, scene.network, one.found)
        else:
            found.left_out[name] = Note("no-dose", "it cannot be brought to a replica")
    _company(found, company, scene)
    _loaded(found, clients, scene)
    return found


def _placed(found: Doses, name: str, one: Places, scene: Scene) -> None:
    ((mask, _),) = collections.Counter(one.found.values()).most_common(1)
    now = places(scene.pids)
    if all(cpus <= mask for cpus in now.values()):
        held = cpu_list(set(mask))
        found.left_out[name] = Note(
            "dose-in-force", f"the replica runs on CPUs {held} anyway", {"value": held}
        )
        return
    found.given[name] = Places(name, f"hold the twin's threads on {cpu_list(set(mask))}", now, mask)


def _limited(found: Doses, name: str, one: File, scene: Scene) -> None:
    """A quota in proportion to the work, then such that it holds the twin back for as long as the host's."""
    part = scene.work / scene.host_work if min(scene.work, scene.host_work) > 0.005 else 1.0
    words = one.found.split()
    place = hierarchy("cpu")
    group = place.group_of(scene.pids[0])
    if group is None:
        found.left_out[name] = Note("no-own-group", "the replica has no control group of its own")
        return
    quota = max(LEAST_QUOTA_US, round(int(words[0]) * part))
    period = words[1] if len(words) > 1 else (one.path.parent / "cpu.cfs_period_us").read_text().strip()
    about = f"a quota of {quota / int(period):.3g} processors"
    if place.version == 2:
        path, wanted = group / "cpu.max", f"{quota} {period}"
    else:
        (group / "cpu.cfs_period_us").write_text(period)
        path, wanted = group / "cpu.cfs_quota_us", str(quota)
    dose = File(name, about, path, path.read_text().strip(), wanted)
    found.given[name] = titrated(dose, int(period), held_back(one.path.parent, LOOK_S))


def _shaped(found: Doses, one: Link, scene: Scene) -> None:
    if scene.network is None:
        found.left_out[one.name] = Note("no-own-network", "the replica has no network of its own")
        return
    network = scene.network

    def look() -> tuple[int, int]:
        return sent_bytes(one.device), sent_bytes(network.there, network.namespace)

    before = look()
    time.sleep(LOOK_S)
    host, twin = (after - then for after, then in zip(look(), before, strict=True))
    # What a shaper leaves above the traffic counts, as with a quota.
    part = twin / host if min(twin, host) > 1_000 else 1.0
    rate = max(1_000, round(one.rate * part))
    found.given[one.name] = shaped(one.name, network, rate, one.burst, one.limit)


def _company(found: Doses, names: list[str], scene: Scene) -> None:
    if not names:
        return
    name = names[0] if len(names) == 1 else TOGETHER
    shield = Shield(name, scene.pids, names)
    if why := shield.refused():
        found.left_out |= dict.fromkeys(names, why)
        return
    found.members[name] = names
    found.given[name] = shield
    found.shields.add(name)


def _loaded(found: Doses, clients: list[str], scene: Scene) -> None:
    name = clients[0] if len(clients) == 1 else "more load"
    if not scene.normal_rate < scene.rate:
        if math.isnan(scene.normal_rate):
            why = Note(
                "normal-load-unknown", "the normal load is not known (--normal-work or --ring state it)"
            )
        else:
            why = Note("normal-load", "the load is not higher than normal")
        found.left_out |= dict.fromkeys(clients, why)
        return
    found.members[name] = clients
    found.given[name] = MoreLoad(name, scene.load, scene.normal_rate, scene.rate)


class Shield:
    """The twin at real-time priority: nobody else's work keeps it from a processor."""

    def __init__(self, name: str, pids: list[int], names: list[str]) -> None:
        self.name = name
        self.about = f"leave the replica among {', '.join(names)}; without: real-time priority over them"
        self._pids = pids

    @property
    def undo(self) -> list[Step]:
        """Its threads have no priority."""
        return steps.schedule(dict.fromkeys(threads(self._pids), os.SCHED_OTHER))

    def refused(self) -> Note | None:
        """Return why the kernel does not let the replica have real-time priority; None if it does.

        It takes CAP_SYS_NICE. A kernel with CONFIG_RT_GROUP_SCHED also refuses it in a control group without
        real-time bandwidth, which is every group but the root of cgroup version 2.
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
        """Keep them from it."""
        if not self._set(os.SCHED_RR, PRIORITY):
            raise SuspectGone("threads-ended", "the replica has ended")

    def give_back(self) -> None:
        """Leave it among them."""
        self._set(os.SCHED_OTHER, 0)

    def _set(self, policy: int, priority: int) -> bool:
        done = False
        for tid in threads(self._pids):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setscheduler(tid, policy, os.sched_param(priority))
                done = True
        return done

    def is_gone(self) -> bool:
        """Whether it is kept from them."""
        return any(os.sched_getscheduler(tid) == os.SCHED_RR for tid in threads(self._pids))


def names_on_host(leader: str, members: Mapping[str, list[str]]) -> list[str]:
    """Whom to take away on the host, to see whether a dose's name holds there."""
    return members.get(leader, [leader])
