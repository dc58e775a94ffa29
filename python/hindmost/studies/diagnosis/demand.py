"""How much work an application has, and what it is sent: load makes nothing slow that was not slow before."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.documents import read_kernel
from hindmost.studies.diagnosis.netlink import attributes, dumped, opened
from hindmost.targets.procfs import listening_ports, process_tree

_INET_REQUEST = struct.Struct("=BBBBIHH36xII")
_INET_REPLY = struct.Struct("=BBBB")
_PORTS, _REPLY_SIZE, _COOKIE = struct.Struct("!HH"), 72, struct.Struct("=Q")
_COUNT = struct.Struct("=I")
_INET_DIAG_INFO, _ESTABLISHED = 2, 1 << 1
_DATA_SEGS_IN = 152
"""Where ``tcpi_data_segs_in`` is in ``struct tcp_info`` (``linux/tcp.h``, since 4.6)."""

GREW = 1.25
"""Times the normal work: less is not what made it slow; caches that a neighbour empties cost that much."""


class Work:
    """Processors that an application uses, from one look to the next."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._ran, self._at = self._look()

    def _look(self) -> tuple[float, float]:
        ran_ns = 0
        for pid in process_tree(self._pid):
            with contextlib.suppress(OSError):
                for task in Path(f"/proc/{pid}/task").iterdir():
                    with contextlib.suppress(OSError, IndexError):
                        ran_ns += int(read_kernel(task / "schedstat").split()[0])
        return ran_ns / 1e9, time.monotonic()

    def processors(self) -> float:
        """Since the last look: seconds of processor a second; threads that ended meanwhile do not count."""
        before, then = self._ran, self._at
        self._ran, self._at = self._look()
        return max(0.0, self._ran - before) / max(self._at - then, 1e-9)


class Requests:
    """What an application is sent over TCP, from one look to the next, without what a probe of ours sends.

    Segments of its connections, about one a request, and connections made in its network.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._link = opened(pid)
        self._ports = frozenset(listening_ports(process_tree(pid)))
        self._segments: dict[int, int] = {}
        self._made, self._at = 0, 0.0
        self.since()

    def _look(self) -> tuple[dict[int, int], int]:
        received: dict[int, tuple[int, int]] = {}
        ours: set[int] = set()
        mine = _own_sockets()
        for family in (socket.AF_INET, socket.AF_INET6):
            ask = _INET_REQUEST.pack(
                family, socket.IPPROTO_TCP, 1 << (_INET_DIAG_INFO - 1), 0, _ESTABLISHED, 0, 0, 0, 0
            )
            for message in dumped(self._link, ask):
                here, there = _PORTS.unpack_from(message, _INET_REPLY.size)
                if there in self._ports and int.from_bytes(message[68:72], "little") in mine:
                    ours.add(here)
                if here not in self._ports:
                    continue
                (cookie,) = _COOKIE.unpack_from(message, 44)
                for name, value in attributes(message[_REPLY_SIZE:]):
                    if name == _INET_DIAG_INFO and len(value) >= _DATA_SEGS_IN + 4:
                        received[cookie] = (there, *_COUNT.unpack_from(value, _DATA_SEGS_IN))
        return {one: count for one, (there, count) in received.items() if there not in ours}, self._accepted()

    def _accepted(self) -> int:
        with contextlib.suppress(OSError, ValueError, IndexError):
            heads, values = (
                line.split()
                for line in read_kernel(f"/proc/{self._pid}/net/snmp").splitlines()
                if line.startswith("Tcp:")
            )
            return int(values[heads.index("PassiveOpens")])
        return 0

    def since(self) -> NDArray[np.float64]:
        """Since the last look, a second: segments, and connections."""
        before, made, then = self._segments, self._made, self._at
        with contextlib.suppress(OSError):
            self._segments, self._made = self._look()
        self._at = time.monotonic()
        grown = sum(max(0, count - before.get(one, 0)) for one, count in self._segments.items())
        return np.array([grown, self._made - made]) / max(self._at - then, 1e-9)

    def close(self) -> None:
        """Close what was opened."""
        self._link.close()


def _own_sockets() -> set[int]:
    found = set()
    with os.scandir("/proc/self/fd") as descriptors:
        for one in descriptors:
            with contextlib.suppress(OSError):
                kind, _, inode = os.readlink(one.path).partition(":")  # noqa: PTH115
                if kind == "socket":
                    found.add(int(inode.strip("[]")))
    return found
