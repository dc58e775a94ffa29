"""What the kernel says of the server: looked at just before the measurement and just after it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hindmost import _engine
from hindmost.documents import read_kernel
from hindmost.run.companions.companion import Companion, Scene
from hindmost.targets import process_tree


@dataclass(frozen=True, slots=True)
class _Look:
    """Counters at one moment; ``stolen`` and ``busy`` of ``ticks`` are of the server's processors."""

    used_ns: int | None
    stolen: int
    busy: int
    ticks: int
    tcp: Mapping[str, int] | None
    queues: Mapping[str, int] | None


def process_name(pid: int) -> str | None:
    """As the kernel has it (``comm`` of proc(5)), which is how neighbours are named, too."""
    try:
        return read_kernel(f"/proc/{pid}/comm").strip()
    except OSError:
        return None


class ServerCounters(Companion):
    """CPU time of the server, stolen time of its processors, its sockets and its network's troubles.

    Of a server that runs elsewhere its sockets cannot be seen.
    """

    name = "server_counters"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._pid = scene.pid
        _, _, port = scene.address.rpartition(":")
        self._port = int(port) if port.isdecimal() else None  # a Unix socket has none
        self._cpus = set(scene.plan.server_cpus)
        self._name = None if scene.pid is None else process_name(scene.pid)
        self._before: _Look | None = None
        self._after: _Look | None = None

    def measuring(self, ports: Sequence[int]) -> None:
        """Look, last of all before the order."""
        self._before = self._read()

    def over(self) -> None:
        """Look, first of all after the last reply."""
        self._after = self._read()

    def _read(self) -> _Look:
        mine = [one for one in json.loads(_engine.cpu_counters())["cpus"] if one["cpu"] in self._cpus]
        whole = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
        here = self._pid is not None
        return _Look(
            used_ns=None if self._pid is None else _engine.process_cpu_ns(self._pid),
            stolen=sum(one["steal"] for one in mine),
            busy=sum(one[name] for one in mine for name in ("user", "nice", "system")),
            ticks=sum(one[name] for one in mine for name in whole),
            tcp=json.loads(_engine.tcp_counters(self._pid)) if here else None,
            queues=json.loads(_engine.socket_queues(self._port, self._pid))
            if here and self._port is not None
            else None,
        )

    def record(self) -> dict[str, Any]:
        """What goes into ``run.json``; None where unknown.

        ``server_process``: its name; ``server_pids``: it, and what it made; ``server_cpu_share``: CPUs' worth
        of time used; ``server_steal_share``;
        ``server_busy_share``: of its processors' time, any program's; ``server_tcp``: troubles of its network
        namespace; ``server_queues``: what waited in its sockets at the beginning, under load, and at the end,
        after the last reply.
        """
        before, after = self._before, self._after
        told = {"server_process": self._name}
        if before is None or after is None:
            names = ("pids", "cpu_share", "steal_share", "busy_share", "tcp", "queues")
            return told | dict.fromkeys(f"server_{name}" for name in names)
        ticks = after.ticks - before.ticks
        used = None
        if before.used_ns is not None and after.used_ns is not None:
            used = max(0.0, (after.used_ns - before.used_ns) / 1e9 / self.scene.seconds)
        return told | {
            "server_pids": None if self._pid is None else process_tree(self._pid),
            "server_cpu_share": used,
            "server_steal_share": (after.stolen - before.stolen) / ticks if ticks > 0 else None,
            "server_busy_share": (after.busy - before.busy) / ticks if ticks > 0 else None,
            "server_tcp": {name: after.tcp[name] - count for name, count in before.tcp.items()}
            if before.tcp and after.tcp
            else None,
            "server_queues": {"begin": before.queues, "end": after.queues}
            if before.queues and after.queues
            else None,
        }
