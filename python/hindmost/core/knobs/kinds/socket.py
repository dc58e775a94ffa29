"""Options of the server's TCP sockets, set from outside.

The sockets are duplicated by ``pidfd_getfd(2)`` (Linux 5.6): listening ones and existing connections. The
load's connections come later. Whether they inherit an option from the listening socket is tested on this
kernel before anything starts, and then on a connection to the server itself: a server that sets the option
itself would silently undo ours.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.core.documents import read_kernel
from hindmost.core.knobs.knob import Idle, refuse_level, undo_on_exit
from hindmost.core.names import nearest
from hindmost.core.notes import Note
from hindmost.core.targets import Managed, ManagedServer
from hindmost.errors import HostUnfit, UsageError

FOUND = "found"
_PIDFD_GETFD = 438  # the same number on every architecture (asm-generic/unistd.h)
_ACCEPT_PATIENCE_S = 2.0


@dataclass(frozen=True)
class Option:
    """One socket option.

    Attributes
    ----------
    level, number
        As in ``setsockopt(2)``.
    force
        The option number with which root may exceed the system's limit; None: there is none.
    flag
        Whether its levels are ``off`` and ``on``.
    times
        The kernel stores this multiple of the written value (``socket(7)``, SO_RCVBUF).
    """

    level: int
    number: int
    force: int | None = None
    flag: bool = False
    times: int = 1


# Numbers without a name in the socket module: asm-generic/socket.h.
OPTIONS: Mapping[str, Option] = {
    "busy_poll": Option(socket.SOL_SOCKET, 46),
    "incoming_cpu": Option(socket.SOL_SOCKET, 49),
    "nodelay": Option(socket.IPPROTO_TCP, socket.TCP_NODELAY, flag=True),
    "quickack": Option(socket.IPPROTO_TCP, socket.TCP_QUICKACK, flag=True),
    "rcvbuf": Option(socket.SOL_SOCKET, socket.SO_RCVBUF, force=33, times=2),
    "sndbuf": Option(socket.SOL_SOCKET, socket.SO_SNDBUF, force=32, times=2),
}


@dataclass(frozen=True)
class SocketOption(Idle):
    """One option on all TCP sockets of the server's port."""

    option: str

    @property
    def name(self) -> str:  # noqa: D102
        return f"socket {self.option}"

    @property
    def sets(self) -> frozenset[str]:  # noqa: D102
        return frozenset({f"server:socket.{self.option}"})

    @property
    def constants(self) -> Option:
        """Its constants."""
        return OPTIONS[self.option]

    def value(self, level: str) -> int | None:
        """Return the level as a number; None: unchanged."""
        if level == FOUND:
            return None
        if self.constants.flag:
            if level not in ("off", "on"):
                raise refuse_level(self.name, level, "only found, off, on", known=["found", "off", "on"])
            return int(level == "on")
        if not level.isascii() or not level.isdigit() or int(level) >= 1 << 30:
            raise refuse_level(self.name, level, "only found, or a number below 2^30", most=(1 << 30) - 1)
        return int(level)

    def check(self, level: str) -> None:  # noqa: D102
        value = self.value(level)
        if value is None:
            return
        if why := missing():
            raise HostUnfit(
                why.code, f"{self.name} cannot be {level} here: {why}", name=self.name, value=level
            )
        listening, accepted = self.try_value(value)
        expected = value * self.constants.times
        if listening != expected:
            raise HostUnfit(
                "setting-differs",
                f"{self.name} was set to {expected}, but a socket of this process then has {listening}",
                **self._differs(expected, listening),
            )
        if accepted != expected:
            raise HostUnfit(
                "setting-differs",
                f"{self.name}: on this kernel an accepted socket does not inherit it (it has {accepted}, not "
                f"{expected}), so the load's connections would not have it",
                hint="look for an option of the server itself",
                **self._differs(expected, accepted),
            )

    def try_value(self, value: int) -> tuple[int, int]:
        """Set a value on our own listening socket; return the values of it and of an accepted connection."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            self._write(server, value)
            with socket.create_connection(server.getsockname()):
                accepted, _ = server.accept()
                with accepted:
                    return self._read(server), self._read(accepted)

    def on_server(self, level: str, server: ManagedServer) -> AbstractContextManager[None]:  # noqa: D102
        value = self.value(level)
        return nullcontext() if value is None else self._set(value, server)

    @contextmanager
    def _set(self, value: int, server: ManagedServer) -> Iterator[None]:
        old_values: dict[str, int] = {}

        def undo() -> None:
            for inode, pid, number in sockets(server):
                if inode in old_values:
                    with contextlib.suppress(OSError), borrow_socket(pid, number) as borrowed_socket:
                        self._write(borrowed_socket, old_values[inode] // self.constants.times)

        with undo_on_exit(undo):
            for inode, pid, number in sockets(server):
                if inode not in old_values:  # several processes may share a socket
                    with borrow_socket(pid, number) as borrowed_socket:
                        old_values[inode] = self._read(borrowed_socket)
                        self._write(borrowed_socket, value)
                        self._verify(self._read(borrowed_socket), value, "a socket of the server")
            if not old_values:
                raise HostUnfit(
                    "not-listening",
                    f"{self.name}: this user can see no socket of the server on port {server.port}",
                    name=self.name,
                    port=server.port,
                )
            self._verify(self._read_accepted(server), value, "a connection that the server accepted")
            yield

    def _read_accepted(self, server: ManagedServer) -> int:
        """Return the value at the server's end of a new connection."""
        with socket.create_connection((server.spec.host, server.port), timeout=_ACCEPT_PATIENCE_S) as ours:
            deadline = time.monotonic() + _ACCEPT_PATIENCE_S
            while time.monotonic() < deadline:
                for _, pid, number in sockets(server, peer=ours.getsockname()[1]):
                    with borrow_socket(pid, number) as theirs:
                        time.sleep(0.01)  # a server sets its own options right after accepting
                        return self._read(theirs)
                time.sleep(0.005)
        raise HostUnfit(
            "not-listening",
            f"{self.name}: the server did not accept a connection within {_ACCEPT_PATIENCE_S:g} s",
            name=self.name,
            limit=_ACCEPT_PATIENCE_S,
            unit="s",
        )

    def _verify(self, is_now: int, value: int, where: str) -> None:
        if is_now != value * self.constants.times:
            raise HostUnfit(
                "setting-differs",
                f"{self.name} was set to {value * self.constants.times}, but {where} has {is_now}",
                hint="the server may set it itself: see its options",
                **self._differs(value * self.constants.times, is_now),
            )

    def _differs(self, expected: int, actual: int) -> dict[str, Any]:
        return {"name": self.name, "value": expected, "found": actual}

    def _read(self, connection: socket.socket) -> int:
        value = connection.getsockopt(self.constants.level, self.constants.number)
        return int(value != 0) if self.constants.flag else value

    def _write(self, connection: socket.socket, value: int) -> None:
        if self.constants.force is not None:
            with contextlib.suppress(PermissionError):
                connection.setsockopt(self.constants.level, self.constants.force, value)
                return
        try:
            connection.setsockopt(self.constants.level, self.constants.number, value)
        except PermissionError as error:
            raise HostUnfit(
                "setting-refused",
                f"{self.name} cannot be {value}: {error.strerror}",
                hint="run as root",
                name=self.name,
                value=value,
            ) from None


def sockets(server: ManagedServer, peer: int | None = None) -> list[tuple[str, int, int]]:
    """Return inode, pid, descriptor of TCP sockets on the server's port; `peer`: with this remote port."""
    entries: list[tuple[str, int, int]] = []
    for pid in server.pids():
        inodes = _inodes(pid, server.port, peer)
        with contextlib.suppress(OSError):
            for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    inode = str(descriptor.readlink()).removeprefix("socket:[").removesuffix("]")
                    if inode in inodes:
                        entries.append((inode, pid, int(descriptor.name)))
    return entries


def _inodes(pid: int, port: int, peer: int | None) -> set[str]:
    """Return the inodes of TCP sockets in a process's network namespace (``proc_net_tcp(5)``)."""
    inodes = set()
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in read_kernel(f"/proc/{pid}/net/{table}").splitlines()[1:]:
                fields = line.split()
                local, remote = (int(fields[index].rpartition(":")[2], 16) for index in (1, 2))
                if local == port and peer in (None, remote):
                    inodes.add(fields[9])
    return inodes


@contextmanager
def borrow_socket(pid: int, descriptor: int) -> Iterator[socket.socket]:
    """Duplicate a socket of another process, for as short as possible, because it keeps a port open."""
    process = os.pidfd_open(pid)
    try:
        number = ctypes.CDLL(None, use_errno=True).syscall(_PIDFD_GETFD, process, descriptor, 0)
        if number < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    finally:
        os.close(process)
    with socket.socket(fileno=number) as duplicate:
        yield duplicate


def make(what: Mapping[str, Any], target: Managed, journal: Path) -> SocketOption:
    """Make the setting ``socket = "NAME"``."""
    if what["socket"] not in OPTIONS:
        raise UsageError(
            "unknown-name",
            f"socket = {what['socket']!r} is not a known option{nearest(what['socket'], OPTIONS)}",
            hint=f"one of {', '.join(OPTIONS)}",
            key="socket",
            value=what["socket"],
            known=list(OPTIONS),
        )
    return SocketOption(what["socket"])


def missing() -> Note | None:
    """Return why sockets of another process cannot be duplicated."""
    with socket.socket() as probe:
        try:
            with borrow_socket(os.getpid(), probe.fileno()):
                return None
        except OSError as error:
            text = f"pidfd_getfd: {error.strerror} (it needs Linux 5.6)"
            return Note("setting-unavailable", text, {"name": "pidfd_getfd"})
