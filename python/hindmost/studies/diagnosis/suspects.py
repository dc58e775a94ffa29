"""Who could have made it slow here, and by which intervention that can be tried."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hindmost.studies.diagnosis.interventions import File, Gone, Pause, Places, cpu_list, places, started
from hindmost.targets.procfs import process_tree

if TYPE_CHECKING:
    from hindmost.studies.diagnosis.interventions import Intervention
    from hindmost.studies.diagnosis.policy import Policy

LOOK_S = 1.0
LEAST_SHARE = 0.05
"""Of a processor: a neighbour that uses less is no suspect."""
MOST_NEIGHBOURS = 3
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Suspects:
    """Those that can be tried, in the order in which they are, and those that cannot, with the reason."""

    tried: dict[str, Intervention] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    corrections: dict[str, Intervention] = field(default_factory=dict)
    """What stays in force, where that is not what is tried: a neighbour is moved, not paused for ever."""


def find_suspects(pid: int, policy: Policy, hour: int | None = None) -> Suspects:
    """Look who is there.

    Parameters
    ----------
    pid : int
        The application's topmost process.
    policy : Policy
        What may be touched.
    hour : int, optional
        Of the local day; now by default.
    """
    hour = time.localtime().tm_hour if hour is None else hour
    found = Suspects()
    own = process_tree(pid)
    online = frozenset(os.sched_getaffinity(1) if os.geteuid() == 0 else os.sched_getaffinity(0))
    _quota(found, pid, policy, hour)
    _neighbours(found, own, online, policy, hour)
    _spread(found, own, online, policy, hour)
    _receive(found, online, policy, hour)
    return found


def busy(seconds: float = LOOK_S) -> list[tuple[float, int, str]]:
    """Processes by the share of a processor that they use, the greediest first."""

    def ticks() -> dict[int, tuple[int, str]]:
        found = {}
        for entry in os.listdir("/proc"):  # noqa: PTH208
            if entry.isdigit():
                with contextlib.suppress(OSError, IndexError):
                    text = Path(f"/proc/{entry}/stat").read_text()
                    name = text[text.index("(") + 1 : text.rindex(")")]
                    fields = text.rpartition(")")[2].split()
                    found[int(entry)] = (int(fields[11]) + int(fields[12]), name)
        return found

    before = ticks()
    time.sleep(seconds)
    shares = [
        ((now - before[pid][0]) / _TICKS / seconds, pid, name)
        for pid, (now, name) in ticks().items()
        if pid in before
    ]
    return sorted(shares, reverse=True)


def _ancestors() -> set[int]:
    found, pid = set(), os.getpid()
    while pid > 0:
        found.add(pid)
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            break
    return found


def _neighbours(found: Suspects, own: list[int], online: frozenset[int], policy: Policy, hour: int) -> None:
    spared = {*own, *_ancestors(), 1, 2}
    home = frozenset().union(*places(own).values()) if own else online
    tried = 0
    for share, pid, comm in busy():
        if share < LEAST_SHARE or tried == MOST_NEIGHBOURS:
            break
        if pid in spared:
            continue
        name = f"neighbour {comm} ({pid})"
        if why := policy.spares(comm) or policy.allows("pause", hour):
            found.left_out[name] = why
            continue
        try:
            suspect = Pause(pid, comm, started(pid))
        except Gone:
            continue
        found.tried[name] = suspect
        tried += 1
        elsewhere = online - home
        if policy.allows("confine", hour) is None and elsewhere:
            found.corrections[name] = Places(
                name,
                f"confine {comm} ({pid}) to processors {cpu_list(set(elsewhere))}",
                places(process_tree(pid)),
                elsewhere,
            )


def _spread(found: Suspects, own: list[int], online: frozenset[int], policy: Policy, hour: int) -> None:
    now = places(own)
    narrow = {tid: cpus for tid, cpus in now.items() if cpus < online}
    name = "threads on few processors"
    if not narrow:
        return
    if why := policy.allows("spread", hour):
        found.left_out[name] = why
        return
    held = cpu_list(set(frozenset().union(*narrow.values())))
    found.tried[name] = Places(
        name, f"let threads that are held on {held} run on {cpu_list(set(online))}", narrow, online
    )


def _quota(found: Suspects, pid: int, policy: Policy, hour: int) -> None:
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        below = path.lstrip("/")
        if "cpu" in controllers.split(","):
            tops = [Path("/sys/fs/cgroup") / one for one in (controllers, "cpu")]
            file, free = "cpu.cfs_quota_us", "-1"
        elif controllers == "":
            tops, file, free = [Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")], "cpu.max", "max"
        else:
            continue
        for top in tops:
            place = top / below / file
            if not below or not place.is_file():
                continue
            value = place.read_text().strip()
            name = f"quota of {below}"
            if value.split()[0] == free or name in found.tried:
                continue
            if why := policy.allows("quota", hour) or _denied(place):
                found.left_out[name] = why
                continue
            period = value.split()[1:]
            wanted = " ".join([free, *period])
            found.tried[name] = File(name, f"lift {file} from {value} to {wanted}", place, value, wanted)


def _receive(found: Suspects, online: frozenset[int], policy: Policy, hour: int) -> None:
    every = f"{sum(1 << cpu for cpu in online):x}"
    for place in sorted(Path("/sys/class/net").glob("*/queues/rx-*/rps_cpus")):
        with contextlib.suppress(OSError):
            value = place.read_text().strip()
            mask = int(value.replace(",", ""), 16)
            if mask == 0 or mask == int(every, 16):
                continue
            name = f"receive processing of {place.parts[-4]}"
            if why := policy.allows("receive", hour) or _denied(place):
                found.left_out[name] = why
                continue
            plain = f"{mask:x}"
            found.tried[name] = File(
                name, f"handle its packets where they arrive (rps_cpus {plain} to 0)", place, plain, "0"
            )


def _denied(path: Path) -> str | None:
    return None if os.access(path, os.W_OK) else f"{path} may not be written: run as root"
