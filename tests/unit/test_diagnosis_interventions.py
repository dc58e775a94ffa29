"""Interventions by priority, cgroup and link; which neighbours are found; and windows of a probe."""

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

from hindmost.commands.diagnose import neighbours
from hindmost.commands.diagnose.neighbours import MOST, find_neighbours
from hindmost.commands.diagnose.relations import find_related
from hindmost.commands.diagnose.windows import Windows
from hindmost.commands.watch import probe
from hindmost.commands.watch.latency import LatencySource
from hindmost.core.interventions.changes import SuspectGone
from hindmost.core.interventions.freezer import Freeze, freezer_of, members
from hindmost.core.interventions.idle import make_idle
from hindmost.errors import TargetError

FREEZER = Path("/sys/fs/cgroup/freezer")


@pytest.fixture
def sleeping_process():
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


def test_an_idle_neighbour_gets_its_scheduling_policy_back(sleeping_process):
    idle = make_idle("x", "y", [sleeping_process.pid])
    idle.remove()
    assert idle.is_gone()
    idle.give_back()
    assert os.sched_getscheduler(sleeping_process.pid) == os.SCHED_OTHER
    idle.remove()
    undo(idle)
    assert os.sched_getscheduler(sleeping_process.pid) == os.SCHED_OTHER
    sleeping_process.kill()
    sleeping_process.wait()
    with pytest.raises(SuspectGone):
        idle.remove()


@pytest.mark.skipif(
    not os.access(FREEZER / "cgroup.procs", os.W_OK), reason="no writable freezer of cgroup v1"
)
def test_a_cgroup_is_frozen_and_thawed(sleeping_process):
    group = FREEZER / f"test-{os.getpid()}"
    group.mkdir()
    try:
        (group / "cgroup.procs").write_text(f"{sleeping_process.pid}")
        result = freezer_of(sleeping_process.pid)
        assert result == (f"/{group.name}", group / "freezer.state")
        assert members(result[1]) == {sleeping_process.pid}
        freeze = Freeze(*result)
        freeze.remove()
        assert freeze.is_gone()
        undo(freeze)
        assert not freeze.is_gone()
    finally:
        (group / "freezer.state").write_text("THAWED")
        sleeping_process.kill()
        sleeping_process.wait()
        end = time.monotonic() + 10
        while members(group / "freezer.state") and time.monotonic() < end:
            time.sleep(0.01)
        group.rmdir()
    with pytest.raises(SuspectGone):
        freeze.remove()


SHAPED = """
import subprocess
from undoing import undo
from hindmost.core.interventions.links import links
subprocess.run("ip link set lo up".split(), check=True)
subprocess.run("tc qdisc add dev lo root tbf rate 20mbit burst 32kb limit 200kb".split(), check=True)
(link,) = links()
link.remove()
assert link.is_gone()
undo(link)
(restored,) = links()
assert abs(restored.rate - link.rate) <= 1, (restored, link)
assert abs(restored.limit - link.limit) < 0.1 * link.limit, (restored, link)
print("restored")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can create a network namespace")
@pytest.mark.skipif(
    not (shutil.which("ip") and shutil.which("tc")), reason="ip and tc (iproute2) are not installed"
)
def test_a_shaped_link_is_widened_and_restored():
    command = ["unshare", "--net", sys.executable, "-P", "-c", SHAPED]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "shared")}
    process = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=env)
    assert process.stdout == "restored\n", process.stderr


BUSY = (
    "import socket, sys\nlink = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\nwhile True: pass\n"
)


def test_a_busy_client_is_marked_as_a_client():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        child = subprocess.Popen([sys.executable, "-c", BUSY, port])
        connection = listener.accept()[0]
        try:
            assert child.pid in find_related([os.getpid()]).clients
            # On a busy host the child may get little CPU time at first.
            end = time.monotonic() + 30
            result: dict[int, bool] = {}
            while child.pid not in result and time.monotonic() < end:
                result = {
                    neighbour.pids[0]: neighbour.client
                    for neighbour in find_neighbours([os.getpid()], lambda _: None)
                }
            assert result[child.pid]
            assert os.getpid() not in result
        finally:
            child.kill()
            child.wait()
            connection.close()


def test_a_neighbour_named_by_the_policy_is_found_among_busier_ones(monkeypatch):
    """A compiler has more processes than places in the list, each busier than the named neighbour."""
    processes = [subprocess.Popen(["sleep", "60"]) for _ in range(2 * MOST + 1)]
    try:
        names = ["rustc"] * (2 * MOST) + ["batch"]
        shares = [(0.9 - 0.1 * at, process.pid, names[at]) for at, process in enumerate(processes)]
        monkeypatch.setattr(neighbours, "busy_processes", lambda: shares)
        result = find_neighbours([os.getpid()], lambda comm: None if comm == "batch" else "spared")
        assert [neighbour.comm for neighbour in result] == ["rustc"] * MOST + ["batch"]
        assert result[-1].pids == [processes[-1].pid]
        assert len(find_neighbours([os.getpid()], lambda _: None)) == MOST
    finally:
        for process in processes:
            process.kill()
            process.wait()


class Clock:
    """A clock that advances only during sleeps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_ns = 10**12
        time_ = SimpleNamespace(sleep=self.sleep, monotonic=lambda: self.now_ns / 1e9)
        engine = SimpleNamespace(monotonic_ns=lambda: self.now_ns)
        monkeypatch.setattr("hindmost.commands.diagnose.windows.time", time_)
        monkeypatch.setattr("hindmost.commands.diagnose.windows._engine", engine)

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(1e9 * seconds)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


class StalledProbe:
    """A probe whose server has stopped answering: all requests wait behind an old one."""

    def take(self):
        return [], 0, 1


def test_a_stall_from_before_the_window_counts_as_slow(clock):
    windows = Windows(StalledProbe(), 0.95, 0.02, 0.0)
    # The latency is the whole window plus the patience after it.
    assert windows.measure() == pytest.approx(2_020_000, rel=0.01)
    assert (windows.count, windows.unanswered) == (1, 1)


class SteadyProbe:
    """A probe whose server takes the set latency for every request."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self.latency_us = clock, 0

    def take(self):
        return [(self.clock.now_ns - 1_000_000, 1_000 * self.latency_us)], 0, 0


class DrainingProbe:
    """A probe whose server empties a queue; requests are slow until the queue is empty."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self.queued = clock, 5

    def take(self):
        self.queued = max(0, self.queued - 1)
        latency_ns = 500_000_000 if self.queued else 1_000_000
        # Requests of long ago are outstanding until the queue is empty.
        scheduled = [(self.clock.now_ns - 1_000_000 * age, latency_ns) for age in range(2_000)]
        return scheduled, 0, int(self.queued > 0)


def test_a_window_begins_after_the_queue_is_empty(clock):
    probe = DrainingProbe(clock)
    windows = Windows(probe, 0.95, 0.05, 0.0)
    assert windows.measure() == pytest.approx(1000.0)
    assert (windows.count, windows.unanswered) == (1, 0)
    assert probe.queued == 0


class OverlappingProbe:
    """A probe that reports requests from before, in and after the window at once; none is outstanding."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def take(self):
        now = self.clock.now_ns
        inside = [(now - 10_000_000, 1_000_000)] * 10
        return [(now - 10**10, 500_000_000), *inside, (now + 10**10, 500_000_000)], 0, 0


def test_only_requests_of_the_window_count(clock):
    begin_ns = clock.now_ns
    assert Windows(OverlappingProbe(clock), 0.99, 0.05, 0.0).measure() == pytest.approx(1000.0)
    assert clock.now_ns - begin_ns == pytest.approx(50_000_000)


def test_an_unanswered_window_counts_as_slow_and_several_are_an_error(clock):
    probe = SteadyProbe(clock)
    probe.latency_us = 300
    windows = Windows(probe, 0.95, 0.05, 0.0)
    windows.measure()
    probe.take = lambda: ([], 3, 0)
    assert [windows.measure(), windows.measure()] == pytest.approx([2_050_000.0] * 2)
    assert (windows.count, windows.unanswered) == (3, 2)
    with raises(TargetError, "no-answers", window_s=0.05):
        windows.measure()


def test_an_unanswered_first_window_is_an_error(clock):
    class SilentProbe:
        def take(self):
            return [], 3, 0

    with raises(TargetError, "no-answers", window_s=0.05):
        Windows(SilentProbe(), 0.95, 0.05, 0.0).measure()


@pytest.mark.parametrize(
    ("took_ms", "requested", "rate"),
    [(1.0, 200.0, 200.0), (10.0, 200.0, 30.0), (100.0, 200.0, 20.0), (9.0, 5.0, 5.0)],
)
def test_the_rate_of_a_probe_is_limited_by_its_latency(monkeypatch, took_ms, requested, rate):
    probed_rates = []

    @contextmanager
    def start_probe(latency):
        probed_rates.append(latency.document["probe"]["rate"])
        yield SimpleNamespace(take=lambda: ([(0, int(1e6 * took_ms))] * 20, 0, 0))

    monkeypatch.setattr(probe, "start_probe", start_probe)
    monkeypatch.setattr(probe, "time", SimpleNamespace(sleep=lambda _: None))
    source = LatencySource({"probe": {"rate": requested, "address": "127.0.0.1:1"}}, "a probe")
    assert probe.limit_probe_rate(source).document["probe"]["rate"] == pytest.approx(rate)
    assert source.document["probe"]["rate"] == requested
    assert probed_rates == ([] if requested <= probe.LEAST_PER_S else [probe.LEAST_PER_S])
