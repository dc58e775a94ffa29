"""How much CPU time an application uses and how many requests it receives, to tell load from slowness."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hindmost.commands.diagnose.netlink import ESTABLISHED, open_link, tcp_sockets
from hindmost.core.documents import read_kernel
from hindmost.core.targets.procfs import listening_ports, process_tree, socket_inodes

MORE_WORK = 1.25
"""Ratio to normal CPU use from which extra work counts as a cause. Less can come from caches that a neighbour
empties."""


class Work:
    """CPUs that an application uses, averaged between readings."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._ran, self._at = self._read_counters()

    def _read_counters(self) -> tuple[float, float]:
        ran_ns = 0
        for pid in process_tree(self._pid):
            with contextlib.suppress(OSError):
                for task in Path(f"/proc/{pid}/task").iterdir():
                    with contextlib.suppress(OSError, IndexError):
                        ran_ns += int(read_kernel(task / "schedstat").split()[0])
        return ran_ns / 1e9, time.monotonic()

    def processors(self) -> float:
        """Return CPU seconds per second since the last reading, without threads that ended meanwhile."""
        before, then = self._ran, self._at
        self._ran, self._at = self._read_counters()
        return max(0.0, self._ran - before) / max(self._at - then, 1e-9)


class Requests:
    """TCP requests that an application receives between readings, without those of our own probe.

    They are counted as data segments on its connections (about one per request) and as accepted connections
    in its network namespace.

    Attributes
    ----------
    at_s : float
        Time of the last reading, by the monotonic clock, s.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._link = open_link(pid)
        self._ports = frozenset(listening_ports(process_tree(pid)))
        self._segments: dict[int, int] = {}
        self._made, self.at_s = 0, 0.0
        self.rates()

    def _read_counters(self) -> tuple[dict[int, int], int]:
        mine = socket_inodes([os.getpid()])
        every = list(tcp_sockets(self._link, ESTABLISHED))
        ours = {one.here for one in every if one.there in self._ports and one.inode in mine}
        received = {
            one.cookie: one.data_segments[0]
            for one in every
            if one.here in self._ports and one.there not in ours
        }
        return received, self._count_accepted()

    def _count_accepted(self) -> int:
        with contextlib.suppress(OSError, ValueError, IndexError):
            heads, values = (
                line.split()
                for line in read_kernel(f"/proc/{self._pid}/net/snmp").splitlines()
                if line.startswith("Tcp:")
            )
            return int(values[heads.index("PassiveOpens")])
        return 0

    def rates(self) -> NDArray[np.float64]:
        """Return the rates since the last reading, per second: segments, and connections."""
        before, made, then = self._segments, self._made, self.at_s
        with contextlib.suppress(OSError):
            self._segments, self._made = self._read_counters()
        self.at_s = time.monotonic()
        grown = sum(max(0, count - before.get(one, 0)) for one, count in self._segments.items())
        return np.array([grown, self._made - made]) / max(self.at_s - then, 1e-9)

    def close(self) -> None:
        """Close the socket to the kernel."""
        self._link.close()
