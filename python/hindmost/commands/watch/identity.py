"""What makes a restarted process the same application: its address, its systemd unit or its command line."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hindmost.core.documents import read_kernel
from hindmost.core.targets.guard import parents
from hindmost.core.targets.procfs import listening_addresses, local_owner, process_tree


@dataclass(frozen=True, slots=True)
class Identity:
    """What an application keeps when it is restarted.

    Attributes
    ----------
    kind : str
        ``address`` (``IP:PORT`` on which it listens), ``unit`` (of systemd) or ``command`` (a part of its
        command line).
    value : str
    """

    kind: Literal["address", "unit", "command"]
    value: str

    def find(self) -> int | None:
        """Return the topmost process of the application; None if none is visible."""
        match self.kind:
            case "address":
                return local_owner(self.value)
            case "unit":
                return _topmost(pid for pid in parents() if self.value in _groups(pid))
            case "command":
                return _topmost(pid for pid in _foreign() if _has_command(pid, self.value))


def identify(pid: int) -> Identity | None:
    """Return by what a running process can be found after a restart; None if by nothing.

    A unit or an address counts only if the process is the topmost one that it leads to: a job of
    ``cron.service`` is not replaced by cron.
    """
    units = [group for group in _groups(pid) if group.endswith(".service")]
    found = [Identity("unit", unit) for unit in reversed(units)]
    found += [Identity("address", address) for address in listening_addresses(process_tree(pid))]
    sure = next((one for one in found if one.find() == pid), None)
    command = command_line(pid)
    return sure or (Identity("command", command) if command else None)


def command_line(pid: int) -> str:
    """Return the command line of a process with single blanks; empty if it is not visible."""
    with contextlib.suppress(OSError):
        return read_kernel(f"/proc/{pid}/cmdline").rstrip("\0").replace("\0", " ")
    return ""


def _groups(pid: int) -> list[str]:
    """Return the names of the cgroups that contain a process, outermost first."""
    with contextlib.suppress(OSError):
        lines = read_kernel(f"/proc/{pid}/cgroup").splitlines()
        return [name for line in lines for name in Path(line.split(":", 2)[2]).parts]
    return []


def _has_command(pid: int, text: str) -> bool:
    """Whether the command line contains `text`, but does not only name it as an application to watch."""
    command = command_line(pid)
    return text in command and f"command:{text}" not in command


def _foreign() -> set[int]:
    """Return all processes but this one and those that started it."""
    up, pid = parents(), os.getpid()
    own: set[int] = set()
    while pid and pid not in own:
        own.add(pid)
        pid = up.get(pid, 0)
    return set(up) - own


def _topmost(pids: Iterable[int]) -> int | None:
    """Return the first of these processes whose parent is not one of them."""
    among, up = set(pids), parents()
    return next((pid for pid in sorted(among) if up.get(pid) not in among), None)
