"""Free and used TCP ports of this machine."""

from __future__ import annotations

import errno
import random
import re
import socket
from typing import Any

from hindmost.core.documents import read_kernel
from hindmost.core.targets.procfs import join_address, local_owner, port_holder
from hindmost.errors import TargetError

_LOWEST = 10_240  # well-known services are below
_TRIES = 64
_TAKEN = re.compile(r"address already in use|EADDRINUSE", re.IGNORECASE)


def bind_error(host: str, port: int) -> int:
    """Try to bind; return 0 if the port is free, else the error number.

    Uses ``SO_REUSEADDR``, as servers do: connections in TIME_WAIT do not count.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            probe.listen(1)
    except OSError as error:
        return error.errno or errno.EINVAL
    return 0


def ephemeral_range() -> tuple[int, int]:
    """Return the first and last port that the kernel uses for outgoing connections (``ip(7)``)."""
    try:
        low, high = read_kernel("/proc/sys/net/ipv4/ip_local_port_range").split()
        return int(low), int(high)
    except (OSError, ValueError):
        return 32_768, 60_999


def pick_free_port(host: str) -> int:
    """Pick a free port below the ephemeral range.

    A port from ``bind(0)`` comes from the ephemeral range. Before the server binds it, one of our own
    outgoing connections may take it, and a client that polls it may connect to itself (simultaneous open, RFC
    9293 section 3.5). Neither happens below that range.

    Raises
    ------
    TargetError
        If `host` is not an address of this machine.
    """
    low, _ = ephemeral_range()
    if low - _LOWEST >= 1000:
        draw = random.SystemRandom()
        for _ in range(_TRIES):
            port = draw.randrange(_LOWEST, low)
            problem = bind_error(host, port)
            if problem == 0:
                return port
            if problem == errno.EADDRNOTAVAIL:
                break
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.bind((host, 0))
            return int(probe.getsockname()[1])
    except OSError as error:
        raise TargetError(
            "no-free-port",
            f"cannot find a free port on {host}: {error.strerror}",
            hint="set port in the target file, or host to an address of this machine (ip address show)",
            host=host,
            reason=error.strerror,
        ) from None


def refuse_taken_port(host: str, port: int) -> None:
    """Refuse a port that another process listens on.

    Raises
    ------
    TargetError
        Names that process, if it is visible.
    """
    problem = bind_error(host, port)
    if problem == errno.EADDRINUSE:
        raise TargetError(
            "address-in-use", taken_message(host, port), hint=taken_hint(port), **taken_fields(host, port)
        )
    if problem == errno.EACCES:
        raise TargetError(
            "needs-root",
            f"port {port} on {host} is a privileged port, and Hindmost does not run as root",
            hint="set port to 1024 or more, or to 0 for a free one",
            host=host,
            port=port,
        )


def taken_fields(host: str, port: int) -> dict[str, Any]:
    """Return the fields of an error about a used port: host, port and its process, if visible."""
    owner = local_owner(join_address(host, port))
    return {"host": host, "port": port, "pid": owner}


def taken_message(host: str, port: int) -> str:
    """Say that a port is in use and by which process."""
    holder = port_holder(join_address(host, port))
    who = holder or "a process that cannot be seen from here (another user or namespace)"
    return f"port {port} on {host} is already taken by {who}"


def taken_hint(port: int) -> str:
    """Return the hint for a used port."""
    return f"stop that process (ss -ltnp 'sport = :{port}' shows it), or set port = 0 for a free port"


def says_taken(log: str) -> bool:
    """Whether a server's log says that its address is in use."""
    return _TAKEN.search(log) is not None
