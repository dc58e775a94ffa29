"""HDFS-H and YARN-H on daemons of their own: killed, started again, registered again."""

import json
import re
import time
import urllib.error
import zlib
from http.client import IncompleteRead

import pytest
from hadoop_daemons import (
    HDFS,
    PLUGINS,
    ROOT,
    Daemons,
    asked,
    bean,
    daemons,
    found,
    free_ports,
    replaced,
    said,
)
from hadoop_yarn import Yarn
from measuring import hindmost, need_two_processors

pytestmark = [pytest.mark.nightly, pytest.mark.xdist_group("hadoop"), pytest.mark.timeout(600)]
POLICY = "org.apache.hadoop.hdfs.server.blockmanagement.HarvestPlacementPolicy"


@pytest.fixture
def cluster(tmp_path):
    said("build")
    with daemons(tmp_path) as running:
        yield running


class Hdfs:
    """A name node, and data nodes that are a tenant each."""

    def __init__(self, cluster: Daemons, nodes: int) -> None:
        self.cluster, self.nodes = cluster, nodes
        self.rpc, self.web, self.board = free_ports(3)
        rows = ["# hindmost.harvest.tenants/1"]
        rows += [f"tenant\tt{at}\te{at}\t{at * 5 % nodes}.0\t0.{at}\t2.0\t0" for at in range(nodes)]
        rows += [f"host\tdn{at}.test\tt{at}" for at in range(nodes)]
        text = "\n".join(rows) + "\n"
        (cluster.folder / "tenants.tsv").write_text(f"{text}end\t{zlib.crc32(text.encode()):08x}\n")
        self.settings: dict[str, object] = {
            "hadoop.tmp.dir": cluster.folder,
            "fs.defaultFS": f"hdfs://127.0.0.1:{self.rpc}",
            "dfs.namenode.http-address": f"127.0.0.1:{self.web}",
            "dfs.namenode.name.dir": cluster.folder / "name",
            "dfs.block.replicator.classname": POLICY,
            "dfs.net.topology.impl": f"{PLUGINS}.BusyTopology",
            "dfs.datanode.fsdataset.factory": f"{PLUGINS}.BusyDatasetFactory",
            "dfs.namenode.plugins": f"{PLUGINS}.NameNodePlugin",
            "hindmost.harvest.tenants.file": cluster.folder / "tenants.tsv",
            "hindmost.harvest.utilisation.file": cluster.folder / "%h.load",
            "hindmost.harvest.busy.period.ms": 200,
            "hindmost.harvest.board.port": self.board,
            "hindmost.harvest.board.addresses": f"127.0.0.1:{self.board}",
            "dfs.heartbeat.interval": 1,
            "dfs.namenode.heartbeat.recheck-interval": 1000,
            "dfs.namenode.redundancy.considerLoad": "false",
            "dfs.namenode.safemode.extension": 0,
            "dfs.client.retry.window.base": 200,
            "dfs.permissions.enabled": "false",
        }
        cluster.start("format", HDFS + "namenode.NameNode", self.settings, "-format", "-nonInteractive")
        cluster.end("format")
        self.start_name_node()
        for at in range(nodes):
            self.start_data_node(at)

    def start_name_node(self) -> None:
        self.cluster.start("nn", HDFS + "namenode.NameNode", self.settings)

    def start_data_node(self, at: int) -> None:
        own = {f"dfs.datanode.{kind}address": "127.0.0.1:0" for kind in ("", "http.", "ipc.")}
        own |= {
            "dfs.datanode.hostname": f"dn{at}.test",
            "dfs.datanode.data.dir": f"{self.cluster.folder}/data{at}",
        }
        self.cluster.start(f"dn{at}", HDFS + "datanode.DataNode", {**self.settings, **own})

    def state(self, attribute: str) -> int:
        return bean(self.web, "Hadoop:service=NameNode,name=FSNamesystemState")[attribute]

    def metric(self, attribute: str):
        return bean(self.web, "hindmost:type=Harvest")[attribute]

    def await_live(self) -> None:
        """All nodes live and heard of, and the name node out of its safe mode."""
        self.cluster.await_("all nodes are live", lambda: self.state("NumLiveDataNodes") == self.nodes)
        self.cluster.await_("who is busy is heard", lambda: self.metric("HeardHosts") == self.nodes)
        name_node = "Hadoop:service=NameNode,name=NameNodeInfo"
        self.cluster.await_("no safe mode", lambda: bean(self.web, name_node)["Safemode"] == "")

    def address(self, path: str, operation: str) -> str:
        return f"http://127.0.0.1:{self.web}/webhdfs/v1{path}?op={operation}&noredirect=true"

    def loopback(self, method: str, path: str, operation: str) -> str:
        """Where the name node sends a client, by the loopback instead of the data node's name."""
        to = json.loads(asked(self.address(path, operation), method))["Location"]
        return re.sub(r"//dn\d+\.test:", "//127.0.0.1:", to)

    def write(self, path: str) -> set[str]:
        """Writes a file of three replicas; the hosts that have them."""
        asked(self.loopback("PUT", path, "CREATE&replication=3&overwrite=true"), "PUT", b"x" * 1000)
        self.cluster.await_("three replicas", lambda: len(self.hosts(path)) == 3)
        return self.hosts(path)

    def hosts(self, path: str) -> set[str]:
        blocks = found(self.address(path, "GETFILEBLOCKLOCATIONS"))["BlockLocations"]["BlockLocation"]
        return set(blocks[0]["hosts"])

    def read(self, path: str) -> bytes:
        return asked(self.loopback("GET", path, "OPEN"))


def test_hdfs_survives_what_operators_do_to_its_daemons(cluster):
    hdfs = Hdfs(cluster, 4)
    hdfs.await_live()
    first = hdfs.write("/one")
    assert len(first) == 3  # a tenant each
    assert sum(hdfs.metric("PlacedByLevel")) >= 2
    assert hdfs.metric("Fallbacks") == 0

    # The name node is killed: the next keeps files, policy and who is busy.
    cluster.kill("nn")
    hdfs.start_name_node()
    hdfs.await_live()
    assert hdfs.read("/one") == b"x" * 1000
    assert len(hdfs.write("/two")) == 3
    assert hdfs.metric("Choices") >= 1
    assert hdfs.metric("Fallbacks") == 0

    # A data node with a replica is killed: others answer, it comes back under its name.
    lost = sorted(first)[0].removeprefix("dn").removesuffix(".test")
    cluster.kill(f"dn{lost}")
    cluster.await_("it is dead", lambda: hdfs.state("NumLiveDataNodes") == 3)
    assert hdfs.read("/one") == b"x" * 1000
    hdfs.start_data_node(int(lost))
    hdfs.await_live()

    # All replicas busy: the read is refused, and nothing is corrupt afterwards.
    for at in range(4):
        replaced(cluster.folder / f"dn{at}.test.load", "0.9\n")
    cluster.await_("all are busy", lambda: hdfs.metric("BusyHosts") == 4)
    begun = time.monotonic()
    with pytest.raises((urllib.error.HTTPError, IncompleteRead)):
        hdfs.read("/one")
    print(f"refused after {time.monotonic() - begun:.2f} s")
    for at in range(4):
        replaced(cluster.folder / f"dn{at}.test.load", "0.1\n")
    cluster.await_("none is busy", lambda: hdfs.metric("BusyHosts") == 0)
    print(f"staleness {hdfs.metric('StalenessMedianMillis'):.0f} ms median of a period of 200 ms")
    assert hdfs.read("/one") == b"x" * 1000
    assert hdfs.state("FSState") == "Operational"
    assert bean(hdfs.web, "Hadoop:service=NameNode,name=FSNamesystem")["CorruptBlocks"] == 0


def test_yarn_keeps_reserves_whatever_starts_anew(cluster):
    yarn = Yarn(cluster, 2)
    yarn.load(0, 0.25)
    yarn.await_cores(5, 0)  # of twelve: a third is kept, a tenant has three; the other's load is not known
    yarn.load(1, 0.0, 1500.5)
    yarn.await_cores(5, 8)
    # Of 6,000 MB, a third is kept; the other tenant's memory is not known, thus not counted.
    cluster.await_(
        "a tenant's memory is left to it", lambda: yarn.megabytes() == {"127.0.0.2": 4000, "127.0.0.3": 2499}
    )

    # A node that registers again would be whole.
    cluster.kill("nm0")
    yarn.start_node_manager(0)
    yarn.await_cores(5, 8)

    web_servers = list((cluster.folder / "tmp").glob("jetty-*"))
    assert len(web_servers) >= 3, "of a resource manager and two nodes, below the test's folder"

    # So would all nodes of another resource manager.
    cluster.kill("rm")
    yarn.start_resource_manager()
    yarn.load(0, 0.5)
    yarn.await_cores(2, 8)


def test_a_dag_of_tez_runs_on_the_class_that_has_room(cluster):
    said("tez")
    shuffle = {
        "yarn.nodemanager.aux-services": "mapreduce_shuffle",
        "yarn.nodemanager.aux-services.mapreduce_shuffle.class": f"{PLUGINS}.LocalShuffle",
    }
    yarn = Yarn(cluster, 2, shuffle)
    for at in range(2):
        yarn.load(at, 0.1)
    yarn.await_cores(6, 6)
    own = [str(ROOT / f"tez/target/{kind}") for kind in ("classes", "test-classes")]
    path = ":".join([str(cluster.folder / "rm.conf"), *own, (ROOT / "tez/target/classpath").read_text()])
    cluster.run(
        "dag", ["java", "-cp", path, "hindmost.tez.TezMain", str(cluster.folder), "127.0.0.3", "127.0.0.2"]
    )
    cluster.end("dag", 150)
    print(cluster.log("dag"))
    assert "5 of 5 tasks on the class with room" in cluster.log("dag")


def test_a_search_service_is_measured_over_a_day(cluster):
    server, client = need_two_processors()
    (port,) = free_ports(1)
    load = cluster.folder / "search.load"
    command = [
        "taskset",
        "-c",
        str(server),
        str(ROOT.parent / "setup/hadoop.sh"),
        "search",
        str(port),
        "20000",
        str(load),
    ]
    cluster.run("search", command)
    cluster.await_("it searches", lambda: "searching" in cluster.log("search"), 200)
    assert found(f"http://127.0.0.1:{port}/search?q=w12+w340")["found"] > 1000
    with pytest.raises(urllib.error.HTTPError, match="400"):
        asked(f"http://127.0.0.1:{port}/search?words=w1")
    out = cluster.folder / "day"
    day = ("--workload", ROOT / "search/queries.json", "--rate", "200", "--schedule", ROOT / "search/day.csv")
    runs = ("--runs", "2", "--duration", "24s", "--warmup", "2s", "--client-cpus", client, "--remake", "0")
    target = f"http://127.0.0.1:{port}"
    document = hindmost("measure", target, *day, *runs, "--out", out, "--json", "--quiet", study=out).result
    assert set(document["by_kind"]) == {"rare", "frequent"}
    assert document["counts"]["errors"] == 0
    assert document["latency_us"]["p99"]["value"] > document["latency_us"]["p50"]["value"] > 0
    share, megabytes = map(float, load.read_text().split())
    assert 0 < share < 1.2
    assert 30 < megabytes < 2000  # a JVM with its index
