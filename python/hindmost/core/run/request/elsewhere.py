"""The clients of a plan on other machines: how many, on which hosts and CPUs."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from hindmost.core.fleet.cpus import Allotment
from hindmost.errors import UsageError

if TYPE_CHECKING:
    from hindmost.core.fleet.dask.hosts import Hosts
    from hindmost.core.targets import Attached, Managed


def places_of(hosts: Hosts, *, clients: int | None, threads: int, server: tuple[int, ...]) -> Allotment:
    """Distribute the clients over hosts.

    Parameters
    ----------
    clients : int, optional
        The value of ``--clients``. For hosts in a file, the file sets it.
    server : tuple of int
        CPUs of the server, on its own host.

    Raises
    ------
    UsageError
        If both set the number of clients, or a scheduler has no workers.
    """
    if hosts.scheduler is not None:
        return Allotment(server, ((),) * (clients or _workers(hosts)), False, False)
    if clients is not None:
        raise UsageError(
            "conflicting-options",
            f"--clients {clients} conflicts with --fleet, whose file sets the number for each host",
            hint="clients = N in each [[host]]",
            options=["--clients", "--fleet"],
        )
    used: dict[str, int] = {}
    each, shared = [], False
    for host in hosts.slots:
        begin = used.setdefault(host.name, 0)
        used[host.name] += threads
        mine = host.cpus[begin : begin + threads]
        shared |= bool(host.cpus) and len(mine) < threads
        each.append(mine or host.cpus)
    return Allotment(server, tuple(each), shared, False)


def refuse_unreachable(hosts: Hosts, target: Attached | Managed) -> None:
    """Refuse a server that listens where no load host can reach it."""
    addresses = [target.spec.host] if target.managed else [target.host]
    if target.managed and hosts.target is not None:
        return
    if all(map(_loopback, addresses)) and not all(_loopback(host.ssh_address) for host in hosts.host):
        raise UsageError(
            "server-unreachable",
            f"load hosts cannot reach {target.name}: it listens on {addresses[0]}",
            hint="start it on a load host ([target] host = NAME in the file of --fleet), or give a TARGET"
            " with an address that load hosts can reach",
            name=target.name,
            address=addresses[0],
        )


def _workers(hosts: Hosts) -> int:
    from hindmost.core.fleet.dask.scheduler import SchedulerChannel
    from hindmost.core.fleet.opening import need_dask

    need_dask()
    channel = SchedulerChannel(hosts)
    try:
        others = {hosts.target.host} if hosts.target else set()
        return len(set(channel.hosts) - others)
    finally:
        channel.close()


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
