"""A diagnosis with a replica, on real servers and cgroups: what is tried on the replica, and what on the host."""

import itertools
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from messages import assert_refused

from hindmost.commands.diagnose.answer import document_of
from hindmost.commands.diagnose.procedure import DiagnosisRequest, diagnose
from hindmost.commands.diagnose.replica import procedure
from hindmost.commands.diagnose.replica.loads import Load, MoreLoad
from hindmost.commands.diagnose.replica.request import ReplicaRequest
from hindmost.commands.diagnose.view import view
from hindmost.commands.diagnose.windows import Windows
from hindmost.commands.watch.application import Application
from hindmost.commands.watch.latency import latency_from
from hindmost.commands.watch.probe import start_probe
from hindmost.core.interventions.changes import File
from hindmost.core.interventions.freezer import members
from hindmost.core.interventions.policy import Policy
from hindmost.core.interventions.session import start_session
from hindmost.core.privileges import NEEDS
from hindmost.core.targets import ManagedServer, parse_target
from hindmost.present.page import render_page
from hindmost.present.terminal import render_terminal

CPU = Path("/sys/fs/cgroup/cpu")
TARGET = parse_target('synth?service={"kind": "deterministic", "mean_us": 100}')
needs_cgroup = pytest.mark.skipif(
    not os.access(CPU / "cgroup.procs", os.W_OK), reason="needs a cgroup v1 cpu controller, and root"
)


@pytest.fixture
def host():
    """The slow instance: under a quota far above what it needs, because the tests simulate its latency."""
    with ManagedServer(TARGET.spec) as server:
        group = CPU / f"test-twin-{os.getpid()}"
        group.mkdir()
        (group / "cpu.cfs_quota_us").write_text("90000")
        for task in Path(f"/proc/{server.pid}/task").iterdir():
            (group / "tasks").write_text(task.name)
        yield server, group
    deadline = time.monotonic() + 10
    while members(group / "cgroup.procs") and time.monotonic() < deadline:
        time.sleep(0.01)
    group.rmdir()


def has_no_quota(group: Path) -> bool:
    return (group / "cpu.cfs_quota_us").read_text().strip() == "-1"


@pytest.fixture
def writes(monkeypatch, host):
    """Each file that an intervention writes, with its value; simulated latency depends only on the quota in force."""
    recorded: list[tuple[Path, str]] = []
    write, count = File._write, itertools.count()

    def record_write(self: File, value: str) -> None:
        recorded.append((self.path, value))
        write(self, value)

    def measure(_: Windows, most_us: float = math.inf) -> float:
        replica = next(iter(CPU.glob(f"hindmost-{os.getpid()}-*")), None)
        return (100.0 if has_no_quota(replica or host[1]) else 300.0) * (1 + next(count) * 7 % 5 / 100)

    monkeypatch.setattr(File, "_write", record_write)
    monkeypatch.setattr(Windows, "measure", measure)
    monkeypatch.setattr(procedure, "STAGES", (1,))
    monkeypatch.setattr("hindmost.commands.diagnose.stages.STAGES", (1,))
    return recorded


def request(server, tmp_path, may):
    source = latency_from(Application("x", server.pid, None, server.address, "memcached"), probe="400/s")
    assert source is not None
    return DiagnosisRequest(
        Application("host", server.pid),
        source,
        Policy(may=may, neighbours=["none"]),
        normal_us=100.0,
        pairs=8,
        journal=tmp_path / "journal",
        replica=ReplicaRequest(TARGET, rate_per_s=500.0),
    )


@needs_cgroup
def test_a_quota_is_shown_on_a_replica_even_if_the_policy_forbids_all_changes(host, writes, tmp_path):
    server, group = host
    diagnosis = diagnose(request(server, tmp_path, []))
    name = f"quota of {group.name}"
    assert diagnosis.replica is not None
    reproduction = diagnosis.replica.reproduction
    assert (reproduction.outcome, reproduction.leader) == ("reproduced", name)
    assert (diagnosis.decision.ruling, diagnosis.decision.leader) == ("cause", name)
    # The quota is set and removed eight times each, in the replica's own group; the host's is not changed.
    quotas = [(path, value) for path, value in writes if path.name == "cpu.cfs_quota_us"]
    assert {path.parent for path, _ in quotas}.isdisjoint({group})
    assert len(quotas) == 16
    assert {value for _, value in quotas[1::2]} == {"-1"}
    assert diagnosis.measured == {}
    assert (group / "cpu.cfs_quota_us").read_text().strip() == "90000"
    assert not list(CPU.glob(f"hindmost-{os.getpid()}-*"))
    assert (tmp_path / "journal" / "knobs.jsonl").read_text() == ""
    document = document_of(diagnosis)
    (dose,) = (suspect for suspect in document.replica.suspects if suspect.name == name)
    assert {round(pair.with_us / pair.without_us) for pair in dose.measured} == {3}
    text, page = render_terminal(view(document)), render_page(view(document))
    assert name in text
    assert name in page
    assert document.not_tried_notes[name].code == "policy-forbids"
    assert document.replica.removal_note.code == "not-removed-on-host"


@needs_cgroup
def test_only_the_suspect_that_slowed_the_replica_is_tried_on_the_host(host, writes, tmp_path):
    server, group = host
    os.sched_setaffinity(server.pid, {min(os.sched_getaffinity(0))})
    diagnosis = diagnose(request(server, tmp_path, ["quota", "spread"]))
    name = f"quota of {group.name}"
    assert set(diagnosis.measured) == {name, "sham"}
    assert (diagnosis.decision.ruling, diagnosis.decision.leader) == ("cause", name)
    values = [value for path, value in writes if path == group / "cpu.cfs_quota_us"]
    # In each pair, and in a few short experiments before the first one.
    assert len(values) > 2 * 8
    assert values == ["-1", "90000"] * (len(values) // 2)
    narrow = "threads on few processors"
    assert diagnosis.suspects.left_out[narrow].code == "not-reproduced-suspect"
    assert diagnosis.replica is not None
    # On a busy host it may explain a small part of the rise.
    states = {arm.name: arm.state for arm in diagnosis.replica.reproduction.arms}
    assert states[narrow] in ("ruled out", "part")
    assert (diagnosis.replica.removal.code, diagnosis.replica.removal.values) == (
        "removed-on-host",
        {"ruling": "cause"},
    )


def test_more_load_is_present_while_in_force_and_a_workload_until_its_end(tmp_path, capsys):
    workload = tmp_path / "w.json"
    workload.write_text('{"kind": "key-value", "keys": 20}')
    with ManagedServer(TARGET.spec) as server:
        extra_load = MoreLoad(
            "load", Load({"protocol": "memcached", "address": server.address}), 100.0, 1_500.0
        )

        def connections() -> int:
            lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
            port, established = f":{server.port:04X}", "01"
            return sum(line[1].endswith(port) and line[3] == established for line in lines)

        command = ["diagnose", f"memcached://{server.address}", "--replica", "synth"]
        assert_refused(command, capsys, 2, "missing-argument", option="--normal")

        before = connections()
        extra_load.remove()
        assert extra_load.is_gone()
        assert connections() > before
        extra_load.give_back()
        assert not extra_load.is_gone()
        with (
            start_session(tmp_path / "j"),
            Load({"protocol": "memcached", "address": server.address}, workload).running(300.0),
        ):
            source = latency_from(
                Application("x", server.pid, None, server.address, "memcached"), probe="50/s"
            )
            assert source is not None
            with start_probe(source) as probe:
                assert Windows(probe, 0.5, 0.2, 0.0).measure() > 0


INSIDE = """
import json, subprocess, sys
from pathlib import Path
from hindmost.core.interventions.session import start_session
from hindmost.commands.diagnose.replica.network import create_network, move_receive, sent_bytes, shape_link
from hindmost.core.targets import ManagedServer, parse_target
def said(words):
    return subprocess.run(words, shell=True, capture_output=True, text=True).stdout
with start_session(Path(sys.argv[1])) as session:
    with create_network(session) as where:
        entry = json.loads((Path(sys.argv[1]) / "knobs.jsonl").read_text())
        assert entry["steps"][0]["namespace"] == where.namespace
        with ManagedServer(where.inside(parse_target(sys.argv[2]).spec)) as server:
            assert server.address.startswith("198.18."), server.address
            slow = shape_link("link", where, 1_000_000, 4_000, 100_000)
            slow.remove()
            assert "tbf" in said(f"tc -n {where.namespace} qdisc show dev {where.there}")
            slow.give_back()
            assert "tbf" not in said(f"tc -n {where.namespace} qdisc show dev {where.there}")
            there = move_receive("receive", where, "1")
            path = f"/sys/class/net/{where.here}/queues/rx-0/rps_cpus"
            there.remove()
            assert int(Path(path).read_text().replace(",", ""), 16) == 1
            there.give_back()
            assert int(Path(path).read_text().replace(",", ""), 16) == 0
            assert sent_bytes(where.there, where.namespace) > 0
    assert where.here not in said("ip link") and where.namespace not in said("ip netns")
    print("done")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="a separate network needs root")
def test_a_replica_in_a_separate_network_answers_and_leaves_nothing(tmp_path):
    done = subprocess.run(
        ["unshare", "--mount", sys.executable, "-c", INSIDE, str(tmp_path / "j"), "synth"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.strip() == "done", done.stderr


@pytest.mark.nightly
@pytest.mark.skipif(os.geteuid() != 0, reason="a separate network needs root")
def test_a_separate_network_needs_exactly_the_capabilities_of_its_row(tmp_path):
    command = "the same, with a network of its own"
    capabilities = next(row.capabilities for row in NEEDS if row.command == command)
    for missing in ("", *capabilities):
        remaining = [f"+{name.removeprefix('CAP_').lower()}" for name in capabilities if name != missing]
        limits = [f"--bounding-set={','.join(['-all', *remaining])}", "--inh-caps=-all"]
        program = [sys.executable, "-c", INSIDE, str(tmp_path / f"j{missing}"), "synth"]
        done = subprocess.run(
            ["unshare", "--mount", "setpriv", *limits, *program],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.stdout.strip() == "done") is (missing == ""), done.stderr


VICTIM = """
import sys
from pathlib import Path
from hindmost.core.interventions.policy import Policy
from hindmost.commands.diagnose.procedure import DiagnosisRequest, diagnose
from hindmost.commands.diagnose.replica.request import ReplicaRequest
from hindmost.core.targets import parse_target
from hindmost.commands.watch.application import Application
from hindmost.commands.watch.latency import latency_from
pid, address, journal, target = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), parse_target(sys.argv[4])
host = Application("host", pid, None, address, "memcached")
replica = ReplicaRequest(target, rate_per_s=500.0)
diagnose(DiagnosisRequest(
    host, latency_from(host, probe="400/s"), Policy(may=[], neighbours=["none"]),
    normal_us=0.1, pairs=200, window_s=0.1, settle_s=0.01, journal=journal, replica=replica,
), print)
"""


@needs_cgroup
def test_after_a_kill_nothing_of_the_replica_is_left(host, tmp_path):
    server, group = host
    place = str(tmp_path / "j")
    source = TARGET.source.removeprefix("preset ")
    command = [sys.executable, "-P", "-c", VICTIM, str(server.pid), server.address, place, source]
    victim = subprocess.Popen(command, stdout=subprocess.DEVNULL)

    def replicas() -> list[Path]:
        return list(CPU.glob(f"hindmost-{victim.pid}-*"))

    deadline = time.monotonic() + 60
    while not any(not has_no_quota(group) and members(group / "cgroup.procs") for group in replicas()):
        assert time.monotonic() < deadline, "the replica was never under its quota"
        assert victim.poll() is None, "the diagnosis ended early"
        time.sleep(0.005)
    (replica,) = {pid for group in replicas() for pid in members(group / "cgroup.procs")}
    victim.kill()
    victim.wait()
    journal = tmp_path / "j" / "knobs.jsonl"
    deadline = time.monotonic() + 20
    while replicas() or Path(f"/proc/{replica}").exists() or journal.read_text():
        assert time.monotonic() < deadline, (replicas(), journal.read_text())
        time.sleep(0.01)
    assert (group / "cpu.cfs_quota_us").read_text().strip() == "90000"
