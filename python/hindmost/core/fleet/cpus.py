"""Assigns CPUs to the server, to each client, and to everything else that runs during a measurement.

The server has cores of its own, each client a CPU of a core that neither the server nor another client uses
while there are such cores, and one core stays free for this process with its tracer, samplers and capture
(*helpers*). Two clients never spin on one CPU. If there are more clients than CPUs, they sleep between
scheduled times instead, and the verdict reports the cost.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from hindmost import _engine
from hindmost.errors import UsageError
from hindmost.testing import default_of

REQUEST_US = 4.4
"""CPU time that a spinning client needs for a request (docs/benchmarks.md, memcached, median of 5 rounds)."""
BUSY = 0.25
"""Share of its time that a client of the default number may be busy. Send delay grows with it."""
LEAST_CLIENTS = 2
"""Default number of clients where there are cores for them: the verdict compares clients with each other."""

Cores = Sequence[Sequence[int]]
"""CPUs of each core: its hardware threads."""


@dataclass(frozen=True, slots=True)
class Allotment:
    """CPUs of the server and of each client.

    ``server``: CPUs of the server (empty: not bound). ``clients``: one tuple per client. ``shared``: some CPU
    is used by two clients. ``beside_server``: clients share the server's CPUs.
    """

    server: tuple[int, ...]
    clients: tuple[tuple[int, ...], ...]
    shared: bool
    beside_server: bool

    @property
    def pacing(self) -> Literal["spin", "sleep"]:
        """``spin`` if every client has its own CPU, else ``sleep``."""
        usual: Literal["spin", "sleep"] = "sleep" if self.shared or self.beside_server else "spin"
        return default_of("pacing", usual)


def may_pin() -> bool:
    """Return whether this process may choose CPUs; a container's seccomp profile can forbid it."""
    try:
        os.sched_setaffinity(0, os.sched_getaffinity(0))
    except OSError:
        return False
    return True


def move_to(cpus: Iterable[int]) -> None:
    """Move this process to these CPUs if it may choose."""
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, cpus)


def unpinned(places: Allotment) -> Allotment:
    """Return the same number of clients, with all CPUs for them and for the server."""
    return Allotment((), tuple(() for _ in places.clients), shared=True, beside_server=True)


def read_cores(root: str = "/") -> list[list[int]]:
    """Return the CPUs of each core of this host, by NUMA node and number."""
    cpus = json.loads(_engine.topology(root))["cpus"]
    first = {min(cpu["siblings"]): cpu for cpu in cpus}
    ordered = sorted(first.items(), key=lambda one: (one[1]["node"] or 0, one[0]))
    return [sorted(cpu["siblings"]) for _, cpu in ordered]


def allot(
    cpus: Sequence[int],
    *,
    clients: int | None = None,
    server: Sequence[int] | None = None,
    client_cpus: Sequence[int] | None = None,
    threads: int = 1,
    rate_per_s: float | None = None,
    cores: Cores | None = None,
) -> Allotment:
    """Assign the CPUs that this process may use.

    Parameters
    ----------
    cpus : sequence of int
        All available CPUs.
    clients : int, optional
        Number of clients; default: as many as the rate needs, and at most one for each core that is left.
    server : sequence of int, optional
        CPUs of the server; default: half of the cores, the first ones not given to clients. Empty: the server
        runs elsewhere.
    client_cpus : sequence of int, optional
        CPUs of the clients; default: one of each core that the server does not use, except for one core.
    threads : int, optional
        Worker threads of each client, one CPU each.
    rate_per_s : float, optional
        Rate of all clients; default: unknown, so that every core is used.
    cores : sequence of sequence of int, optional
        Sibling CPUs; default: each CPU is a core.

    Raises
    ------
    UsageError
        If a named CPU is not available.

    Examples
    --------
    >>> allot([0, 1])
    Allotment(server=(0,), clients=((1,),), shared=False, beside_server=False)
    >>> allot([0, 1], clients=4).pacing
    'sleep'
    >>> allot(range(16), rate_per_s=20_000.0).clients
    ((8,), (9,))
    """
    available = sorted(set(cpus))
    for name, named in (("server", server), ("client", client_cpus)):
        if named and (missing := sorted(set(named) - set(available))):
            raise UsageError(
                "bad-value",
                f"--{name}-cpus: this process may not use CPU {missing[0]}, only {available}",
                hint=f"--{name}-cpus {available[-1]}",
                option=f"--{name}-cpus",
                value=missing[0],
                known=available,
            )
    usable = [here for core in cores or () if (here := [cpu for cpu in core if cpu in available])]
    usable += [[cpu] for cpu in available if not any(cpu in core for core in usable)]
    if len(usable) == 1:  # its threads are all there is
        usable = [[cpu] for cpu in available]
    if server is None:
        free = [left for core in usable if (left := [cpu for cpu in core if cpu not in (client_cpus or ())])]
        server = [cpu for core in free[: len(usable) // 2] for cpu in core] or available
    places = list(client_cpus) if client_cpus else _places(usable, server)
    beside_server = not places or bool(set(places) & set(server))
    places = places or list(server) or available
    if clients is None:
        apart = sum(not set(core) & set(server) for core in usable)
        if client_cpus or not apart:
            apart = len(places)
        elif apart > 1 and server:
            apart -= 1  # for helpers
        clients = _clients_for(rate_per_s, max(1, apart // threads))
    needed = clients * threads
    used = [places[i % len(places)] for i in range(needed)]
    each = tuple(tuple(used[i * threads : (i + 1) * threads]) for i in range(clients))
    return Allotment(tuple(server), each, needed > len(places), beside_server)


def _places(cores: Cores, server: Sequence[int]) -> list[int]:
    """Order the CPUs outside the server: first one of each core that it does not use, then their siblings."""
    without = [core for core in cores if not set(core) & set(server)]
    beside = [[cpu for cpu in core if cpu not in server] for core in cores if core not in without]
    ordered = []
    for group in (without, beside):
        for thread in range(max(map(len, group), default=0)):
            ordered += [core[thread] for core in group if thread < len(core)]
    return ordered


def _clients_for(rate_per_s: float | None, most: int) -> int:
    if rate_per_s is None:
        return most
    return min(most, max(LEAST_CLIENTS, math.ceil(rate_per_s * REQUEST_US / 1e6 / BUSY)))


def free_cpus(cores: Cores, used: set[int]) -> list[int]:
    """Return the CPUs of unused cores, or, if every core is used, the unused CPUs.

    >>> free_cpus([[0, 4], [1, 5]], {0}), free_cpus([[0, 4]], {0}), free_cpus([[0]], {0})
    ([1, 5], [4], [])
    """
    free = [cpu for core in cores if not set(core) & used for cpu in core]
    return free or [cpu for core in cores for cpu in core if cpu not in used]
