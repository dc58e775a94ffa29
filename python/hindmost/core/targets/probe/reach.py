"""Connects to a server, or explains why that fails."""

from __future__ import annotations

import errno
import socket

from hindmost.core.plan.protocols import Entry
from hindmost.core.targets.probe.problems import NotListening, Silent
from hindmost.core.targets.procfs import split_address


def accepts(address: str, timeout_s: float = 2.0) -> None:
    """Check that a connection is accepted; raise the same errors as `identify`."""
    _connect(address, timeout_s).close()


def reach(address: str, entry: Entry, timeout_s: float) -> socket.socket:
    """Connect to `address` as its protocol requires.

    Raises
    ------
    TargetError
        `NotListening` or `Silent`.
    """
    if entry.framing != "datagram":
        return _connect(address, timeout_s)
    host, port = split_address(address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    connection = socket.socket(family, socket.SOCK_DGRAM)
    try:
        connection.connect((host, port))
    except OSError as error:
        connection.close()
        raise Silent(
            "unreachable",
            f"cannot reach {address}: {error.strerror or error}",
            hint=f"ip route get {host}",
            address=address,
            reason=error.strerror,
        ) from None
    return connection


def _connect(address: str, timeout_s: float) -> socket.socket:
    if address.startswith("unix:"):
        return _connect_unix(address.removeprefix("unix:"), timeout_s)
    host, port = split_address(address)
    try:
        connection = socket.create_connection((host, port), timeout=timeout_s)
    except ConnectionRefusedError:
        raise _not_listening(address) from None
    except TimeoutError:
        raise Silent(
            "no-answer",
            f"{address} did not answer a connection attempt within {timeout_s:g} s",
            hint=f"is the host up, and does a firewall drop port {port}? try: ping {host}",
            address=address,
            limit=timeout_s,
            unit="s",
        ) from None
    except OSError as error:
        no_route = error.errno in (errno.EHOSTUNREACH, errno.ENETUNREACH)
        hint = f"ip route get {host}" if no_route else f"ping {host}"
        raise Silent(
            "unreachable",
            f"cannot reach {address}: {error.strerror or error}",
            hint=hint,
            address=address,
            reason=error.strerror,
        ) from None
    # Polling a free ephemeral port may connect to itself (simultaneous open): no server listens there.
    if connection.getsockname() == connection.getpeername():
        connection.close()
        raise _not_listening(address)
    return connection


def _connect_unix(path: str, timeout_s: float) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout_s)
    try:
        connection.connect(path)
    except (FileNotFoundError, ConnectionRefusedError) as error:
        connection.close()
        raise NotListening(
            "not-listening",
            f"nothing listens on the Unix socket {path}: {error.strerror}",
            hint=f"start the server, or check the path: ls -l {path}",
            address=f"unix:{path}",
            path=path,
        ) from None
    except OSError as error:
        connection.close()
        raise Silent(
            "unreachable",
            f"cannot reach the Unix socket {path}: {error.strerror or error}",
            hint=f"ls -l {path}",
            address=f"unix:{path}",
            path=path,
            reason=error.strerror,
        ) from None
    return connection


def _not_listening(address: str) -> NotListening:
    _, port = split_address(address)
    return NotListening(
        "not-listening",
        f"connection refused: nothing listens on {address}",
        hint=f"start the server, or check the port: ss -ltn 'sport = :{port}'",
        address=address,
    )
