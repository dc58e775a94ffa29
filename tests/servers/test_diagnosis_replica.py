"""A diagnosis by a twin, with real servers and cgroups: what is tried there, and that the host is left alone."""

import itertools
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from messages import assert_refused

from hindmost.interventions.changes import File
from hindmost.interventions.freezer import members
from hindmost.interventions.probe import start_probe
from hindmost.interventions.session import start_session
from hindmost.privileges import NEEDS
from hindmost.report.diagnosis.page import render_diagnosis_page
from hindmost.report.diagnosis.terminal import render_diagnosis
from hindmost.studies.diagnosis.document import document_of
from hindmost.studies.diagnosis.policy import Policy
from hindmost.studies.diagnosis.procedure import DiagnosisRequest, diagnose
from hindmost.studies.diagnosis.replica import procedure
from hindmost.studies.diagnosis.replica.loads import Load, MoreLoad
from hindmost.studies.diagnosis.replica.request import ReplicaRequest
from hindmost.studies.diagnosis.windows import Windows
from hindmost.targets import ManagedServer, parse_target
from hindmost.watch import Application, latency_from

CPU = Path("/sys/fs/cgroup/cpu")
TARGET = parse_target('synth?service={"kind": "deterministic", "mean_us": 100}')
grouped = pytest.mark.skipif(
    not os.access(CPU / "cgroup.procs", os.W_OK), reason="no cpu cgroup of version 1, or not root"
)


@pytest.fixture
def host():
    """The instance that is slow: under a quota that is far above what it needs, since nothing is timed here."""
    with ManagedServer(TARGET.spec) as server:
        group = CPU / f"test-twin-{os.getpid()}"
        group.mkdir()
        (group / "cpu.cfs_quota_us").write_text("90000")
        for task in Path(f"/proc/{server.pid}/task").iterdir():
            (group / "tasks").write_text(task.name)
        yield server, group
    until = time.monotonic() + 10
    while members(group / "cgroup.procs") and time.monotonic() < until:
        time.sleep(0.01)
    group.rmdir()


def free(group: Path) -> bool:
    return (group / "cpu.cfs_quota_us").read_text().strip() == "-1"


@pytest.fixture
def written(monkeypatch, host):
    """Each file that an intervention writes, with its value; latency follows from the quota in force alone."""
    seen: list[tuple[Path, str]] = []
    write, taken = File._write, itertools.count()

    def told(self: File, value: str) -> None:
        seen.append((self.path, value))
        write(self, value)

    def measure(_: Windows, most_us: float = math.inf) -> float:
        replica = next(iter(CPU.glob(f"hindmost-{os.getpid()}-*")), None)
        return (100.0 if free(replica or host[1]) else 300.0) * (1 + next(taken) * 7 % 5 / 100)

    monkeypatch.setattr(File, "_write", told)
    monkeypatch.setattr(Windows, "measure", measure)
    monkeypatch.setattr(procedure, "STAGES", (1,))
    monkeypatch.setattr("hindmost.studies.diagnosis.stages.STAGES", (1,))
    return seen


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


@grouped
def test_a_policy_that_forbids_everything_still_has_the_quota_shown_on_a_replica(host, written, tmp_path):
    server, group = host
    found = diagnose(request(server, tmp_path, []))
    name = f"quota of {group.name}"
    assert found.replica is not None
    assert (found.replica.reproduction.outcome, found.replica.reproduction.leader) == ("reproduced", name)
    assert (found.decision.ruling, found.decision.leader) == ("cause", name)
    # Eight times in force and as often taken back, in a group of the twin's own; the host's is not touched.
    quotas = [(path, value) for path, value in written if path.name == "cpu.cfs_quota_us"]
    assert {path.parent for path, _ in quotas}.isdisjoint({group})
    assert len(quotas) == 16
    assert {value for _, value in quotas[1::2]} == {"-1"}
    assert found.measured == {}
    assert (group / "cpu.cfs_quota_us").read_text().strip() == "90000"
    assert not list(CPU.glob(f"hindmost-{os.getpid()}-*"))
    assert (tmp_path / "journal" / "knobs.jsonl").read_text() == ""
    document = document_of(found)
    (dose,) = (one for one in document["replica"]["suspects"] if one["name"] == name)
    assert {round(pair["with_us"] / pair["without_us"]) for pair in dose["measured"]} == {3}
    text, page = render_diagnosis(document), render_diagnosis_page(document)
    assert name in text
    assert name in page
    assert document["not_tried_notes"][name]["code"] == "policy-forbids"
    assert document["replica"]["removal_note"]["code"] == "not-removed-on-host"


@grouped
def test_who_made_the_replica_sick_is_the_only_one_that_is_tried_on_the_host(host, written, tmp_path):
    server, group = host
    os.sched_setaffinity(server.pid, {min(os.sched_getaffinity(0))})
    found = diagnose(request(server, tmp_path, ["quota", "spread"]))
    name = f"quota of {group.name}"
    assert set(found.measured) == {name, "sham"}
    assert (found.decision.ruling, found.decision.leader) == ("cause", name)
    lifted = [value for path, value in written if path == group / "cpu.cfs_quota_us"]
    # In each pair, and before the first one for a few short experiments.
    assert len(lifted) > 2 * 8
    assert lifted == ["-1", "90000"] * (len(lifted) // 2)
    narrow = "threads on few processors"
    assert found.suspects.left_out[narrow].code == "not-reproduced-suspect"
    assert found.replica is not None
    # A busy host may let it have a small part of the rise.
    assert {arm.name: arm.state for arm in found.replica.reproduction.arms}[narrow] in ("struck out", "part")
    assert (found.replica.removal.code, found.replica.removal.values) == (
        "removed-on-host",
        {"ruling": "cause"},
    )


def test_more_load_is_there_while_it_is_in_force_and_one_of_a_workload_until_its_end(tmp_path, capsys):
    workload = tmp_path / "w.json"
    workload.write_text('{"kind": "key-value", "keys": 20}')
    with ManagedServer(TARGET.spec) as server:
        more = MoreLoad("load", Load({"protocol": "memcached", "address": server.address}), 100.0, 1_500.0)

        def connections() -> int:
            lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
            port, established = f":{server.port:04X}", "01"
            return sum(line[1].endswith(port) and line[3] == established for line in lines)

        asked = ["diagnose", f"memcached://{server.address}", "--replica", "synth"]
        assert_refused(asked, capsys, 2, "missing-argument", option="--normal")

        before = connections()
        more.remove()
        assert more.is_gone()
        assert connections() > before
        more.give_back()
        assert not more.is_gone()
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
from hindmost.interventions.session import start_session
from hindmost.studies.diagnosis.replica.network import create_network, move_receive, sent_bytes, shape_link
from hindmost.targets import ManagedServer, parse_target
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


@pytest.mark.skipif(os.geteuid() != 0, reason="a network of its own needs root")
def test_a_replica_in_a_network_of_its_own_answers_and_leaves_nothing(tmp_path):
    done = subprocess.run(
        ["unshare", "--mount", sys.executable, "-c", INSIDE, str(tmp_path / "j"), "synth"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.strip() == "done", done.stderr


@pytest.mark.nightly
@pytest.mark.skipif(os.geteuid() != 0, reason="a network of its own needs root")
def test_a_network_of_its_own_takes_the_rights_of_its_row_and_none_less(tmp_path):
    rights = next(one.capabilities for one in NEEDS if one.command == "the same, with a network of its own")
    for missing in ("", *rights):
        kept = [f"+{one.removeprefix('CAP_').lower()}" for one in rights if one != missing]
        limits = [f"--bounding-set={','.join(['-all', *kept])}", "--inh-caps=-all"]
        words = [sys.executable, "-c", INSIDE, str(tmp_path / f"j{missing}"), "synth"]
        done = subprocess.run(
            ["unshare", "--mount", "setpriv", *limits, *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.stdout.strip() == "done") is (missing == ""), done.stderr


VICTIM = """
import sys
from pathlib import Path
from hindmost.studies.diagnosis.policy import Policy
from hindmost.studies.diagnosis.procedure import DiagnosisRequest, diagnose
from hindmost.studies.diagnosis.replica.request import ReplicaRequest
from hindmost.targets import parse_target
from hindmost.watch import Application, latency_from
pid, address, journal, target = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), parse_target(sys.argv[4])
host = Application("host", pid, None, address, "memcached")
replica = ReplicaRequest(target, rate_per_s=500.0)
diagnose(DiagnosisRequest(
    host, latency_from(host, probe="400/s"), Policy(may=[], neighbours=["none"]),
    normal_us=0.1, pairs=200, window_s=0.1, settle_s=0.01, journal=journal, replica=replica,
), print)
"""


@grouped
def test_killed_in_the_middle_nothing_of_the_replica_is_left(host, tmp_path):
    server, group = host
    place = str(tmp_path / "j")
    words = [sys.executable, "-P", "-c", VICTIM, str(server.pid), server.address, place, TARGET.source]
    words[-1] = TARGET.source.removeprefix("preset ")
    victim = subprocess.Popen(words, stdout=subprocess.DEVNULL)

    def replicas() -> list[Path]:
        return list(CPU.glob(f"hindmost-{victim.pid}-*"))

    until = time.monotonic() + 60
    while not any(not free(one) and members(one / "cgroup.procs") for one in replicas()):
        assert time.monotonic() < until, "the twin was never under its quota"
        assert victim.poll() is None, "the diagnosis ended early"
        time.sleep(0.005)
    (replica,) = {pid for one in replicas() for pid in members(one / "cgroup.procs")}
    victim.kill()
    victim.wait()
    journal = tmp_path / "j" / "knobs.jsonl"
    until = time.monotonic() + 20
    while replicas() or Path(f"/proc/{replica}").exists() or journal.read_text():
        assert time.monotonic() < until, (replicas(), journal.read_text())
        time.sleep(0.01)
    assert (group / "cpu.cfs_quota_us").read_text().strip() == "90000"
