"""The privileges that each command needs: a table that ``hindmost host doctor`` shows and a test checks.

``tests/security/test_privileges.py`` runs each command with exactly these capabilities (``capabilities(7)``),
and without each of them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

NAMES = {
    "CAP_CHOWN": 0,
    "CAP_DAC_OVERRIDE": 1,
    "CAP_DAC_READ_SEARCH": 2,
    "CAP_KILL": 5,
    "CAP_SETGID": 6,
    "CAP_SETUID": 7,
    "CAP_NET_ADMIN": 12,
    "CAP_NET_RAW": 13,
    "CAP_SYS_PTRACE": 19,
    "CAP_SYS_ADMIN": 21,
    "CAP_SYS_NICE": 23,
    "CAP_PERFMON": 38,
    "CAP_BPF": 39,
}
"""Bit numbers in ``/proc/self/status``, by the names in ``capability.h``."""

TO_SWITCH = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_SETUID", "CAP_SETGID", "CAP_KILL")
"""The capabilities that root needs to start a server as another user, to set up its folder, and to end it."""


@dataclass(frozen=True)
class Need:
    """The privileges that a command needs.

    Attributes
    ----------
    command : str
    capabilities : tuple of str
    owner : bool
        Whether the command writes kernel files that root owns, so the user must be root.
    why : str
    """

    command: str
    capabilities: tuple[str, ...] = ()
    owner: bool = False
    why: str = ""

    def is_met(self) -> bool:
        """Whether this process has the privileges."""
        held = capabilities()
        return held.issuperset(self.capabilities) and not (self.owner and os.geteuid() != 0)


NEEDS = (
    Need("measure URL"),
    Need("measure PRESET", why="the server runs as you"),
    Need(
        "measure PRESET, as root",
        TO_SWITCH,
        owner=True,
        why="the server runs as another user",
    ),
    Need("report, list, compare STUDY, doctor, knobs list, synth, harvest simulate"),
    Need(
        "measure --verify-wire",
        ("CAP_NET_RAW", "CAP_SETUID", "CAP_SETGID"),
        why="tcpdump, which then becomes another user",
    ),
    Need(
        "trace PID",
        ("CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH"),
        why="probes in the kernel; sockets of another user's process",
    ),
    Need(
        "watch PID, of another user", ("CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH"), why="its files below /proc"
    ),
    Need("knobs set, attribute and trial with settings", owner=True, why="files below /proc/sys and /sys"),
    Need("the same, of a network interface", ("CAP_NET_ADMIN",), owner=True, why="ethtool(8)"),
    Need(
        "diagnose PID",
        ("CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH"),
        owner=True,
        why="files below /proc of another user's process",
    ),
    Need(
        "the same, with neighbours of other users",
        ("CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH", "CAP_KILL"),
        owner=True,
        why="pauses them; without it they are left out",
    ),
    Need(
        "diagnose --replica",
        ("CAP_SYS_PTRACE", *TO_SWITCH),
        owner=True,
        why="a second server, as another user",
    ),
    Need(
        "the same, with a network of its own",
        ("CAP_NET_ADMIN", "CAP_SYS_ADMIN"),
        owner=True,
        why="a network namespace; suspects of the network are left out without it",
    ),
    Need(
        "colocate supervise",
        ("CAP_SYS_PTRACE", "CAP_DAC_OVERRIDE"),
        owner=True,
        why="a control group for the job",
    ),
)


def capabilities() -> set[str]:
    """Names of the capabilities that this process has, among those in the table."""
    for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
        key, _, value = line.partition(":")
        if key == "CapEff":
            mask = int(value, 16)
            return {name for name, bit in NAMES.items() if mask >> bit & 1}
    return set()
