"""A cluster of YARN whose operator added nothing but the files that ``hindmost harvest export`` wrote."""

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
def one_at_a_time(exclusive):
    exclusive("hadoop")


GRACE_S = 4
BATCH = "exec sleep 299.5"
WAYS = {
    "files": [],
    "heartbeats": ["--yarn-source", "heartbeats", "--queues", "root.default=long"],
    "group": ["--batch-group", "{group}"],
}


def written(folder: Path, ways: list[str]) -> Path:
    """From a folder of traces to files of Hadoop, by the commands of the guide."""
    traces, conf = folder / "traces", folder / "written"
    traces.mkdir()
    rows = [f"{at * 3600},127.0.0.{host},0.{1 + at % 24 // 6}" for host in (2, 3) for at in range(720)]
    (traces / "cpu.csv").write_text("\n".join(["time,server,cpu", *rows]) + "\n")
    classes = folder / "classes.json"
    assert run(["harvest", "classify", str(traces), "--out", str(classes)]) == 0
    where = ["--yarn-load-file", f"{folder}/%h.load", "--installed", str(conf), "--out", str(conf)]
    how = ["--name-nodes", "127.0.0.1", "--reserve", "0.25", "--grace", f"{GRACE_S}s"]
    assert run(["harvest", "export", "hadoop", str(classes), *how, *where, *ways]) == 0
    return conf


def batch(folder: Path, group: Path) -> list[tuple[int, bool]]:
    """Niceness of each process of batch work of this cluster, and whether it is in the group."""
    found = []
    for pid in processes_below(folder):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/cmdline").read_bytes() == b"sleep\x00299.5\x00":
                inside = f":/{group.name}\n" in Path(f"/proc/{pid}/cgroup").read_text()
                found.append((os.getpriority(os.PRIO_PROCESS, pid), inside))
    return found


@pytest.mark.parametrize("way", WAYS)
def test_yarn_runs_by_the_files_that_are_written_for_it(tmp_path, way):
    run_setup("build")
    if way == "group" and not can_create_group():
        pytest.skip("no cpu controller of version 1 with cpu.idle that may be written")
    with batch_group() as group, daemons(tmp_path) as cluster:
        conf = written(tmp_path, [word.format(group=group) for word in WAYS[way]])
        cluster.includes = {
            "yarn": conf / "yarn-site-hindmost.xml",
            "capacity": conf / "capacity-scheduler-hindmost.xml",
        }
        yarn = Yarn(cluster, 2, {"yarn.scheduler.minimum-allocation-mb": 128})
        yarn.load(0, 0.25)
        yarn.await_cores(
            6, 0
        )  # of twelve: a quarter is kept, a tenant has three; the other's load is not known
        yarn.load(1, 0.0)
        yarn.await_cores(6, 9)

        cluster.start("batch", "hindmost.hadoop.BatchMain", yarn.settings, "15", BATCH, tests=True)

        def told() -> tuple[int, int]:
            """Containers that run, and those that were killed."""
            lines = re.findall(r"^(\d+) (\d+)$", cluster.log("batch"), re.MULTILINE)
            return (int(lines[-1][0]), int(lines[-1][1])) if lines else (0, 0)

        # By memory alone there would be room for more than a core each.
        cluster.await_("all cores are in use", lambda: told() == (15, 0))
        assert bean(yarn.web, "hindmost:type=Harvest")["NodeOrders"] >= 15
        cluster.await_(
            "each has begun, at the least priority",
            lambda: batch(tmp_path, group) == [(19, way == "group")] * 15,
        )
        if way == "group":
            assert (group / "cpu.idle").read_text() == "1\n"
        if way == "heartbeats":
            nodes = fetch_json(f"http://127.0.0.1:{yarn.web}/ws/v1/cluster/nodes")["nodes"]
            reported = {
                one["nodeHTTPAddress"].split(":")[0]: one["resourceUtilization"]["nodeCPUUsage"]
                for one in nodes
            }
            assert reported == {"127.0.0.2": 3.0, "127.0.0.3": 0.0}  # the tenants', whatever the host does

        begun = time.monotonic()
        yarn.load(0, 0.5)
        cluster.await_("what the tenant needs is given back", lambda: told() == (12, 3))
        assert time.monotonic() - begun >= GRACE_S
