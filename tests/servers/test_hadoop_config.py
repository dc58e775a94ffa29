"""A YARN cluster whose operator added only the files that ``hindmost harvest export`` wrote."""

import contextlib
import os
import re
import time
from pathlib import Path

import pytest
from hadoop_daemons import bean, daemons, fetch_json, processes_below, run_setup
from hadoop_yarn import Yarn, batch_group, can_create_group

from hindmost.cli.app import run

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]


@pytest.fixture(autouse=True)
def lock_hadoop(exclusive):
    exclusive("hadoop")


GRACE_S = 4
BATCH = "exec sleep 299.5"
EXPORT_OPTIONS = {
    "files": [],
    "heartbeats": ["--yarn-source", "heartbeats", "--queues", "root.default=long"],
    "group": ["--batch-group", "{group}"],
}


def export_config(folder: Path, options: list[str]) -> Path:
    """Turn a folder of traces into configuration files, by the commands of the guide."""
    traces, conf = folder / "traces", folder / "written"
    traces.mkdir()
    rows = [f"{hour * 3600},127.0.0.{host},0.{1 + hour % 24 // 6}" for host in (2, 3) for hour in range(720)]
    (traces / "cpu.csv").write_text("\n".join(["time,server,cpu", *rows]) + "\n")
    classes = folder / "classes.json"
    assert run(["harvest", "classify", str(traces), "--out", str(classes)]) == 0
    files = ["--yarn-load-file", f"{folder}/%h.load", "--installed", str(conf), "--out", str(conf)]
    policy = ["--name-nodes", "127.0.0.1", "--reserve", "0.25", "--grace", f"{GRACE_S}s"]
    assert run(["harvest", "export", "hadoop", str(classes), *policy, *files, *options]) == 0
    return conf


def batch_processes(folder: Path, group: Path) -> list[tuple[int, bool]]:
    """For each batch process of this cluster, its niceness, and whether it is in the group."""
    processes = []
    for pid in processes_below(folder):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/cmdline").read_bytes() == b"sleep\x00299.5\x00":
                inside = f":/{group.name}\n" in Path(f"/proc/{pid}/cgroup").read_text()
                processes.append((os.getpriority(os.PRIO_PROCESS, pid), inside))
    return processes


@pytest.mark.parametrize("source", EXPORT_OPTIONS)
def test_yarn_runs_with_the_exported_files(tmp_path, source):
    run_setup("build")
    if source == "group" and not can_create_group():
        pytest.skip("needs a writable cgroup v1 cpu controller with cpu.idle")
    with batch_group() as group, daemons(tmp_path) as cluster:
        conf = export_config(tmp_path, [word.format(group=group) for word in EXPORT_OPTIONS[source]])
        cluster.includes = {
            "yarn": conf / "yarn-site-hindmost.xml",
            "capacity": conf / "capacity-scheduler-hindmost.xml",
        }
        yarn = Yarn(cluster, 2, {"yarn.scheduler.minimum-allocation-mb": 128})
        yarn.load(0, 0.25)
        # Of twelve cores a quarter is reserved, and a tenant uses three. The other host's load is unknown.
        yarn.await_cores(6, 0)
        yarn.load(1, 0.0)
        yarn.await_cores(6, 9)

        cluster.start("batch", "hindmost.hadoop.BatchMain", yarn.settings, "15", BATCH, tests=True)

        def containers() -> tuple[int, int]:
            """Numbers of running and of killed containers."""
            lines = re.findall(r"^(\d+) (\d+)$", cluster.log("batch"), re.MULTILINE)
            return (int(lines[-1][0]), int(lines[-1][1])) if lines else (0, 0)

        # Memory alone would allow more than one container per core.
        cluster.await_("all cores are in use", lambda: containers() == (15, 0))
        assert bean(yarn.web, "hindmost:type=Harvest")["NodeOrders"] >= 15
        cluster.await_(
            "each container runs at the lowest priority",
            lambda: batch_processes(tmp_path, group) == [(19, source == "group")] * 15,
        )
        if source == "group":
            assert (group / "cpu.idle").read_text() == "1\n"
        if source == "heartbeats":
            nodes = fetch_json(f"http://127.0.0.1:{yarn.web}/ws/v1/cluster/nodes")["nodes"]
            reported = {
                node["nodeHTTPAddress"].split(":")[0]: node["resourceUtilization"]["nodeCPUUsage"]
                for node in nodes
            }
            assert reported == {"127.0.0.2": 3.0, "127.0.0.3": 0.0}  # the tenants' load, not the host's

        began = time.monotonic()
        yarn.load(0, 0.5)
        cluster.await_("the tenant gets the cores it needs", lambda: containers() == (12, 3))
        assert time.monotonic() - began >= GRACE_S
