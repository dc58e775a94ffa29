"""Assigns CPUs to the server and to each client.

The server has its own CPUs, and every client gets one of the others. Two clients never spin on one CPU. If
there are more clients than CPUs, they sleep between scheduled times instead, and the verdict reports the
cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hindmost.errors import UsageError
from hindmost.testing import default_of


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


def allot(
    cpus: Sequence[int],
    *,
    clients: int | None = None,
    server: Sequence[int] | None = None,
    client_cpus: Sequence[int] | None = None,
    threads: int = 1,
) -> Allotment:
    """Assign the CPUs that this process may use.

    Parameters
    ----------
    cpus : sequence of int
        All available CPUs.
    clients : int, optional
        Number of clients; default: as many as there are CPUs left for them.
    server : sequence of int, optional
        CPUs of the server; default: half of them, the first ones not given to clients. Empty: the server runs
        elsewhere.
    client_cpus : sequence of int, optional
        CPUs of the clients; default: all except the server's.
    threads : int, optional
        Worker threads of each client, one CPU each.

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
    if server is None:
        free = [cpu for cpu in available if cpu not in set(client_cpus or ())]
        server = free[: len(available) // 2] or available
    for_clients = list(client_cpus) if client_cpus else [cpu for cpu in available if cpu not in set(server)]
    beside_server = not for_clients or bool(set(for_clients) & set(server))
    for_clients = for_clients or list(server) or available
    count = clients or max(1, len(for_clients) // threads)
    needed = count * threads
    places = [for_clients[i % len(for_clients)] for i in range(needed)]
    each = tuple(tuple(places[i * threads : (i + 1) * threads]) for i in range(count))
    return Allotment(tuple(server), each, needed > len(for_clients), beside_server)
