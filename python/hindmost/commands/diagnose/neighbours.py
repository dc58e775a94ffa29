"""Neighbour programs on this host: busy neighbours of the application, and its local clients."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

from hindmost.commands.diagnose.relations import find_related
from hindmost.core.documents import read_kernel
from hindmost.core.interventions.changes import Pause, SuspectGone, start_ticks
from hindmost.core.interventions.freezer import Freeze, freezer_of, members
from hindmost.core.targets.guard import parents
from hindmost.core.targets.procfs import process_tree

LOOK_S = 1.0
LEAST_SHARE = 0.05
"""CPUs used. A neighbour that uses fewer is no suspect."""
MOST = 3
"""Number of neighbours, and of clients, to try. Each costs pairs; those that use most CPU time come first."""
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A program other than the application."""

    change: Pause | Freeze
    comm: str
    pids: list[int]
    client: bool
    share: float = 0.0
    """CPUs that it uses."""
    backend: str | None = None
    """How the application depends on it, if it does: ``tcp``, ``unix``, ``pipe``, ``memory``."""


def find_neighbours(
    own: list[int], spares: Callable[[str], object], first: Collection[str] = ()
) -> list[Neighbour]:
    """Return neighbours and clients that use CPU time, those that use most first.

    Programs with a thread named in `first` come before all others, however little they use. A process counts
    as one with its descendants of the same name. The processes of a cgroup with a freezer count as one too,
    unless the application or Hindmost is in that cgroup. Programs that `spares` protects are returned, but do
    not count towards `MOST`: a busy host has many of them, and the cause may use less.
    """
    spared = protected_pids(own)
    known = find_related(own)
    up = parents()
    shares: dict[int, float] = {}
    names: dict[int, str] = {}
    for share, pid, comm in busy_processes():
        names[pid] = comm
        top = _top(pid, comm, up, spared)
        shares[top] = shares.get(top, 0.0) + share
    neighbours: list[Neighbour] = []
    seen: set[str] = set()
    named = {pid for pid in shares if first and has_thread(process_tree(pid), first)}
    for pid in sorted(shares, key=lambda pid: (pid not in named, -shares[pid])):
        if shares[pid] < LEAST_SHARE and pid not in named:
            break
        kind = (not known.clients.isdisjoint(process_tree(pid)), spares(names.get(pid, "?")) is None)
        if pid in spared or sum((one.client, spares(one.comm) is None) == kind for one in neighbours) == MOST:
            continue
        with contextlib.suppress(SuspectGone):
            one = _make_neighbour(pid, names.get(pid, "?"), kind[0], spared)
            backend = next((known.backends[each] for each in one.pids if each in known.backends), None)
            one = replace(one, share=shares[pid], backend=backend)
            if one.change.name not in seen:
                seen.add(one.change.name)
                neighbours.append(one)
    return neighbours


def has_thread(pids: list[int], names: Collection[str]) -> bool:
    """Whether one of these processes has a thread with one of the names."""
    for pid in pids:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                with contextlib.suppress(OSError):
                    if read_kernel(task / "comm").strip() in names:
                        return True
    return False


def protected_pids(own: list[int]) -> set[int]:
    """Return the application's processes, our own with all ancestors, and processes 1 and 2."""
    return {*own, *_ancestors(), 1, 2}


def _make_neighbour(pid: int, comm: str, client: bool, spared: set[int]) -> Neighbour:
    if not client and (freezer := freezer_of(pid)) is not None:
        group, path = freezer
        pids = members(path)
        if pid in pids and spared.isdisjoint(pids) and os.access(path, os.W_OK):
            return Neighbour(Freeze(group, path), comm, sorted(pids), client)
    change = Pause(pid, comm, start_ticks(pid), "client" if client else "neighbour")
    return Neighbour(change, comm, process_tree(pid), client)


def _top(pid: int, comm: str, up: dict[int, int], spared: set[int]) -> int:
    """Return the topmost ancestor connected to `pid` by parents of the same name."""
    while (parent := up.get(pid, 0)) > 1 and parent not in spared and _comm(parent) == comm:
        pid = parent
    return pid


def _comm(pid: int) -> str | None:
    with contextlib.suppress(OSError):
        return read_kernel(f"/proc/{pid}/comm").strip()
    return None


def busy_processes(seconds: float = LOOK_S) -> list[tuple[float, int, str]]:
    """Return processes with the CPUs that they use, busiest first."""

    def ticks() -> dict[int, tuple[int, str]]:
        found = {}
        for entry in os.listdir("/proc"):  # noqa: PTH208
            if entry.isdigit():
                with contextlib.suppress(OSError, IndexError):
                    text = read_kernel(f"/proc/{entry}/stat")
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
            pid = int(read_kernel(f"/proc/{pid}/stat").rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            break
    return found
