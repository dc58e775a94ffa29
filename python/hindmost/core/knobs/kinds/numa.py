"""Memory policy of the server: the NUMA node of its memory, set with numactl(8)."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.core.documents import read_kernel
from hindmost.core.knobs.knob import Idle, refuse_level
from hindmost.core.notes import Note
from hindmost.core.targets import Managed, ManagedServer, TargetSpec
from hindmost.core.targets.cpus import parse_cpus
from hindmost.errors import HostUnfit

FREE = "free"
LEVELS = "free, local, interleave, node:N"
NODES = Path("sys/devices/system/node/has_memory")


@dataclass(frozen=True)
class Numa(Idle):
    """Where memory comes from: the requesting node (``local``), all in turn (``interleave``), ``node:N``."""

    root: Path = Path("/")
    name: str = "numa"
    sets: frozenset[str] = frozenset({"server:numa"})

    def prefix(self, level: str) -> list[str]:
        """Return the words before the server's command."""
        if level == FREE:
            return []
        node = re.fullmatch(r"node:(\d+)", level, re.ASCII)
        flag = {"local": "--localalloc", "interleave": "--interleave=all"}.get(level)
        if node is None and flag is None:
            raise refuse_level(self.name, level, f"only {LEVELS}", known=LEVELS.split(", "))
        return ["numactl", flag or f"--membind={node[1] if node else ''}"]

    def check(self, level: str) -> None:  # noqa: D102
        if not self.prefix(level):
            return
        if why := missing(self.root):
            raise HostUnfit(
                why.code,
                f"numa cannot be {level} here: {why}",
                hint=_HINTS[why.code],
                **{"value": level, **why.values},
            )
        if level.startswith("node:") and int(level[5:]) not in nodes(self.root):
            raise refuse_level(
                self.name, level, f"the nodes with memory are {nodes(self.root)}", known=nodes(self.root)
            )

    def spec(self, spec: TargetSpec, level: str) -> TargetSpec:  # noqa: D102
        return spec.model_copy(update={"command": [*self.prefix(level), *spec.command]})

    def on_server(self, level: str, server: ManagedServer) -> AbstractContextManager[None]:  # noqa: D102
        if level != FREE and not fits(level, actual := policy(server.pid)):
            raise HostUnfit(
                "setting-differs",
                f"numa was set to {level}, but the memory of process {server.pid} has the policy {actual}",
                hint=f"cat /proc/{server.pid}/numa_maps",
                name=self.name,
                value=level,
                found=actual,
                pid=server.pid,
            )
        return nullcontext()


def policy(pid: int) -> str:
    """Return the policy of most areas of a process (``proc_pid_numa_maps(5)``), such as ``bind:0``."""
    lines = read_kernel(f"/proc/{pid}/numa_maps").splitlines()
    return Counter(line.split()[1] for line in lines).most_common(1)[0][0]


def fits(level: str, policy_text: str) -> bool:
    """Whether a policy is the one of a level; ``local`` may be reported as the default, which it is."""
    kinds = {"local": ("default", "local", "prefer"), "interleave": ("interleave:",)}
    return policy_text.startswith(kinds.get(level, (f"bind:{level[5:]}",)))


def nodes(root: Path) -> list[int]:
    """Return the nodes that have memory."""
    try:
        return parse_cpus((root / NODES).read_text().strip())
    except (OSError, ValueError):
        return [0]


def make(what: Mapping[str, Any], target: Managed, journal: Path) -> Numa:
    """Make the setting ``numa = true``."""
    return Numa()


def missing(root: Path = Path("/")) -> Note | None:
    """Return why there is no choice of nodes."""
    if len(nodes(root)) < 2:
        text = "this host has one node with memory, so every policy is the same"
        return Note("setting-unavailable", text, {"name": "numa"})
    if shutil.which("numactl"):
        return None
    return Note("missing-program", "numactl is not installed", {"name": "numactl"})


_HINTS = {
    "missing-program": "apt-get install numactl",
    "setting-unavailable": "leave this factor out on this host",
}
