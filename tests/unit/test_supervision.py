"""Supervised jobs on the host of a server: resource control, pauses and clean-up."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measuring import wait_for
from messages import assert_error, raises

from hindmost import _engine
from hindmost.commands.colocate.supervision.controller import SOON, Controller, Rules
from hindmost.commands.colocate.supervision.group import Group, new_group
from hindmost.commands.colocate.supervision.job import adopt_process, start_job
from hindmost.commands.colocate.supervision.windows import Windows
from hindmost.core.interventions import watchdog
from hindmost.core.interventions.session import start_session
from hindmost.core.knobs.kinds.cgroup import Hierarchy, hierarchy, missing
from hindmost.core.notes import Note
from hindmost.errors import HindmostError, UsageError

MISSING_SUPPORT = missing()
GROUPS = pytest.mark.skipif(
    MISSING_SUPPORT is not None,
    reason=f"control groups are not available: {MISSING_SUPPORT and MISSING_SUPPORT.text}",
)
RULES = Rules(limit_us=1000.0)
QUIET, NEAR, BROKEN = 500.0, 900.0, 1500.0


def test_a_job_is_cut_at_half_the_slow_requests_and_paused_before_the_limit():
    one = Controller(RULES, 8, 8)
    assert not one.react_to_requests(3, 10)
    assert one.react_to_requests(4, 10)
    assert (one.cpu_count, one.why) == (4, Note("budget-used", one.why.text, {"have": 4, "most": 10}))
    assert not one.react_to_requests(5, 10), "only one reaction per window"
    assert one.react_to_requests(8, 10)
    assert (one.cpu_count, one.why.code) == (0, "budget-spent")
    assert not one.react_to_window(NEAR)


def test_a_share_grows_only_after_consecutive_quiet_windows_up_to_the_maximum():
    one = Controller(RULES, 3)
    result = []
    for value in (QUIET, NEAR, QUIET, QUIET, QUIET, QUIET, QUIET, QUIET):
        one.react_to_window(value)
        result.append(one.cpu_count)
    assert result == [1, 1, 1, 2, 2, 3, 3, 3]


def test_a_window_with_a_cut_is_not_quiet():
    one = Controller(RULES, 4, 4)
    one.react_to_window(QUIET)
    one.react_to_requests(4, 10)
    one.react_to_window(QUIET)
    one.react_to_window(QUIET)
    assert one.cpu_count == 2


def windows_until_resumption(one: Controller) -> int:
    for windows in range(1, 100):
        one.react_to_window(QUIET)
        if one.cpu_count:
            return windows
    raise AssertionError("it was never resumed")


def test_only_a_violation_soon_after_a_resumption_doubles_the_wait():
    one = Controller(RULES, 2)
    one.react_to_window(BROKEN)
    assert (one.cpu_count, one.why.code, one.why.values["value"]) == (0, "promise-broken", BROKEN)
    waits = []
    for _ in range(7):
        waits.append(windows_until_resumption(one))
        assert (one.why.code, one.why.values) == ("quiet-windows", {"windows": waits[-1]})
        one.react_to_window(BROKEN)
    assert waits == [1, 2, 4, 8, 16, 32, 32]
    windows_until_resumption(one)
    for _ in range(SOON):
        one.react_to_window(QUIET)
    one.react_to_window(BROKEN)
    assert windows_until_resumption(one) == 1


def test_a_job_resumes_with_half_its_share():
    one = Controller(RULES, 8, 6)
    one.react_to_window(BROKEN)
    windows_until_resumption(one)
    assert one.cpu_count == 3


@given(st.lists(st.tuples(st.integers(0, 20), st.floats(0, 5000)), max_size=200), st.integers(1, 9))
def test_a_job_never_runs_in_the_window_after_a_violation(windows, most):
    one = Controller(RULES, most)
    for slow, value in windows:
        one.react_to_requests(slow, 10)
        one.react_to_window(value)
        assert 0 <= one.cpu_count <= most
        if value > RULES.limit_us:
            assert one.cpu_count == 0


class Probe:
    """A probe with the values of a test."""

    def __init__(self) -> None:
        self.each: list[tuple[int, int]] = []
        self.failed = self.oldest = 0

    def take(self):
        each, failed, self.each, self.failed = self.each, self.failed, [], 0
        return each, failed, self.oldest


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 10_000_000_000

    monkeypatch.setattr(_engine, "monotonic_ns", lambda: Clock.now)
    return Clock


def windows_of(probe: Probe) -> Windows:
    one = Windows(probe, 0.9, 1.0, 100.0, 1000.0)
    one.begin()
    return one


def test_a_request_belongs_to_the_window_of_its_due_time(clock):
    probe = Probe()
    one = windows_of(probe)
    assert one.slow_allowed == 10
    begin = clock.now
    probe.each = [(begin + 10_000_000 * k, 100_000 if k < 85 else 5_000_000) for k in range(100)]
    probe.each += [(begin - 1, 9_000_000), (begin + 1_000_000_001, 2_000_000)]
    clock.now = begin + 1_100_000_000
    assert one.read_probe() == 16
    window = one.close()
    assert (window.requests, window.percentile_us) == (100, 5000.0)
    assert one.read_probe() == 1, "a later due time belongs to the next window"


def test_a_waiting_request_is_slow_before_it_is_answered(clock):
    probe = Probe()
    one = windows_of(probe)
    begin = clock.now
    probe.each = [(begin + 10_000_000 * k, 100_000) for k in range(50)]
    probe.oldest = begin + 500_000_000
    clock.now = begin + 600_500_000
    assert one.read_probe() == 10, "requests due after the oldest wait too, except the last"
    clock.now = begin + 1_000_000_000
    one.read_probe()
    assert one.close().percentile_us > 100_000


def test_windows_without_answers_or_with_failures_are_violations(clock):
    probe = Probe()
    one = windows_of(probe)
    clock.now += 1_000_000_000
    assert one.close().percentile_us == math.inf
    probe.each = [(one.begin_ns + 10_000_000 * k, 100_000) for k in range(80)]
    probe.failed = 20
    assert one.read_probe() == 20
    window = one.close()
    assert (window.failed, window.percentile_us) == (20, math.inf)


LAST_IN_LINE_S = 120.0
"""Timeout for a job of the lowest priority on a busy host."""
BURN = """
import os, time
os.fork()
while True:
    end = time.monotonic() + 0.002
    while time.monotonic() < end:
        pass
    time.sleep(0.008)
"""
"""Two processes that use a fifth of a processor each, whatever waits for them."""


@pytest.fixture
def burner():
    process = subprocess.Popen([sys.executable, "-c", BURN], start_new_session=True)
    # Processor time shows that the fork is done.
    end = time.monotonic() + 20
    while len(children(process.pid)) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    yield process
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def children(pid: int) -> set[int]:
    result = subprocess.run(["pgrep", "-g", str(pid)], capture_output=True, text=True, check=False).stdout
    return {int(part) for part in result.split()}


def groups_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cgroup").read_text()


def cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def is_frozen(group) -> bool:
    """Return whether the kernel has frozen the whole group."""
    if "freezer" in group.places:
        return (group.folder("freezer") / "freezer.state").read_text() == "FROZEN\n"
    return "frozen 1" in (group.folder("cpu") / "cgroup.events").read_text()


def share(group) -> tuple[str, str]:
    """Return the file of the group's lowest share, and its content."""
    folder = group.folder("cpu")
    name = next(one for one in ("cpu.idle", "cpu.weight", "cpu.shares") if (folder / one).exists())
    return name, (folder / name).read_text().strip()


def leftover_groups() -> list[str]:
    return [path.name for path in hierarchy("cpu").top.glob(f"hindmost-job-{os.getpid()}-*")]


@GROUPS
def test_a_running_job_is_paused_and_restored_with_its_descendants(burner, tmp_path):
    pids = children(burner.pid)
    before = {pid: groups_of(pid) for pid in pids}
    with (
        start_session(tmp_path / "j") as session,
        new_group(tmp_path / "j") as group,
        adopt_process(burner.pid, group, session) as job,
    ):
        assert group.members() == pids
        job.allow(0)
        wait_for(lambda: is_frozen(group), "a paused job", LAST_IN_LINE_S)
        paused = {pid: cpu_ticks(pid) for pid in pids}
        time.sleep(0.05)
        assert {pid: cpu_ticks(pid) for pid in pids} == paused
        job.allow(len(job.cpus))
        wait_for(lambda: not is_frozen(group), "a running job", LAST_IN_LINE_S)  # v2 thaws in the background
        wait_for(lambda: job.used_s() > 0, "CPU time of the job", LAST_IN_LINE_S)
    assert {pid: groups_of(pid) for pid in pids} == before
    assert not leftover_groups()
    assert (tmp_path / "j" / "knobs.jsonl").read_text() == ""


@GROUPS
def test_a_job_gets_only_idle_time_of_its_processors(burner, tmp_path):
    pids = children(burner.pid)
    cpu = max(os.sched_getaffinity(0))
    affinities = {pid: os.sched_getaffinity(pid) for pid in pids}
    with (
        start_session(tmp_path / "j") as session,
        new_group(tmp_path / "j") as group,
        adopt_process(burner.pid, group, session) as job,
    ):
        job.allow(1)
        assert share(group) in {("cpu.idle", "1"), ("cpu.weight", "1"), ("cpu.shares", "2")}
        assert {pid: os.sched_getaffinity(pid) for pid in pids} == {pid: {cpu} for pid in pids}
        job.allow(len(job.cpus))
        assert {pid: os.sched_getaffinity(pid) for pid in pids} == affinities
        job.allow(1)
    assert {pid: os.sched_getaffinity(pid) for pid in pids} == affinities


@GROUPS
def test_a_started_job_is_ended_with_its_descendants(tmp_path):
    with (
        start_session(tmp_path / "j") as session,
        new_group(tmp_path / "j") as group,
        start_job([sys.executable, "-c", BURN], group, session) as job,
    ):
        job.allow(len(job.cpus))
        wait_for(lambda: len(group.members()) >= 2, "a job of two processes", LAST_IN_LINE_S)
        pids = group.members()
        assert len(pids) == 2
        assert job.code() is None
        job.allow(0)
    assert not any(alive(pid) for pid in pids)
    assert not leftover_groups()
    with (
        start_session(tmp_path / "j") as session,
        new_group(tmp_path / "j") as group,
        raises(UsageError, "missing-program", name="no-such-program"),
        start_job(["no-such-program"], group, session),
    ):
        pass
    with (
        start_session(tmp_path / "j") as session,
        new_group(tmp_path / "j") as group,
        start_job(["/bin/sh", "-c", "exit 7"], group, session) as job,
    ):
        wait_for(lambda: job.code() is not None, "the end of a job", LAST_IN_LINE_S)
        assert job.code() == 7


def test_settings_changed_by_others_are_reported_and_restored(tmp_path):
    files = {"cpu": ["cpu.idle"], "cpuset": ["cpuset.cpus", "cpuset.mems"], "freezer": ["freezer.state"]}
    places = {name: Hierarchy(tmp_path / name, 1, name) for name in files}
    for name, each in files.items():
        (tmp_path / name / "job").mkdir(parents=True)
        for file in each:
            (tmp_path / name / "job" / file).write_text("0")
    (tmp_path / "cpuset" / "cpuset.mems").write_text("0")
    group = Group("job", places)
    group.prepare([0, 1])
    group.allow([0, 1])
    idle, cpus, state = (
        tmp_path / where / "job" / file
        for where, file in (("cpu", "cpu.idle"), ("cpuset", "cpuset.cpus"), ("freezer", "freezer.state"))
    )
    cpus.write_text("0-1\n")  # the kernel's notation of the same CPUs
    assert group.restore() == []
    idle.write_text("0\n")
    state.write_text("FROZEN\n")
    cpus.write_text("0\n")
    assert sorted(group.restore()) == ["cpu.idle", "cpuset.cpus", "freezer.state"]
    assert (idle.read_text(), state.read_text(), cpus.read_text()) == ("1", "THAWED", "0,1")
    group.allow([])
    state.write_text("FREEZING\n")
    assert group.restore() == []


@GROUPS
def test_a_job_ends_with_its_last_daemon_and_fails_on_a_signal(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with (
        start_session(tmp_path / "j") as session,
        new_group(tmp_path / "j") as group,
        start_job(["/bin/sh", "-c", f"setsid cat {pipe} & exit 3"], group, session) as job,
    ):
        wait_for(lambda: not alive(job.pid) or job._top_code() == 3, "the end of the top", LAST_IN_LINE_S)
        assert job.code() is None
        pipe.write_text("end")
        wait_for(lambda: job.code() is not None, "the end of the daemon", LAST_IN_LINE_S)
        assert job.code() == 3
    with (
        start_session(tmp_path / "j") as session,
        new_group(tmp_path / "j") as group,
        start_job(["/bin/sh", "-c", "kill -HUP $$"], group, session) as job,
    ):
        wait_for(lambda: job.code() is not None, "the end of a job", LAST_IN_LINE_S)
        assert job.code() == 128 + signal.SIGHUP


KILLED = """
import os, signal, sys, time
from pathlib import Path
from hindmost.core.interventions.session import start_session
from hindmost.commands.colocate.supervision import job as jobs
from hindmost.commands.colocate.supervision.group import Group, new_group
what, point = sys.argv[1], sys.argv[2]

def now(name):
    if name == point:
        print("now", flush=True)
        time.sleep(60)

move_in = Group.move_in
def watch_interrupted(self, pid):
    now("made")
    move_in(self, pid)
    now("moved")
Group.move_in = watch_interrupted
journal = Path(sys.argv[3])
with start_session(journal) as session, new_group(journal) as group:
    now("promised")
    place = jobs.adopt_process(int(what), group, session) if what.isdecimal() else jobs.start_job([what, "60"], group, session)
    with place as job:
        job.allow(1)
        now("cut")
        job.allow(0)
        now("paused")
"""


@GROUPS
@pytest.mark.parametrize(
    ("what", "point"),
    [
        ("sleep", "made"),
        ("sleep", "paused"),
        ("running", "moved"),
        ("running", "paused"),
        *(
            pytest.param(what, point, marks=pytest.mark.nightly)
            for what, points in (
                ("sleep", ("promised", "moved", "cut")),
                ("running", ("promised", "made", "cut")),
            )
            for point in points
        ),
    ],
)
def test_a_killed_supervisor_leaves_the_host_unchanged(burner, tmp_path, what, point):
    pids = children(burner.pid)
    before = {pid: groups_of(pid) for pid in pids}
    words = ["sleep" if what == "sleep" else str(burner.pid), point, str(tmp_path / "j")]
    victim = subprocess.Popen([sys.executable, "-P", "-c", KILLED, *words], stdout=subprocess.PIPE)
    assert victim.stdout is not None
    assert victim.stdout.readline() == b"now\n"
    started = children_of(victim.pid)
    victim.kill()
    victim.wait()
    victim.stdout.close()
    journal = tmp_path / "j" / "knobs.jsonl"
    end = time.monotonic() + LAST_IN_LINE_S
    while (journal.read_text() or any(alive(pid) for pid in started)) and time.monotonic() < end:
        time.sleep(0.02)
    assert journal.read_text() == ""
    assert {pid: groups_of(pid) for pid in pids} == before
    assert not list(hierarchy("cpu").top.glob(f"hindmost-job-{victim.pid}-*"))
    assert not any(alive(pid) for pid in started)
    now = {pid: cpu_ticks(pid) for pid in pids}
    wait_for(lambda: {pid: cpu_ticks(pid) for pid in pids} != now, "the running job goes on", LAST_IN_LINE_S)


def test_the_watchdog_retries_until_a_busy_group_is_removed(monkeypatch):
    class Engine:
        EngineError = OSError
        tries = 0

        def recover_knobs(self, journal):
            self.tries += 1
            if self.tries < 3:  # the group still has a process
                raise OSError

        def left_knobs(self, journal):
            return json.dumps([{"pid": 1}, *([{"pid": 7}] if self.tries < 4 else [])])

    monkeypatch.setattr(watchdog, "PAUSE_S", 0.001)
    engine = Engine()
    watchdog._clean_up(engine, "journal", 7)
    assert engine.tries == 4, "no retries for the entry of another owner"


def test_groups_of_a_live_owner_are_kept(tmp_path, monkeypatch):
    journal, owner = str(tmp_path / "j"), os.getppid()
    _engine.promise_steps("ours", "[]", "there", "something", journal, owner)
    monkeypatch.setattr(watchdog, "OWNER_ALIVE_S", 0.05)
    monkeypatch.setattr(watchdog, "PATIENCE_S", math.inf)
    watchdog._clean_up(_engine, journal, owner)
    assert [load["pid"] for load in json.loads(_engine.left_knobs(journal))] == [owner]


def children_of(pid: int) -> set[int]:
    """Return all children except the watchdog."""
    result = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout
    return {int(part) for part in result.split()}


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@GROUPS
def test_a_supervisor_that_is_paused_too_long_loses_its_job(burner, tmp_path):
    pids = children(burner.pid)
    before = {pid: groups_of(pid) for pid in pids}
    with (
        start_session(tmp_path / "j") as session,
        new_group(tmp_path / "j") as group,
        adopt_process(burner.pid, group, session) as job,
        session.lease(f"job {job.name}", 0.2) as renew,
    ):
        job.allow(0)
        end = time.monotonic() + 20
        while {pid: groups_of(pid) for pid in pids} != before and time.monotonic() < end:
            time.sleep(0.02)
        assert {pid: groups_of(pid) for pid in pids} == before
        with pytest.raises(HindmostError) as lost:
            renew()
    assert_error(lost.value, "lease-expired")
