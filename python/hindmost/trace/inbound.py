"""By which interface a server's requests come, and which processors could take its packets in."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_ESTABLISHED = "01"
_LOOPBACK = ("0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F")
"""127.0.0.1, ::1 and ::ffff:127.0.0.1, as /proc/net/tcp and tcp6 have them."""


@dataclass(frozen=True, slots=True)
class Inbound:
    """Where packets come in.

    Attributes
    ----------
    interface : str
    now, elsewhere : str
        Masks of processors for receive packet steering, as ``rps_cpus`` has them: the present one, and
        those that the server does not run on (all, where it may run on all).
    """

    interface: str
    now: str
    elsewhere: str

    @property
    def knob(self) -> str:
        """As `hindmost compare --set` takes it."""
        return f'knob = "rps@{self.interface}"'


def inbound(port: int, pid: int | None, root: Path = Path("/")) -> Inbound | None:
    """Find out for a server's connections; None where it has none, or the kernel steers no packets.

    Parameters
    ----------
    port : int
    pid : int or None
        The server's process, for the processors it may use.
    root : Path, optional
        Where /proc and /sys are; a test's tree.
    """
    interface = _interface(port, root)
    if interface is None:
        return None
    try:
        now = (root / f"sys/class/net/{interface}/queues/rx-0/rps_cpus").read_text().strip()
        own = os.sched_getaffinity(0 if pid is None else pid)
    except OSError:
        return None
    every = set(range(os.cpu_count() or 1))
    # Masks of up to 32 processors; more need commas between words.
    wanted = (every - own) or every
    bits = sum(1 << cpu for cpu in wanted)
    words = [bits >> at & 0xFFFFFFFF for at in range(0, max(wanted) + 1, 32)]
    mask = ",".join([f"{words[-1]:x}", *(f"{word:08x}" for word in reversed(words[:-1]))])
    return None if now == mask else Inbound(interface, now, mask)


def _interface(port: int, root: Path) -> str | None:
    """Of the first connection to the port: loopback, or else where the default route goes."""
    for table in ("tcp", "tcp6"):
        for row in _rows(root / "proc/net" / table):
            address, _, own = row[1].partition(":")
            if row[3] == _ESTABLISHED and int(own, 16) == port:
                return "lo" if address in _LOOPBACK else _default(root)
    return None


def _default(root: Path) -> str | None:
    return next((row[0] for row in _rows(root / "proc/net/route") if row[1] == "00000000"), None)


def _rows(path: Path) -> list[list[str]]:
    try:
        return [line.split() for line in path.read_text().splitlines()[1:]]
    except OSError:
        return []
