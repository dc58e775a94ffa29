"""The kernel's counters of the server, read just before and just after the measurement."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from hindmost import _engine
from hindmost.core.documents import read_kernel
from hindmost.core.run.companions.companion import Companion, Scene
from hindmost.core.store.manifest import ServerQueues, SocketQueues
from hindmost.core.targets import process_tree


@dataclass(frozen=True, slots=True)
class _Counters:
    """Counters at one moment. ``stolen``, ``busy`` and ``ticks`` are clock ticks of the server's CPUs."""

    used_ns: int | None
    stolen: int
    busy: int
    ticks: int
    tcp: Mapping[str, int] | None
    queues: SocketQueues | None


def process_name(pid: int) -> str | None:
    """Return the process name in the kernel's form (``comm`` of proc(5)), as for neighbouring processes."""
    try:
        return read_kernel(f"/proc/{pid}/comm").strip()
    except OSError:
        return None


class ServerCounters(Companion):
    """CPU time of the server, steal time of its CPUs, its socket queues and TCP errors of its network.

    The sockets of a server on another host cannot be seen.
    """

    name = "server_counters"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._pid = scene.pid
        _, _, port = scene.address.rpartition(":")
        self._port = int(port) if port.isdecimal() else None  # a Unix socket has no port
        self._cpus = set(scene.plan.server_cpus)
        self._name = None if scene.pid is None else process_name(scene.pid)
        self._before: _Counters | None = None
        self._after: _Counters | None = None

    def before_measurement(self, ports: Sequence[int]) -> None:
        """Read the counters, as the last companion before the order to measure."""
        self._before = self._read()

    def after_measurement(self) -> None:
        """Read the counters, as the first companion after the last reply."""
        self._after = self._read()

    def _read(self) -> _Counters:
        cpus = [cpu for cpu in json.loads(_engine.cpu_counters())["cpus"] if cpu["cpu"] in self._cpus]
        whole = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
        here = self._pid is not None
        return _Counters(
            used_ns=None if self._pid is None else _engine.process_cpu_ns(self._pid),
            stolen=sum(cpu["steal"] for cpu in cpus),
            busy=sum(cpu[name] for cpu in cpus for name in ("user", "nice", "system")),
            ticks=sum(cpu[name] for cpu in cpus for name in whole),
            tcp=json.loads(_engine.tcp_counters(self._pid)) if here else None,
            queues=msgspec.json.decode(_engine.socket_queues(self._port, self._pid), type=SocketQueues | None)
            if here and self._port is not None
            else None,
        )

    def record(self) -> dict[str, Any]:
        """Return what goes into ``run.json``; None where unknown.

        ``server_process``: its name; ``server_pids``: it and its descendants; ``server_cpu_share``: CPU time
        used, in CPUs; ``server_steal_share``: steal time of its CPUs; ``server_busy_share``: share of the
        time of its CPUs that any program used; ``server_tcp``: TCP errors in its network namespace;
        ``server_queues``: data waiting in its sockets at the start, under load, and at the end, after the
        last reply.
        """
        before, after = self._before, self._after
        record: dict[str, Any] = {"server_process": self._name}
        if before is None or after is None:
            names = ("pids", "cpu_share", "steal_share", "busy_share", "tcp", "queues")
            return record | dict.fromkeys(f"server_{name}" for name in names)
        ticks = after.ticks - before.ticks
        used = None
        if before.used_ns is not None and after.used_ns is not None:
            used = max(0.0, (after.used_ns - before.used_ns) / 1e9 / self.scene.seconds)
        return record | {
            "server_pids": None if self._pid is None else process_tree(self._pid),
            "server_cpu_share": used,
            "server_steal_share": (after.stolen - before.stolen) / ticks if ticks > 0 else None,
            "server_busy_share": (after.busy - before.busy) / ticks if ticks > 0 else None,
            "server_tcp": {name: after.tcp[name] - count for name, count in before.tcp.items()}
            if before.tcp and after.tcp
            else None,
            "server_queues": ServerQueues(begin=before.queues, end=after.queues)
            if before.queues and after.queues
            else None,
        }
