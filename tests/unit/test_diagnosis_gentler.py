"""Interventions by priority, cgroup and link, and who is found beside an application."""

import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from messages import raises
from undoing import undo

from hindmost.errors import TargetError
from hindmost.interventions import probe
from hindmost.interventions.changes import SuspectGone
from hindmost.interventions.freezer import Freeze, freezer_of, members
from hindmost.interventions.idle import make_idle
from hindmost.studies.diagnosis import neighbours
from hindmost.studies.diagnosis.neighbours import MOST, find_neighbours
from hindmost.studies.diagnosis.relations import find_related
from hindmost.studies.diagnosis.windows import Windows
from hindmost.watch import LatencySource

FREEZER = Path("/sys/fs/cgroup/freezer")


@pytest.fixture
def sleeper():
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


def test_a_neighbour_that_yields_comes_back_to_its_policy_by_its_undo_too(sleeper):
    one = make_idle("x", "y", [sleeper.pid])
    one.remove()
    assert one.is_gone()
    one.give_back()
    assert os.sched_getscheduler(sleeper.pid) == os.SCHED_OTHER
    one.remove()
    undo(one)
    assert os.sched_getscheduler(sleeper.pid) == os.SCHED_OTHER
    sleeper.kill()
    sleeper.wait()
    with pytest.raises(SuspectGone):
        one.remove()


@pytest.mark.skipif(
    not os.access(FREEZER / "cgroup.procs", os.W_OK), reason="no freezer of cgroup v1, or not root"
)
def test_a_cgroup_is_frozen_as_one_and_thawed_by_its_undo_too(sleeper):
    group = FREEZER / f"test-{os.getpid()}"
    group.mkdir()
    try:
        (group / "cgroup.procs").write_text(f"{sleeper.pid}")
        found = freezer_of(sleeper.pid)
        assert found == (f"/{group.name}", group / "freezer.state")
        assert members(found[1]) == {sleeper.pid}
        one = Freeze(*found)
        one.remove()
        assert one.is_gone()
        undo(one)
        assert not one.is_gone()
    finally:
        (group / "freezer.state").write_text("THAWED")
        sleeper.kill()
        sleeper.wait()
        end = time.monotonic() + 10
        while members(group / "freezer.state") and time.monotonic() < end:
            time.sleep(0.01)
        group.rmdir()
    with pytest.raises(SuspectGone):
        one.remove()


SHAPED = """
import subprocess
from undoing import undo
from hindmost.interventions.links import links
subprocess.run("ip link set lo up".split(), check=True)
subprocess.run("tc qdisc add dev lo root tbf rate 20mbit burst 32kb limit 200kb".split(), check=True)
(link,) = links()
link.remove()
assert link.is_gone()
undo(link)
(again,) = links()
assert abs(again.rate - link.rate) <= 1, (again, link)
assert abs(again.limit - link.limit) < 0.1 * link.limit, (again, link)
print("restored")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="a network of its own needs root")
@pytest.mark.skipif(not (shutil.which("ip") and shutil.which("tc")), reason="no ip and tc here: iproute2")
def test_a_shaped_link_is_widened_and_narrowed_again_by_its_undo():
    words = ["unshare", "--net", sys.executable, "-P", "-c", SHAPED]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "shared")}
    told = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env=env)
    assert told.stdout == "restored\n", told.stderr


BUSY = (
    "import socket, sys\nlink = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\nwhile True: pass\n"
)


def test_a_busy_client_is_told_from_a_neighbour_and_the_application_spared():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = str(listening.getsockname()[1])
        child = subprocess.Popen([sys.executable, "-c", BUSY, port])
        taken = listening.accept()[0]
        try:
            assert child.pid in find_related([os.getpid()]).clients
            # A processor that is shared with other tests may leave it little at first.
            end = time.monotonic() + 30
            found: dict[int, bool] = {}
            while child.pid not in found and time.monotonic() < end:
                found = {one.pids[0]: one.client for one in find_neighbours([os.getpid()], lambda _: None)}
            assert found[child.pid]
            assert os.getpid() not in found
        finally:
            child.kill()
            child.wait()
            taken.close()


def test_those_that_a_policy_spares_leave_room_for_the_one_that_it_names(monkeypatch):
    """A compiler at work has more processes than places, each greedier than the neighbour in question."""
    processes = [subprocess.Popen(["sleep", "60"]) for _ in range(2 * MOST + 1)]
    try:
        names = ["rustc"] * (2 * MOST) + ["batch"]
        shares = [(0.9 - 0.1 * at, one.pid, names[at]) for at, one in enumerate(processes)]
        monkeypatch.setattr(neighbours, "busy_processes", lambda: shares)
        found = find_neighbours([os.getpid()], lambda comm: None if comm == "batch" else "spared")
        assert [one.comm for one in found] == ["rustc"] * MOST + ["batch"]
        assert [one.pids for one in found][-1] == [processes[-1].pid]
        assert len(find_neighbours([os.getpid()], lambda _: None)) == MOST
    finally:
        for one in processes:
            one.kill()
            one.wait()


class Clock:
    """Time that passes only while somebody sleeps, by as much."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_ns = 10**12
        time_ = SimpleNamespace(sleep=self.sleep, monotonic=lambda: self.now_ns / 1e9)
        engine = SimpleNamespace(monotonic_ns=lambda: self.now_ns)
        monkeypatch.setattr("hindmost.studies.diagnosis.windows.time", time_)
        monkeypatch.setattr("hindmost.studies.diagnosis.windows._engine", engine)

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(1e9 * seconds)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


class Stalled:
    """A probe whose server answers nothing any more: all waits behind what was due long ago."""

    def take(self):
        return [], 0, 1


def test_a_stall_that_began_before_the_window_is_slow_not_unknown(clock):
    windows = Windows(Stalled(), 0.95, 0.02, 0.0)
    # All of the window, and of the patience after it.
    assert windows.measure() == pytest.approx(2_020_000, rel=0.01)
    assert (windows.count, windows.unanswered) == (1, 1)


class Steady:
    """A probe whose server takes as long for each request as is said."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self.latency_us = clock, 0

    def take(self):
        return [(self.clock.now_ns - 1_000_000, 1_000 * self.latency_us)], 0, 0


class Draining:
    """A probe whose server works off a queue: what is due until that is empty is slow."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self.left = clock, 5

    def take(self):
        self.left = max(0, self.left - 1)
        latency_ns = 500_000_000 if self.left else 1_000_000
        # What was due long ago is still out until the queue is empty.
        scheduled = [(self.clock.now_ns - 1_000_000 * one, latency_ns) for one in range(2_000)]
        return scheduled, 0, int(self.left > 0)


def test_what_queued_before_a_change_is_let_out_before_the_window_begins(clock):
    probe = Draining(clock)
    windows = Windows(probe, 0.95, 0.05, 0.0)
    assert windows.measure() == pytest.approx(1000.0)
    assert (windows.count, windows.unanswered) == (1, 0)
    assert probe.left == 0


class Overlapping:
    """A probe that reports at once what was due before the window, in it, and after it; nothing is out."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def take(self):
        now = self.clock.now_ns
        inside = [(now - 10_000_000, 1_000_000)] * 10
        return [(now - 10**10, 500_000_000), *inside, (now + 10**10, 500_000_000)], 0, 0


def test_only_what_was_due_in_the_window_counts_and_an_empty_queue_is_not_waited_for(clock):
    begin_ns = clock.now_ns
    assert Windows(Overlapping(clock), 0.99, 0.05, 0.0).measure() == pytest.approx(1000.0)
    assert clock.now_ns - begin_ns == pytest.approx(50_000_000)


def test_a_window_without_any_answer_after_others_is_slow_and_several_are_an_error(clock):
    probe = Steady(clock)
    probe.latency_us = 300
    windows = Windows(probe, 0.95, 0.05, 0.0)
    windows.measure()
    probe.take = lambda: ([], 3, 0)
    assert [windows.measure(), windows.measure()] == pytest.approx([2_050_000.0] * 2)
    assert (windows.count, windows.unanswered) == (3, 2)
    with raises(TargetError, "no-answers", window_s=0.05):
        windows.measure()


def test_a_window_without_any_answer_is_an_error(clock):
    class Silent:
        def take(self):
            return [], 3, 0

    with raises(TargetError, "no-answers", window_s=0.05):
        Windows(Silent(), 0.95, 0.05, 0.0).measure()


@pytest.mark.parametrize(
    ("took_ms", "asked", "rate"),
    [(1.0, 200.0, 200.0), (10.0, 200.0, 30.0), (100.0, 200.0, 20.0), (9.0, 5.0, 5.0)],
)
def test_a_probe_asks_no_more_than_it_can_wait_for(monkeypatch, took_ms, asked, rate):
    looked_at = []

    @contextmanager
    def start_probe(latency):
        looked_at.append(latency.document["probe"]["rate"])
        yield SimpleNamespace(take=lambda: ([(0, int(1e6 * took_ms))] * 20, 0, 0))

    monkeypatch.setattr(probe, "start_probe", start_probe)
    monkeypatch.setattr(probe, "time", SimpleNamespace(sleep=lambda _: None))
    source = LatencySource({"probe": {"rate": asked, "address": "127.0.0.1:1"}}, "a probe")
    assert probe.limit_probe_rate(source).document["probe"]["rate"] == pytest.approx(rate)
    assert source.document["probe"]["rate"] == asked
    assert looked_at == ([] if asked <= probe.LEAST_PER_S else [probe.LEAST_PER_S])
