"""The kernel's socket tables (``sock_diag(7)``), in any network namespace."""

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
_TCP_REQUEST, _TCP_REPLY = struct.Struct("=BBBBI48x"), struct.Struct("=4xHH16x16s4xQ16xI")
_INET_DIAG_INFO = 2
ESTABLISHED = 1 << 1
"""State of open connections (``include/net/tcp_states.h``)."""
_SEGMENTS, _DATA_SEGS_IN = struct.Struct("=II"), 152
"""``tcpi_data_segs_in`` and ``_out``, and their offset in ``struct tcp_info`` (since Linux 4.6)."""


def open_link(pid: int | None = None) -> socket.socket:
    """Open a netlink socket in a process's network namespace, or in ours if that one may not be entered."""
    found: list[socket.socket] = []

    def open_there() -> None:
        # A thread has its own namespace, so a short-lived thread enters it.
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


def dump_sockets(link: socket.socket, body: bytes) -> Iterator[bytes]:
    """Yield the kernel's answer for each socket that a request matches.

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
    """One entry of ``struct inet_diag_msg``."""

    here: int
    """Local and remote port."""
    there: int
    inode: int
    cookie: int
    """Unique among all sockets since boot."""
    peer: str
    """Remote address."""
    info: bytes
    """``struct tcp_info``, if requested."""

    @property
    def data_segments(self) -> tuple[int, int]:
        """Segments with data, received and sent; 0 if unknown."""
        if len(self.info) < _DATA_SEGS_IN + _SEGMENTS.size:
            return 0, 0
        received, sent = _SEGMENTS.unpack_from(self.info, _DATA_SEGS_IN)
        return received, sent


def tcp_sockets(link: socket.socket, states: int) -> Iterator[TcpSocket]:
    """Yield TCP sockets in the given states (a bit mask of ``include/net/tcp_states.h``).

    Raises
    ------
    OSError
    """
    for family in (socket.AF_INET, socket.AF_INET6):
        ask = _TCP_REQUEST.pack(family, socket.IPPROTO_TCP, 1 << (_INET_DIAG_INFO - 1), 0, states)
        for message in dump_sockets(link, ask):
            here, there, address, cookie, inode = _TCP_REPLY.unpack_from(message)
            named = dict(attributes(message[_TCP_REPLY.size :]))
            peer = socket.inet_ntop(family, address[: 4 if family == socket.AF_INET else 16])
            yield TcpSocket(
                socket.ntohs(here),
                socket.ntohs(there),
                inode,
                cookie,
                peer,
                named.get(_INET_DIAG_INFO, b""),
            )


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the attributes that follow the fixed part of a socket's entry."""
    while len(data) >= _ATTRIBUTE.size:
        size, kind = _ATTRIBUTE.unpack_from(data)
        if size < _ATTRIBUTE.size:
            return
        yield kind, data[_ATTRIBUTE.size : size]
        data = data[(size + 3) & ~3 :]
