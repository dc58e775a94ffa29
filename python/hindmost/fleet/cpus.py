"""Which processors the server and each load client get.

The rule: the server's processors are its own; every client gets one of the rest; two clients never spin
on one processor. Where there are more clients than processors, they sleep between due times instead,
and the verdict says what that costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hindmost.errors import UsageError
from hindmost.testing import default_of


@dataclass(frozen=True, slots=True)
class Allotment:
    """Who runs where.

    ``server``: processors of the server (empty: not bound). ``clients``: one tuple an instance.
    ``shared``: some processor serves two instances. ``beside_server``: clients share the server's.
    """

    server: tuple[int, ...]
    clients: tuple[tuple[int, ...], ...]
    shared: bool
    beside_server: bool

    @property
    def pacing(self) -> Literal["spin", "sleep"]:
        """``spin`` where every client has a processor of its own, else ``sleep``."""
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
    """Share out the processors that this process may use.

    Parameters
    ----------
    cpus : sequence of int
        All processors at hand.
    clients : int, optional
        How many clients; default: as many as there are processors left for them.
    server : sequence of int, optional
        Processors of the server; default: half of them, the first that no client was given. Empty: the
        server is elsewhere.
    client_cpus : sequence of int, optional
        Processors of the clients; default: all that the server does not have.
    threads : int, optional
        Worker threads of each client, one processor each.

    Raises
    ------
    UsageError
        If a named processor is not at hand.

    Examples
    --------
    >>> allot([0, 1])
    Allotment(server=(0,), clients=((1,),), shared=False, beside_server=False)
    >>> allot([0, 1], clients=4).pacing
    'sleep'
    """
    at_hand = sorted(set(cpus))
    for name, named in (("server", server), ("client", client_cpus)):
        if named and (missing := sorted(set(named) - set(at_hand))):
            raise UsageError(
                "bad-value",
                f"--{name}-cpus: this process may not use CPU {missing[0]}, only {at_hand}",
                hint=f"--{name}-cpus {at_hand[-1]}",
                option=f"--{name}-cpus",
                value=missing[0],
                known=at_hand,
            )
    if server is None:
        free = [cpu for cpu in at_hand if cpu not in set(client_cpus or ())]
        server = free[: len(at_hand) // 2] or at_hand
    rest = list(client_cpus) if client_cpus else [cpu for cpu in at_hand if cpu not in set(server)]
    beside = not rest or bool(set(rest) & set(server))
    rest = rest or list(server) or at_hand
    count = clients or max(1, len(rest) // threads)
    wanted = count * threads
    places = [rest[i % len(rest)] for i in range(wanted)]
    each = tuple(tuple(places[i * threads : (i + 1) * threads]) for i in range(count))
    return Allotment(tuple(server), each, wanted > len(rest), beside)
