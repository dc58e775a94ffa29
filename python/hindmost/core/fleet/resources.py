"""Checks before a run that this host has enough files, ports and memory for a plan's connections."""

from __future__ import annotations

import json
import resource
from typing import Any

from hindmost import _engine
from hindmost.core.plan import MeasurePlan
from hindmost.errors import HostUnfit, UsageError

SPARE_FILES = 64
"""Files of a server in addition to its connections; the engine assumes the same for a client."""
MEMORY_SHARE = 0.5
"""Share of the available memory that clients may use: the server and the kernel's sockets need the rest."""


def prepare_resources(
    plan: MeasurePlan,
    protocol: str,
    *,
    accepts: int | None = None,
    managed: bool = False,
    facts: dict[str, Any] | None = None,
) -> None:
    """Check that this host can carry the plan's connections; raise our limit of open files if they need it.

    Servers and clients inherit that limit. It stays unchanged if the connections fit.

    Parameters
    ----------
    protocol : str
        The target's protocol.
    accepts : int, optional
        Connections that the server accepts, if its option ``connections`` sets it.
    managed : bool
        The server is started here, so its ends of the connections are files of this host, too.
    facts : dict, optional
        Facts about the host (``_engine.host_facts``); default: this one.

    Raises
    ------
    HostUnfit
        If files, ports or memory do not suffice; gives the numbers and a hint.
    UsageError
        If the server accepts fewer connections than requested.
    """
    facts = json.loads(_engine.host_facts()) if facts is None else facts
    # If connections cannot be divided evenly, the first clients have one more than the others.
    more = plan.connections % plan.clients
    first, last = (
        json.loads(plan.ask_engine(_engine.plan_needs, 1, index, protocol, "127.0.0.1:1"))
        for index in (0, plan.clients - 1)
    )
    needs = [first] * more + [last] * (plan.clients - more)
    connections = sum(need["ports"] for need in needs)
    _require_open_files(
        max(max(need["files"] for need in needs), connections + SPARE_FILES if managed else 0),
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
    memory, available = sum(need["memory_bytes"] for need in needs), facts["memory_available_bytes"]
    if available is not None and memory > MEMORY_SHARE * available:
        each = max(need["connection_bytes"] for need in needs)
        raise HostUnfit(
            "little-memory",
            f"{plan.clients} client(s) with {connections:,} connections may need {_format_gib(memory)}, up to"
            f" {each:,} bytes per connection, but this host has {_format_gib(available)} free",
            hint="fewer --connections or --clients, or smaller values in --workload",
            need=memory,
            have=available,
            most=int(MEMORY_SHARE * available),
            each=each,
            unit="bytes",
        )

    if accepts is not None and connections > accepts:
        name, _, _ = plan.target.partition("?")
        raise UsageError(
            "full",
            f"the plan needs {connections:,} connections, but {plan.target} is started for {accepts:,}",
            hint=f"'{name}?connections={connections + SPARE_FILES}' as TARGET, or fewer --connections",
            need=connections,
            most=accepts,
        )


def _require_open_files(need: int, plan: MeasurePlan, soft: int | None, hard: int | None) -> None:
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


def _format_gib(size: int) -> str:
    return f"{size / 2**30:.2g} GiB"
