"""HDFS-H and YARN-H on separate daemons that are killed, restarted and registered again."""

import time
import urllib.error
from http.client import IncompleteRead

import pytest
from hadoop_daemons import (
    PLUGINS,
    ROOT,
    bean,
    daemons,
    fetch,
    fetch_json,
    free_ports,
    replace_file,
    run_setup,
)
from hadoop_hdfs import Hdfs
from hadoop_yarn import Yarn
from measuring import hindmost, need_two_cpus

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]


@pytest.fixture(autouse=True)
def lock_hadoop(exclusive):
    exclusive("hadoop")


@pytest.fixture
def cluster(tmp_path):
    run_setup("build")
    with daemons(tmp_path) as daemons_:
        yield daemons_


def test_hdfs_survives_what_operators_do_to_its_daemons(cluster):
    hdfs = Hdfs(cluster, 4)
    hdfs.await_live()
    first = hdfs.write("/one")
    assert len(first) == 3  # one per tenant
    assert sum(hdfs.metric("PlacedByLevel")) >= 2
    assert hdfs.metric("Fallbacks") == 0

    # The name node is killed: the next one keeps files, policy, and the list of busy hosts.
    cluster.kill("nn0")
    hdfs.start_name_node()
    hdfs.await_live()
    # Each data node's first call fails on its connection to the killed name node, so a client must retry.
    cluster.await_("the first file is read", lambda: hdfs.read("/one") == b"x" * 1000)
    cluster.await_("a second is written", lambda: len(hdfs.write("/two")) == 3)
    assert hdfs.metric("Choices") >= 1
    assert hdfs.metric("Fallbacks") == 0

    # A data node with a replica is killed: others answer, and it returns under its name.
    victim = sorted(first)[0].removeprefix("dn").removesuffix(".test")
    cluster.kill(f"dn{victim}")
    cluster.await_("it is dead", lambda: hdfs.state("NumLiveDataNodes") == 3)
    # Clients are still sent to it until the name node removes its replicas from the list a moment later.
    cluster.await_("others answer", lambda: hdfs.read("/one") == b"x" * 1000)
    hdfs.start_data_node(int(victim))
    hdfs.await_live()

    # All replicas are busy: the read is refused, and nothing is corrupt afterwards.
    for index in range(4):
        replace_file(cluster.folder / f"dn{index}.test.load", "0.9\n")
    cluster.await_("all are busy", lambda: hdfs.metric("BusyHosts") == 4)
    began = time.monotonic()
    with pytest.raises((urllib.error.HTTPError, IncompleteRead)):
        hdfs.read("/one")
    print(f"refused after {time.monotonic() - began:.2f} s")
    for index in range(4):
        replace_file(cluster.folder / f"dn{index}.test.load", "0.1\n")
    cluster.await_("none is busy", lambda: hdfs.metric("BusyHosts") == 0)
    print(f"staleness {hdfs.metric('StalenessMedianMillis'):.0f} ms median of a period of 200 ms")
    assert hdfs.read("/one") == b"x" * 1000
    assert hdfs.state("FSState") == "Operational"
    assert bean(hdfs.web, "Hadoop:service=NameNode,name=FSNamesystem")["CorruptBlocks"] == 0


def test_yarn_keeps_reserves_after_restarts(cluster):
    yarn = Yarn(cluster, 2)
    yarn.load(0, 0.25)
    yarn.await_cores(
        5, 0
    )  # of twelve: a third is reserved, a tenant uses three; the other host's load is unknown
    yarn.load(1, 0.0, 1500.5)
    yarn.await_cores(5, 8)
    # Of 6,000 MB a third is reserved. The first tenant's memory is unknown, so it is not counted.
    cluster.await_(
        "a tenant keeps its memory", lambda: yarn.megabytes() == {"127.0.0.2": 4000, "127.0.0.3": 2499}
    )

    # By default, a node that registers again offers all its cores.
    cluster.kill("nm0")
    yarn.start_node_manager(0)
    yarn.await_cores(5, 8)

    web_servers = list((cluster.folder / "tmp").glob("jetty-*"))
    assert len(web_servers) >= 3, "of a resource manager and two nodes, below the test's folder"

    # So do all nodes of a new resource manager.
    cluster.kill("rm")
    yarn.start_resource_manager()
    yarn.load(0, 0.5)
    yarn.await_cores(2, 8)


def test_a_tez_dag_runs_on_the_class_that_has_room(cluster):
    run_setup("tez")
    shuffle = {
        "yarn.nodemanager.aux-services": "mapreduce_shuffle",
        "yarn.nodemanager.aux-services.mapreduce_shuffle.class": f"{PLUGINS}.LocalShuffle",
    }
    yarn = Yarn(cluster, 2, shuffle)
    for index in range(2):
        yarn.load(index, 0.1)
    yarn.await_cores(6, 6)
    own = [str(ROOT / f"tez/target/{kind}") for kind in ("classes", "test-classes")]
    path = ":".join([str(cluster.folder / "rm.conf"), *own, (ROOT / "tez/target/classpath").read_text()])
    cluster.run(
        "dag", ["java", "-cp", path, "hindmost.tez.TezMain", str(cluster.folder), "127.0.0.3", "127.0.0.2"]
    )
    cluster.end("dag", 400)  # five JVMs start one after the other
    print(cluster.log("dag"))
    assert "5 of 5" in cluster.log("dag")


def test_a_search_service_is_measured_over_a_day(cluster):
    server, client = need_two_cpus()
    (port,) = free_ports(1)
    load = cluster.folder / "search.load"
    setup = str(ROOT.parent / "setup/hadoop.sh")
    command = ["taskset", "-c", str(server), setup, "search", str(port), "20000", str(load)]
    cluster.run("search", command)
    cluster.await_("it searches", lambda: "searching" in cluster.log("search"), 200)
    assert fetch_json(f"http://127.0.0.1:{port}/search?q=w12+w340")["found"] > 1000
    with pytest.raises(urllib.error.HTTPError, match="400"):
        fetch(f"http://127.0.0.1:{port}/search?words=w1")
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
