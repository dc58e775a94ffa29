"""HDFS-H on two name nodes that share their edits: what the plug-ins know outlives the one that was active."""

import pytest
from hadoop_daemons import bean, daemons, replace_file, run_setup
from hadoop_hdfs import Hdfs

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]


@pytest.fixture(autouse=True)
def one_at_a_time(exclusive):
    exclusive("hadoop")


def test_the_next_name_node_knows_tenants_and_who_is_busy(tmp_path):
    run_setup("build")
    with daemons(tmp_path) as cluster:
        hdfs = Hdfs(cluster, 6, name_nodes=2)
        hdfs.await_live()
        before = [hdfs.write(f"/before{at}") for at in range(6)]
        busy = "dn1.test"
        replace_file(cluster.folder / f"{busy}.load", "0.9\n")
        cluster.await_("the active one hears it", lambda: hdfs.metric("BusyHosts") == 1)
        assert all(busy not in hdfs.write(f"/busy{at}") for at in range(6))
        mean = hdfs.metric("PlacedByLevel")
        assert sum(mean) >= 12 * 2, mean

        cluster.kill("nn0")
        hdfs.activate(1)
        assert (
            hdfs.metric("BusyHosts") == 1
        )  # heard while it stood by: not one replica for a busy host in between
        assert hdfs.metric("Choices") == 0
        hdfs.await_live()
        after = [hdfs.write(f"/after{at}") for at in range(10)]
        assert all(len(hosts) == 3 and busy not in hosts for hosts in after), after
        assert hdfs.metric("Choices") >= 10
        assert hdfs.metric("Fallbacks") == 0

        # No data is lost, and none moved because another name node counts it.
        assert all(hdfs.read(f"/before{at}") == b"x" * 1000 for at in range(6))
        assert [hdfs.hosts(f"/before{at}") for at in range(6)] == before
        assert bean(hdfs.web, "Hadoop:service=NameNode,name=FSNamesystem")["MissingBlocks"] == 0

        # The one that was killed stands by, hears the same, and takes over again.
        hdfs.start_name_node(0)
        replace_file(cluster.folder / f"{busy}.load", "0.1\n")
        cluster.await_("it stands by", lambda: hdfs.is_standby(0))
        cluster.kill("nn1")
        hdfs.activate(0)
        hdfs.await_live()
        cluster.await_("nobody is busy", lambda: hdfs.metric("BusyHosts") == 0)
        assert len(hdfs.write("/again")) == 3
        assert hdfs.read("/after9") == b"x" * 1000
