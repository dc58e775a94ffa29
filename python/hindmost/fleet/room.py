"""Whether this host has room for a plan's connections: files, ports, memory; checked before a run."""

from __future__ import annotations

import json
import resource
from typing import Any

from hindmost import _engine
from hindmost.errors import HostUnfit, UsageError
from hindmost.plan import MeasurePlan

SPARE_FILES = 64
"""What a server holds open next to its connections; the engine counts the same for an instance."""
MEMORY_SHARE = 0.5
"""Share of the memory at hand that clients may ask for: the server and the kernel's sockets need theirs."""


def make_room(
    plan: MeasurePlan,
    protocol: str,
    *,
    takes: int | None = None,
    managed: bool = False,
    facts: dict[str, Any] | None = None,
) -> None:
    """See that this host can carry the plan's connections; raise our own limit of open files if they need it.

    Servers and clients inherit that limit. It is left alone where the connections fit.

    Parameters
    ----------
    protocol : str
        What the target speaks.
    takes : int, optional
        Connections that the server takes, where its option ``connections`` says so.
    managed : bool
        The server is started here, so that its ends of the connections are files of this host, too.
    facts : dict, optional
        What the host is (``_engine.host_facts``); default: this one.

    Raises
    ------
    HostUnfit
        If files, ports or memory do not suffice; says how many there are, and what to do.
    UsageError
        If the server takes fewer connections than were asked for.
    """
    facts = json.loads(_engine.host_facts()) if facts is None else facts
    # The first clients have a connection more than the others, where those cannot be shared evenly.
    more = plan.connections % plan.clients
    first, last = (
        json.loads(plan.ask_engine(_engine.plan_needs, 1, index, protocol, "127.0.0.1:1"))
        for index in (0, plan.clients - 1)
    )
    needs = [first] * more + [last] * (plan.clients - more)
    connections = sum(one["ports"] for one in needs)
    _files(
        max(max(one["files"] for one in needs), connections + SPARE_FILES if managed else 0),
        plan,
        facts["open_files_limit"],
        facts["open_files_hard_limit"],
    )
    ports = facts["local_ports"]
    addresses = max(len(plan.source), 1)
    if ports is not None and connections > addresses * (count := ports["last"] - ports["first"] + 1):
        raise HostUnfit(
            "ports",
            f"{connections:,} connections to one address need as many local ports, but this host has"
            f" {count:,} ({ports['first']} to {ports['last']})"
            + (f" at each of {addresses} addresses" if plan.source else ""),
            hint="sudo sysctl -w net.ipv4.ip_local_port_range='1024 65535', more addresses in --source,"
            " or fewer --connections",
            need=connections,
            have=addresses * count,
        )
    memory, available = sum(one["memory_bytes"] for one in needs), facts["memory_available_bytes"]
    if available is not None and memory > MEMORY_SHARE * available:
        each = max(one["connection_bytes"] for one in needs)
        raise HostUnfit(
            "little-memory",
            f"{plan.clients} client(s) with {connections:,} connections may need {_gib(memory)}, up to"
            f" {each:,} bytes per connection, but this host has {_gib(available)} free",
            hint="fewer --connections or --clients, or smaller values in --workload",
            need=memory,
            have=available,
            most=int(MEMORY_SHARE * available),
            each=each,
            unit="bytes",
        )

    if takes is not None and connections > takes:
        name, _, _ = plan.target.partition("?")
        raise UsageError(
            "full",
            f"the plan needs {connections:,} connections, but {plan.target} is started for {takes:,}",
            hint=f"'{name}?connections={connections + SPARE_FILES}' as TARGET, or fewer --connections",
            need=connections,
            most=takes,
        )


def _files(need: int, plan: MeasurePlan, soft: int | None, hard: int | None) -> None:
    if hard is not None and need > hard:
        raise HostUnfit(
            "open-files",
            f"{plan.connections:,} connections need {need:,} open files in one process, but a process here"
            f" may have {hard:,}",
            hint=f"sudo prlimit --pid $$ --nofile={max(65_536, need)}, then again; or fewer --connections",
            need=need,
            most=hard,
        )
    if soft is not None and need > soft:
        limit = resource.RLIM_INFINITY if hard is None else hard
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))


def _gib(size: int) -> str:
    return f"{size / 2**30:.2g} GiB"
