"""The interface on which a server's requests arrive, and the CPUs that could process its packets."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_ESTABLISHED = "01"
_LOOPBACK = ("0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F")
"""127.0.0.1, ::1 and ::ffff:127.0.0.1, in the notation of /proc/net/tcp and tcp6."""


@dataclass(frozen=True, slots=True)
class Inbound:
    """Where packets arrive.

    Attributes
    ----------
    interface : str
    now, elsewhere : str
        CPU masks for receive packet steering, in the notation of ``rps_cpus``: the present one, and the CPUs
        on which the server does not run (all CPUs if it may run on all).
    """

    interface: str
    now: str
    elsewhere: str

    @property
    def knob(self) -> str:
        """The setting as for `hindmost compare --set`."""
        return f'knob = "rps@{self.interface}"'


def find_inbound(port: int, pid: int | None, root: Path = Path("/")) -> Inbound | None:
    """Find where the packets of a server's connections arrive; None without connections or packet steering.

    Parameters
    ----------
    port : int
    pid : int or None
        The server's process, for the CPUs that it may use.
    root : Path, optional
        Root of /proc and /sys; tests pass their own tree.
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
    # A word of the mask holds 32 CPUs; commas separate words.
    wanted = (every - own) or every
    bits = sum(1 << cpu for cpu in wanted)
    words = [bits >> at & 0xFFFFFFFF for at in range(0, max(wanted) + 1, 32)]
    mask = ",".join([f"{words[-1]:x}", *(f"{word:08x}" for word in reversed(words[:-1]))])
    return None if now == mask else Inbound(interface, now, mask)


def _interface(port: int, root: Path) -> str | None:
    """Return the interface of the first connection to the port: loopback, or that of the default route."""
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
