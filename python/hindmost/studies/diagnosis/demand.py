"""How much work an application has, and what it is sent: load makes nothing slow that was not slow before."""

from __future__ import annotations

import contextlib
import os
import struct
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.documents import read_kernel
from hindmost.studies.diagnosis.netlink import opened, tcp_sockets
from hindmost.targets.procfs import listening_ports, process_tree

_COUNT, _ESTABLISHED = struct.Struct("=I"), 1 << 1
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

    Attributes
    ----------
    at_s : float
        When it was last looked at, by the monotonic clock.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._link = opened(pid)
        self._ports = frozenset(listening_ports(process_tree(pid)))
        self._segments: dict[int, int] = {}
        self._made, self.at_s = 0, 0.0
        self.since()

    def _look(self) -> tuple[dict[int, int], int]:
        mine = _own_sockets()
        every = list(tcp_sockets(self._link, _ESTABLISHED))
        ours = {one.here for one in every if one.there in self._ports and one.inode in mine}
        received = {
            one.cookie: _COUNT.unpack_from(one.info, _DATA_SEGS_IN)[0]
            for one in every
            if one.here in self._ports
            and one.there not in ours
            and len(one.info) >= _DATA_SEGS_IN + _COUNT.size
        }
        return received, self._accepted()

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
        before, made, then = self._segments, self._made, self.at_s
        with contextlib.suppress(OSError):
            self._segments, self._made = self._look()
        self.at_s = time.monotonic()
        grown = sum(max(0, count - before.get(one, 0)) for one, count in self._segments.items())
        return np.array([grown, self._made - made]) / max(self.at_s - then, 1e-9)

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
