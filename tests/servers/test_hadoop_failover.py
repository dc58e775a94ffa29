"""HDFS-H on two name nodes that share their edits: the plug-ins' knowledge survives the active one."""

import pytest
from hadoop_daemons import bean, daemons, replace_file, run_setup
from hadoop_hdfs import Hdfs

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]


@pytest.fixture(autouse=True)
def lock_hadoop(exclusive):
    exclusive("hadoop")


def test_the_next_name_node_knows_tenants_and_busy_hosts(tmp_path):
    run_setup("build")
    with daemons(tmp_path) as cluster:
        hdfs = Hdfs(cluster, 6, name_nodes=2)
        hdfs.await_live()
        before = [hdfs.write(f"/before{index}") for index in range(6)]
        busy = "dn1.test"
        replace_file(cluster.folder / f"{busy}.load", "0.9\n")
        cluster.await_("the active name node hears it", lambda: hdfs.metric("BusyHosts") == 1)
        assert all(busy not in hdfs.write(f"/busy{index}") for index in range(6))
        mean = hdfs.metric("PlacedByLevel")
        assert sum(mean) >= 12 * 2, mean

        cluster.kill("nn0")
        hdfs.activate(1)
        # The standby heard it, so no replica goes to the busy host in between.
        assert hdfs.metric("BusyHosts") == 1
        assert hdfs.metric("Choices") == 0
        hdfs.await_live()
        after = [hdfs.write(f"/after{index}") for index in range(10)]
        assert all(len(hosts) == 3 and busy not in hosts for hosts in after), after
        assert hdfs.metric("Choices") >= 10
        assert hdfs.metric("Fallbacks") == 0

        # No data is lost, and none was moved because of the other name node.
        assert all(hdfs.read(f"/before{index}") == b"x" * 1000 for index in range(6))
        assert [hdfs.hosts(f"/before{index}") for index in range(6)] == before
        assert bean(hdfs.web, "Hadoop:service=NameNode,name=FSNamesystem")["MissingBlocks"] == 0

        # The killed name node returns as a standby, hears the same, and becomes active again.
        hdfs.start_name_node(0)
        replace_file(cluster.folder / f"{busy}.load", "0.1\n")
        cluster.await_("it is a standby", lambda: hdfs.is_standby(0))
        cluster.kill("nn1")
        hdfs.activate(0)
        hdfs.await_live()
        cluster.await_("no host is busy", lambda: hdfs.metric("BusyHosts") == 0)
        assert len(hdfs.write("/again")) == 3
        assert hdfs.read("/after9") == b"x" * 1000
