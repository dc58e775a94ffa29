"""A YARN cluster of separate daemons, with the keeper daemon that maintains reserves."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from hadoop_daemons import PLUGINS, YARN, Daemons, fetch_json, free_ports, replace_file

CPU = Path("/sys/fs/cgroup/cpu")
"""The cgroup v1 cpu controller."""


def can_create_group() -> bool:
    """Whether containers can have a cgroup that runs only while the CPU is otherwise idle."""
    return os.access(CPU / "cgroup.procs", os.W_OK) and (CPU / "cpu.idle").exists()


@contextlib.contextmanager
def batch_group() -> Iterator[Path]:
    """A cgroup for a node manager to create; it is removed afterwards."""
    group = CPU / f"hindmost-batch-{os.getpid()}"
    try:
        yield group
    finally:
        deadline = time.monotonic() + 20
        while group.exists() and time.monotonic() < deadline:
            with contextlib.suppress(OSError):  # killed processes have not exited yet
                group.rmdir()
            time.sleep(0.1)
        assert not group.exists()


class Yarn:
    """A resource manager, node managers, and the keeper daemon."""

    def __init__(self, cluster: Daemons, nodes: int, overrides: dict[str, object] | None = None) -> None:
        self.cluster, self.nodes = cluster, nodes
        self.web, *rm = free_ports(5)
        self.settings: dict[str, object] = {
            "hadoop.tmp.dir": cluster.folder,
            "fs.defaultFS": "file:///",
            "yarn.resourcemanager.webapp.address": f"127.0.0.1:{self.web}",
            "yarn.nodemanager.resource.memory-mb": 6000,
            "yarn.nodemanager.resource.cpu-vcores": 12,
            "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": 200,
            "yarn.resourcemanager.connect.retry-interval.ms": 1000,
            "yarn.nodemanager.disk-health-checker.enable": "false",
            "yarn.scheduler.capacity.root.queues": "default",
            "yarn.scheduler.capacity.root.default.capacity": 100,
            "yarn.scheduler.capacity.maximum-am-resource-percent": 1.0,
            "hindmost.harvest.keeper.period.ms": 300,
        }
        if not cluster.includes:
            self.settings |= {
                "yarn.scheduler.capacity.resource-calculator": "org.apache.hadoop.yarn.util.resource."
                "DominantResourceCalculator",
                "hindmost.harvest.utilisation.file": cluster.folder / "%h.load",
            }
        kinds = ("", "scheduler.", "resource-tracker.", "admin.")
        self.settings |= {
            f"yarn.resourcemanager.{kind}address": f"127.0.0.1:{port}"
            for kind, port in zip(kinds, rm, strict=True)
        }
        self.settings |= overrides or {}
        self.start_resource_manager()
        for index in range(nodes):
            self.start_node_manager(index)
        cluster.start("keeper", f"{PLUGINS}.KeeperMain", self.settings)

    def start_resource_manager(self) -> None:
        self.cluster.start("rm", YARN + "resourcemanager.ResourceManager", self.settings)

    def start_node_manager(self, index: int) -> None:
        host = f"127.0.0.{index + 2}"
        own: dict[str, object] = {
            "yarn.nodemanager.hostname": host,
            "yarn.nodemanager.address": f"{host}:{free_ports(1)[0]}",
            "yarn.nodemanager.localizer.address": f"{host}:0",
            "yarn.nodemanager.collector-service.address": f"{host}:0",
            "yarn.nodemanager.webapp.address": f"{host}:0",
            "yarn.nodemanager.local-dirs": self.cluster.folder / f"local{index}",
            "yarn.nodemanager.log-dirs": self.cluster.folder / f"logs{index}",
        }
        self.cluster.start(
            f"nm{index}", YARN + "nodemanager.NodeManager", {**self.settings, **own}, tests=True
        )

    def load(self, index: int, utilisation: float, megabytes: float = 0) -> None:
        replace_file(self.cluster.folder / f"127.0.0.{index + 2}.load", f"{utilisation} {megabytes}\n")

    def cores(self) -> dict[str, int]:
        """Cores available to batch work, by host."""
        return self._batch("availableVirtualCores", "usedVirtualCores")

    def megabytes(self) -> dict[str, int]:
        """Memory available to batch work, by host."""
        return self._batch("availableMemory", "usedMemory")

    def _batch(self, free: str, used: str) -> dict[str, int]:
        nodes = fetch_json(f"http://127.0.0.1:{self.web}/ws/v1/cluster/nodes")["nodes"]
        return {
            node["nodeHTTPAddress"].split(":")[0]: node[free] + node[used]
            for node in nodes
            if node["state"] == "RUNNING"
        }

    def await_cores(self, *cores: int) -> None:
        expected = {f"127.0.0.{index + 2}": n for index, n in enumerate(cores)}
        self.cluster.await_(f"nodes have {cores}", lambda: self.cores() == expected)
