"""A Hadoop cluster on this machine, stock and with Harvest's plug-ins, next to a primary tenant under load.

    examples/harvest/cluster.sh [--rounds 3] [--duration 20s] [--rate 60] [--out FOLDER]

Each round starts two clusters one after the other, in random order: stock Hadoop, and Hadoop with the
files that ``hindmost harvest export hadoop`` writes. A cluster has a name node, three data nodes, a resource
manager and two node managers, one JVM each. In each cluster

1. Tez runs a DAG;
2. blocks of two replicas are written;
3. containers compute without an end, while ``hindmost measure`` loads a search service, the primary tenant;
4. the data nodes of one tenant lose their disks, as if it was reimaged.

The search service and all containers share one CPU. The load generator and Hadoop's daemons have the others.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/shared"))

from hadoop_daemons import HDFS, PLUGINS, YARN, Daemons, bean, daemons, fetch, free_ports, replace_file  # noqa: E402
from hadoop_yarn import batch_group, can_create_group  # noqa: E402

TENANTS = {
    "web": ("search", ["dn0.test", "dn1.test", "127.0.0.2"]),
    "mail": ("mail", ["dn2.test", "127.0.0.3"]),
}
"""Environment and hosts of each tenant. The search service belongs to the first."""
REIMAGED = ("dn0", "dn1")
CORES = 12
"""Cores of a node manager. A core is a share of the one CPU that all containers have."""
CONTAINERS = 20
UNIT = "head -c 1000000 /dev/zero | sha256sum >/dev/null"
"""A unit of batch work."""


@dataclass(frozen=True)
class Round:
    """What one cluster did."""

    arm: str
    dag_s: float
    p50_us: float | None
    p99_us: float | None
    isolated_p99_us: float | None
    units: int
    """Units of batch work during the measurement."""
    killed: int
    """Containers that the resource manager took back."""
    blocks: int
    lost: int
    """Blocks without a replica after the reimage."""


FIGURES = {
    "Tez DAG, s": "dag_s",
    "search p50, µs": "p50_us",
    "search p99, µs": "p99_us",
    "search p99 isolated, µs": "isolated_p99_us",
    "batch work, units": "units",
    "containers killed": "killed",
    "blocks lost": "lost",
}


def main() -> None:
    """Run the rounds and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--duration", default="20s", help="of the measurement of the search service")
    parser.add_argument("--rate", type=float, default=60, help="searches per second")
    parser.add_argument("--blocks", type=int, default=40)
    parser.add_argument("--documents", type=int, default=20_000, help="that are searched")
    parser.add_argument("--out", type=Path, help="folder for the rounds as JSON, the studies and all logs")
    options = parser.parse_args()
    if not can_create_group():
        raise SystemExit("needs root and a cgroup v1 cpu controller with cpu.idle, in which containers run")
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise SystemExit(
            "needs two CPUs: one for the search service and containers, one for the load generator"
        )
    for step in ("build", "tez"):
        subprocess.run([ROOT / "setup/hadoop.sh", step], check=True)
    with folder_for(options.out) as folder:
        rounds = []
        for number in range(1, options.rounds + 1):
            for arm in random.sample(("stock", "harvest"), 2):
                print(f"round {number} of {options.rounds}: {arm}", file=sys.stderr)
                place = folder / f"{number}-{arm}"
                place.mkdir()
                with batch_group() as group, daemons(place) as cluster:
                    rounds.append(Cluster(cluster, arm, cpus, group).run(options))
                (folder / "rounds.json").write_text(
                    json.dumps([asdict(one) for one in rounds], indent=1) + "\n"
                )
    print(table(rounds))


@contextmanager
def folder_for(out: Path | None) -> Iterator[Path]:
    """Return a new folder, which is removed at the end unless it is the user's."""
    if out is not None:
        out.mkdir(parents=True)
        yield out.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="hindmost-cluster-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def table(rounds: list[Round]) -> str:
    """Return the medians of both arms as a Markdown table, with the median of the ratios within a round."""
    lines = ["| median over rounds | stock | harvest | harvest / stock |", "| --- | ---: | ---: | ---: |"]
    for name, field in FIGURES.items():
        stock, harvest = (
            [getattr(one, field) for one in rounds if one.arm == arm] for arm in ("stock", "harvest")
        )
        ratios = [h / s for s, h in zip(stock, harvest, strict=True) if s and h is not None]
        cells = [middle(stock), middle(harvest), middle(ratios)]
        lines.append(" | ".join([f"| {name}", *cells]) + " |")
    return "\n".join(lines)


def middle(values: list[float | None]) -> str:
    """Return the median of the known values, with three digits."""
    known = [value for value in values if value is not None]
    return f"{statistics.median(known):,.3g}" if known else "-"


class Cluster:
    """HDFS, YARN and the keeper of reserves, with stock's or Harvest's configuration."""

    def __init__(self, daemons_: Daemons, arm: str, cpus: list[int], group: Path) -> None:
        self.daemons, self.folder, self.arm = daemons_, daemons_.folder, arm
        self.batch_cpu, *self.other_cpus = cpus
        rpc, self.name_web, self.board, self.resource_web, self.search, *rm = free_ports(9)
        self.settings: dict[str, object] = {
            "hadoop.tmp.dir": self.folder,
            "fs.defaultFS": f"hdfs://127.0.0.1:{rpc}",
            "dfs.namenode.http-address": f"127.0.0.1:{self.name_web}",
            "dfs.namenode.name.dir": self.folder / "name",
            "dfs.namenode.redundancy.considerLoad": "false",
            "dfs.namenode.safemode.extension": 0,
            "dfs.namenode.heartbeat.recheck-interval": 1000,
            "dfs.heartbeat.interval": 1,
            "dfs.permissions.enabled": "false",
            "dfs.replication": 2,
            "yarn.resourcemanager.webapp.address": f"127.0.0.1:{self.resource_web}",
            "yarn.nodemanager.resource.memory-mb": 6000,
            "yarn.nodemanager.resource.cpu-vcores": CORES,
            "yarn.nodemanager.disk-health-checker.enable": "false",
            "yarn.nodemanager.aux-services": "mapreduce_shuffle",
            "yarn.nodemanager.aux-services.mapreduce_shuffle.class": f"{PLUGINS}.LocalShuffle",
            "yarn.scheduler.minimum-allocation-mb": 128,
            "yarn.scheduler.capacity.root.queues": "default",
            "yarn.scheduler.capacity.root.default.capacity": 100,
            "yarn.scheduler.capacity.maximum-am-resource-percent": 1.0,
        }
        roles = ("", "scheduler.", "resource-tracker.", "admin.")
        self.settings |= {
            f"yarn.resourcemanager.{role}address": f"127.0.0.1:{port}"
            for role, port in zip(roles, rm, strict=True)
        }
        if arm == "harvest":
            self.daemons.includes = export_configuration(self.folder, self.board, group)
            self.settings["hindmost.harvest.keeper.period.ms"] = 500

    def run(self, options: argparse.Namespace) -> Round:
        """Start everything, do the four steps, and return what was seen."""
        self.start_search(options.documents)
        self.start_hdfs()
        self.start_yarn()
        dag_s = self.run_dag()
        for number in range(options.blocks):
            self.write_block(f"/block-{number}")
        self.start_batch()
        before = self.units()
        study = self.measure(options)
        units, killed = self.units() - before, self.containers()[1]
        self.daemons.kill("batch")
        lost = self.reimage(options.blocks)
        isolated = study.get("isolated_us") or {}
        return Round(
            arm=self.arm,
            dag_s=dag_s,
            p50_us=value_of(study["latency_us"], "p50"),
            p99_us=value_of(study["latency_us"], "p99"),
            isolated_p99_us=value_of(isolated, "p99"),
            units=units,
            killed=killed,
            blocks=options.blocks,
            lost=lost,
        )

    def start_search(self, documents: int) -> None:
        """Start the primary tenant. The utilisation that it writes is the load of all its hosts."""
        own = self.folder / "127.0.0.2.load"
        for host in ("dn0.test", "dn1.test"):
            (self.folder / f"{host}.load").symlink_to(own)
        for host in ("dn2.test", "127.0.0.3"):
            replace_file(self.folder / f"{host}.load", "0.05\n")
        search = [str(ROOT / "setup/hadoop.sh"), "search", str(self.search), str(documents), str(own)]
        self.daemons.run("search", ["taskset", "-c", str(self.batch_cpu), *search])
        self.daemons.await_("it searches", lambda: "searching" in self.daemons.log("search"), 200)

    def start_hdfs(self) -> None:
        """Format and start a name node, then three data nodes."""
        name_node = HDFS + "namenode.NameNode"
        self.daemons.start("format", name_node, self.settings, "-format", "-nonInteractive")
        self.daemons.end("format")
        self.daemons.start("nn", name_node, self.settings)
        for number in range(3):
            own = {f"dfs.datanode.{kind}address": "127.0.0.1:0" for kind in ("", "http.", "ipc.")}
            own |= {
                "dfs.datanode.hostname": f"dn{number}.test",
                "dfs.datanode.data.dir": str(self.folder / f"data{number}"),
            }
            self.daemons.start(f"dn{number}", HDFS + "datanode.DataNode", {**self.settings, **own})
        self.daemons.await_("data nodes are live", lambda: self.state("NumLiveDataNodes") == 3)
        info = "Hadoop:service=NameNode,name=NameNodeInfo"
        self.daemons.await_("no safe mode", lambda: bean(self.name_web, info)["Safemode"] == "")

    def start_yarn(self) -> None:
        """Start a resource manager, two node managers on the batch CPU, and Harvest's keeper of reserves."""
        self.daemons.start("rm", YARN + "resourcemanager.ResourceManager", self.settings)
        for number in range(2):
            host = f"127.0.0.{number + 2}"
            own: dict[str, object] = {
                "yarn.nodemanager.hostname": host,
                "yarn.nodemanager.address": f"{host}:{free_ports(1)[0]}",
                "yarn.nodemanager.localizer.address": f"{host}:0",
                "yarn.nodemanager.collector-service.address": f"{host}:0",
                "yarn.nodemanager.webapp.address": f"{host}:0",
                "yarn.nodemanager.local-dirs": self.folder / f"local{number}",
                "yarn.nodemanager.log-dirs": self.folder / f"logs{number}",
            }
            with pinned_to([self.batch_cpu]):  # its containers inherit this
                self.daemons.start(
                    f"nm{number}", YARN + "nodemanager.NodeManager", {**self.settings, **own}, tests=True
                )
        if self.arm == "harvest":
            self.daemons.start("keeper", f"{PLUGINS}.KeeperMain", self.settings)
        nodes = "Hadoop:service=ResourceManager,name=ClusterMetrics"
        self.daemons.await_("nodes are active", lambda: bean(self.resource_web, nodes)["NumActiveNMs"] == 2)

    def run_dag(self) -> float:
        """Run a Tez DAG and return its seconds."""
        own = [str(ROOT / f"hadoop/tez/target/{kind}") for kind in ("classes", "test-classes")]
        jars = (ROOT / "hadoop/tez/target/classpath").read_text()
        path = ":".join([str(self.folder / "rm.conf"), *own, jars])
        program = ["java", "-cp", path, "hindmost.tez.TezMain", str(self.folder), "127.0.0.3", "127.0.0.2"]
        self.daemons.run("dag", program)
        self.daemons.end("dag", 400)
        return float(re.findall(r"ran in ([\d.]+) s", self.daemons.log("dag"))[0])

    def write_block(self, path: str) -> None:
        """Write a file of one block with two replicas."""
        address = f"http://127.0.0.1:{self.name_web}/webhdfs/v1{path}?op=CREATE&replication=2&noredirect=true"
        location = json.loads(fetch(address, "PUT"))["Location"]
        fetch(re.sub(r"//dn\d+\.test:", "//127.0.0.1:", location), "PUT", b"x" * 1000)

    def start_batch(self) -> None:
        """Start containers that compute without an end, and wait until they fill what the nodes offer."""
        done = self.folder / "done"
        done.mkdir()
        command = f"while :; do {UNIT}; echo >> {done}/$CONTAINER_ID; done"
        self.daemons.start(
            "batch", f"{PLUGINS}.BatchMain", self.settings, str(CONTAINERS), command, tests=True
        )
        self.daemons.await_("containers compute", lambda: len(list(done.iterdir())) >= CORES / 2)

    def units(self) -> int:
        """Units of batch work done so far."""
        return sum(path.read_bytes().count(b"\n") for path in (self.folder / "done").iterdir())

    def containers(self) -> tuple[int, int]:
        """Numbers of running and of killed containers."""
        lines = re.findall(r"^(\d+) (\d+)$", self.daemons.log("batch"), re.MULTILINE)
        return (int(lines[-1][0]), int(lines[-1][1])) if lines else (0, 0)

    def measure(self, options: argparse.Namespace) -> dict:
        """Measure the search service's latency in one run and return the result."""
        study = self.folder / "study"
        command = [
            *(sys.executable, "-m", "hindmost", "measure", f"http://127.0.0.1:{self.search}"),
            *("--workload", str(ROOT / "hadoop/search/queries.json"), "--rate", str(options.rate)),
            *("--runs", "1", "--duration", options.duration, "--warmup", "2s", "--remake", "0"),
            *("--timeout", "20s"),
            *("--client-cpus", ",".join(map(str, self.other_cpus)), "--out", str(study), "--json", "--quiet"),
        ]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        if not (study / "result.json").exists():
            raise SystemExit(f"the measurement failed: {process.stderr}")
        result: dict = json.loads(process.stdout)
        return result

    def reimage(self, blocks: int) -> int:
        """Remove one tenant's data nodes with their disks; return how many blocks have no replica left."""
        for name in REIMAGED:
            self.daemons.kill(name)
            with suppress(FileNotFoundError):
                shutil.rmtree(self.folder / f"data{name.removeprefix('dn')}")
        # Every block had a replica there: two replicas on three nodes.
        self.daemons.await_("their replicas are gone", lambda: self.state("UnderReplicatedBlocks") >= blocks)
        system = "Hadoop:service=NameNode,name=FSNamesystem"
        return bean(self.name_web, system)["MissingBlocks"]

    def state(self, attribute: str) -> int:
        """An attribute of the name node's state of the file system."""
        return bean(self.name_web, "Hadoop:service=NameNode,name=FSNamesystemState")[attribute]


def value_of(figures: dict, name: str) -> float | None:
    """Return a percentile's value, infinite if requests had no answer; None if it is unknown."""
    value = (figures.get(name) or {}).get("value")
    return None if value is None else float(value)


@contextmanager
def pinned_to(cpus: list[int]) -> Iterator[None]:
    """Children that start meanwhile may use these CPUs only."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def export_configuration(folder: Path, board: int, group: Path) -> dict[str, Path]:
    """Turn a month of utilisation into configuration files by ``hindmost harvest``; return them by site."""
    traces, written = folder / "traces", folder / "written"
    traces.mkdir()
    loads = {"web": "0.{}", "mail": "0.05"}
    rows = ["time,server,cpu"]
    owners = ["server,tenant,environment,reimages,space"]
    for tenant, (environment, hosts) in TENANTS.items():
        owners += [f"{host},{tenant},{environment},0.5,100" for host in hosts]
        rows += [
            f"{hour * 3600},{host},{loads[tenant].format(1 + hour % 24 // 6)}"
            for host in hosts
            for hour in range(720)
        ]
    (traces / "cpu.csv").write_text("\n".join(rows) + "\n")
    (traces / "tenants.csv").write_text("\n".join(owners) + "\n")
    classes = folder / "classes.json"
    hindmost = [sys.executable, "-m", "hindmost", "harvest"]
    subprocess.run([*hindmost, "classify", traces, "--out", classes], check=True, stdout=subprocess.DEVNULL)
    load = f"{folder}/%h.load"
    export = ["export", "hadoop", str(classes), "--name-nodes", "127.0.0.1", "--port", str(board)]
    files = [
        "--load-file",
        load,
        "--yarn-load-file",
        load,
        "--installed",
        str(written),
        "--out",
        str(written),
    ]
    idle = ["--batch-group", str(group)]
    subprocess.run([*hindmost, *export, *files, *idle], check=True, stdout=subprocess.DEVNULL)
    return {
        "hdfs": written / "hdfs-site-hindmost.xml",
        "yarn": written / "yarn-site-hindmost.xml",
        "capacity": written / "capacity-scheduler-hindmost.xml",
    }


if __name__ == "__main__":
    main()
