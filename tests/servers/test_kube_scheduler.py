"""The extender under the real kube-scheduler, with an API server that provides what both read."""

import socket
import subprocess
import sys
import time

import pytest
from hadoop_daemons import free_ports
from harvest_documents import class_of, classes_of, tenant_of
from kubernetes_api import serve_api

from hindmost.commands.harvest.kubernetes import scheduler_text
from hindmost.core.store.estimates import encode

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1800)]


def await_(failure, condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, failure
        time.sleep(0.05)


def is_listening(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def scheduler_binary(pytestconfig):
    done = subprocess.run([pytestconfig.rootpath / "setup/kube.sh"], check=False)
    if done.returncode == 77:
        pytest.skip("no Go to build kube-scheduler with")
    assert done.returncode == 0
    (binary,) = (pytestconfig.rootpath / ".peers").glob("kube-scheduler-*")
    return binary


@pytest.fixture
def classes(tmp_path):
    path = tmp_path / "classes.json"
    found = [class_of("constant", mean, mean) for mean in (0.2, 0.9)]
    tenants = [tenant_of(name, {f"{name}-0": None}, number) for number, name in enumerate(("web", "busy"))]
    path.write_text(encode(classes_of(found, tenants)))
    return path


@pytest.fixture
def cluster(tmp_path, classes, scheduler_binary):
    """The API server with a running kube-scheduler and extender, and the extender's process."""
    (port,) = free_ports(1)
    with serve_api() as api:
        options = ["extender", classes, "--port", port, "--api", api.url]
        extender = subprocess.Popen([sys.executable, "-m", "hindmost", *map(str, options)])
        await_("the extender answers", lambda: is_listening(port))
        access = tmp_path / "access.yaml"
        access.write_text(
            f"apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster: {{server: '{api.url}'}}\n"
            "contexts:\n- name: c\n  context: {cluster: c, user: ''}\ncurrent-context: c\n"
        )
        config = tmp_path / "scheduler.yaml"
        config.write_text(
            scheduler_text(f"http://127.0.0.1:{port}")
            + f"clientConnection: {{kubeconfig: {access}, contentType: application/json}}\n"
            "leaderElection: {leaderElect: false}\n"
        )
        with (tmp_path / "scheduler.log").open("w") as log:
            command = [scheduler_binary, "--config", config, "--secure-port", "0", "-v", "3"]
            scheduler = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield api, extender
        finally:
            for process in (scheduler, extender):
                process.kill()
                process.wait()


BATCH = {"hindmost/job": "j", "hindmost/length": "medium"}


def test_batch_pods_go_where_history_leaves_room_and_other_pods_anywhere(cluster):
    api, extender = cluster
    # A third of 12 cores is reserved: with a load of 2.4 cores 5.6 are spare, on the busy node none.
    api.add_node("web-0", 12)
    api.add_node("busy-0", 12)
    api.add_pod("batch-0", "3", BATCH)
    await_("a batch pod is bound", lambda: api.node_of("batch-0"))
    assert api.node_of("batch-0") == "web-0"

    # Another pod of 3 cores would take cores from the tenant; the stock scheduler would bind it.
    api.add_pod("batch-1", "3", BATCH)
    await_("the second one waits", lambda: api.is_unschedulable("batch-1"))
    api.add_pod("batch-2", "2", BATCH)
    await_("2.6 cores are left", lambda: api.node_of("batch-2") == "web-0")

    # The extender does not judge pods of a primary tenant or of a daemon, not even on the busy node.
    api.add_pod("primary", "3", {}, nodeSelector={"kubernetes.io/hostname": "busy-0"})
    await_("a primary's pod is bound", lambda: api.node_of("primary") == "busy-0")
    assert api.node_of("batch-1") is None

    # Without the extender the scheduler works alone.
    extender.kill()
    extender.wait()
    api.add_pod("batch-3", "3", BATCH)
    await_("stock binds it", lambda: api.node_of("batch-3"))


def test_twenty_pods_at_once_fill_a_node_once(cluster):
    api, _ = cluster
    api.add_node("web-0", 12)
    names = [f"batch-{index}" for index in range(20)]
    for name in names:
        api.add_pod(name, "3", BATCH)
    await_("all but one wait", lambda: sum(api.is_unschedulable(name) for name in names) == 19)
    assert [api.node_of(name) for name in names].count("web-0") == 1
