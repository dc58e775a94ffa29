"""The kernel's table of sockets (``sock_diag(7)``), also that of another network namespace."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass

_HEADER, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=HH")
_SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, _NLM_F_DUMP, _NETLINK_SOCK_DIAG = 20, 0x1, 0x300, 4
_CLONE_NEWNET = 0x40000000
_TCP_REQUEST, _TCP_REPLY = struct.Struct("=BBBBI48x"), struct.Struct("=4xHH36xQ16xI")
_INET_DIAG_INFO = 2


def opened(pid: int | None = None) -> socket.socket:
    """Open a socket to the kernel in the network namespace of a process; in ours if we may not enter that."""
    found: list[socket.socket] = []

    def open_there() -> None:
        # A namespace is a thread's own: this one ends at once.
        if pid is not None:
            try:
                space = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                pass
            else:
                ctypes.CDLL(None).setns(space, _CLONE_NEWNET)
                os.close(space)
        found.append(socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_SOCK_DIAG))

    thread = threading.Thread(target=open_there)
    thread.start()
    thread.join()
    found[0].settimeout(2.0)
    return found[0]


def dumped(link: socket.socket, body: bytes) -> Iterator[bytes]:
    """Every socket that a request asks for, as the kernel tells it; none where it tells nothing.

    Raises
    ------
    OSError
    """
    size = _HEADER.size + len(body)
    head = _HEADER.pack(size, _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST | _NLM_F_DUMP, 1, 0)
    link.sendto(head + body, (0, 0))
    while True:
        data = link.recv(1 << 16)
        while len(data) >= _HEADER.size:
            size, kind, *_ = _HEADER.unpack_from(data)
            if kind != _SOCK_DIAG_BY_FAMILY or size < _HEADER.size:
                return
            yield data[_HEADER.size : size]
            data = data[(size + 3) & ~3 :]


@dataclass(frozen=True, slots=True)
class TcpSocket:
    """One of ``struct inet_diag_msg``."""

    here: int
    """Ports."""
    there: int
    inode: int
    cookie: int
    """Of no other socket since the machine began."""
    info: bytes
    """``struct tcp_info``, if it was asked for."""


def tcp_sockets(link: socket.socket, states: int) -> Iterator[TcpSocket]:
    """TCP sockets in some of the states of ``include/net/tcp_states.h``, a bit each, without their process.

    Raises
    ------
    OSError
    """
    for family in (socket.AF_INET, socket.AF_INET6):
        ask = _TCP_REQUEST.pack(family, socket.IPPROTO_TCP, 1 << (_INET_DIAG_INFO - 1), 0, states)
        for message in dumped(link, ask):
            here, there, cookie, inode = _TCP_REPLY.unpack_from(message)
            named = dict(attributes(message[_TCP_REPLY.size :]))
            yield TcpSocket(
                socket.ntohs(here), socket.ntohs(there), inode, cookie, named.get(_INET_DIAG_INFO, b"")
            )


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Attributes behind the fixed part of a socket."""
    while len(data) >= _ATTRIBUTE.size:
        size, kind = _ATTRIBUTE.unpack_from(data)
        if size < _ATTRIBUTE.size:
            return
        yield kind, data[_ATTRIBUTE.size : size]
        data = data[(size + 3) & ~3 :]
