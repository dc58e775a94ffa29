"""A whole diagnosis of a real memcached whose neighbour may only be limited by a CPU quota."""

import math
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from plain_memcached import plain_memcached

from hindmost.commands.diagnose import stages
from hindmost.commands.diagnose.answer import document_of
from hindmost.commands.diagnose.procedure import DiagnosisRequest, diagnose
from hindmost.commands.diagnose.windows import Windows
from hindmost.commands.watch.application import find_application
from hindmost.commands.watch.latency import latency_from
from hindmost.core.interventions.freezer import members
from hindmost.core.interventions.policy import Policy

CPU = Path("/sys/fs/cgroup/cpu")
pytestmark = [
    pytest.mark.memcached,
    pytest.mark.skipif(shutil.which("memcached") is None, reason="memcached is not installed"),
    pytest.mark.skipif(
        not os.access(CPU / "cgroup.procs", os.W_OK), reason="needs a cgroup v1 cpu controller, and root"
    ),
]


@pytest.fixture
def server():
    with plain_memcached() as (address, _):
        yield address


@pytest.fixture
def neighbour(tmp_path):
    """A busy loop with a unique name, in its own cpu cgroup."""
    program = tmp_path / "limit-me"
    shutil.copy("/bin/dash", program)
    group = CPU / f"test-limit-{os.getpid()}"
    group.mkdir()
    process = subprocess.Popen([program, "-c", "while :; do :; done"])
    (group / "cgroup.procs").write_text(str(process.pid))
    yield process, group
    process.kill()
    process.wait()
    deadline = time.monotonic() + 10
    while members(group / "cgroup.procs") and time.monotonic() < deadline:
        time.sleep(0.01)
    group.rmdir()


def test_a_neighbour_is_tried_and_corrected_by_its_quota_alone(server, neighbour, tmp_path, monkeypatch):
    process, group = neighbour
    quota = group / "cpu.cfs_quota_us"
    in_force: list[str] = []
    measure = Windows.measure

    def record_quota(self: Windows, most_us: float = math.inf) -> float:
        in_force.append(quota.read_text().strip())
        return measure(self)

    monkeypatch.setattr(Windows, "measure", record_quota)
    # A busy host slows users down as harm does, and a window that harms is measured again.
    monkeypatch.setattr(Windows, "watch", lambda _: None)
    monkeypatch.setattr(stages, "STAGES", (1,))
    application = find_application(server)
    source = latency_from(application, probe="600/s")
    assert source is not None
    rules = Policy(may=["limit"], neighbours=["limit-me"])
    request = DiagnosisRequest(
        application, source, rules, pairs=6, window_s=0.2, settle_s=0.02, journal=tmp_path / "journal"
    )
    document = document_of(diagnose(request))
    (suspect,) = document.suspects
    assert suspect.name == f"neighbour limit-me ({process.pid})"
    assert "cpu.cfs_quota_us" in suspect.about
    # There are 6 pairs of it and 6 of the sham; 6 windows are under the quota, a tenth of a CPU.
    period = int((group / "cpu.cfs_period_us").read_text())
    assert sorted(in_force) == ["-1"] * 18 + [str(period // 10)] * 6
    assert all(pair.with_us > 0 and pair.without_us > 0 for pair in suspect.measured)
    assert quota.read_text().strip() == "-1"
    assert (tmp_path / "journal" / "knobs.jsonl").read_text() == ""
