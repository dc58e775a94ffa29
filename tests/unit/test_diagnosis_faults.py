"""Faults during a diagnosis: processes end, suspects vanish, and files may not be changed."""

import math
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from messages import raises
from test_diagnosis_procedure import NORMAL_US, FakeSuspect, World

from hindmost.commands.diagnose import neighbours, procedure
from hindmost.commands.diagnose.answer import document_of
from hindmost.commands.diagnose.metrics import SIGNATURE_METRICS, MetricRates
from hindmost.commands.diagnose.neighbours import find_neighbours, has_thread
from hindmost.commands.diagnose.procedure import DiagnosisRequest
from hindmost.commands.diagnose.suspects import Suspects, find_suspects
from hindmost.commands.diagnose.view import view
from hindmost.commands.watch.application import Application
from hindmost.commands.watch.latency import LatencySource, latency_from
from hindmost.core.interventions.changes import SuspectGone
from hindmost.core.interventions.policy import Policy
from hindmost.core.interventions.session import start_session
from hindmost.core.targets import ManagedServer, preset
from hindmost.errors import TargetError
from hindmost.present.terminal import render_terminal
from hindmost.stats.causes import Normal


@pytest.fixture
def session(tmp_path):
    with start_session(tmp_path / "j") as session:
        yield session


def make_request(**more):
    return DiagnosisRequest(
        Application("x", 1), LatencySource({}, ""), Policy(), normal_us=NORMAL_US, pairs=10, **more
    )


def test_a_vanished_suspect_is_left_out_with_a_reason(session):
    class Vanishing(FakeSuspect):
        remaining = 4

        def remove(self) -> None:
            self.remaining -= 1
            if self.remaining < 0:
                raise SuspectGone("no-such-file", "its quota is gone", path="/batch/cpu.max")
            super().remove()

    world = World({"hog": 4.0, "batch": 1.0})
    suspects = Suspects({"hog": FakeSuspect(world, "hog"), "batch": Vanishing(world, "batch")})
    result = procedure.run_experiments(make_request(), session, world, suspects, lambda _: None)
    assert (result.decision.ruling, result.decision.leader) == ("cause", "hog")
    assert "batch" not in result.measured
    document = document_of(result)
    assert document.why_note.code == "cause-shown"
    (note,) = document.not_tried_notes.values()
    assert (note.code, note.values) == ("no-such-file", {"path": "/batch/cpu.max"})
    assert document.not_tried == {"batch": "its quota is gone"}
    assert "batch: its quota is gone" in render_terminal(view(document))


def test_a_server_that_ends_is_reported_and_everything_is_undone(tmp_path, monkeypatch):
    monkeypatch.setattr("hindmost.commands.diagnose.windows.PATIENCE_S", 0.2)
    monkeypatch.setattr(procedure, "find_suspects", lambda *_, **__: Suspects({"x": Ending()}))

    class Ending:
        name = description = "x"
        undo = ({"do": "run", "command": ["touch", f"{tmp_path}/back"]},)

        def remove(self) -> None:
            server.stop(patiently=False)

        def give_back(self) -> None:
            (tmp_path / "back").write_text("back")

        def is_gone(self) -> bool:
            return True

    with ManagedServer(preset("synth")) as server:
        source = latency_from(Application("x", server.pid, None, server.address, "memcached"), probe="500/s")
        assert source is not None
        request = DiagnosisRequest(
            Application("x", server.pid), source, Policy(), pairs=6, window_s=0.05, journal=tmp_path / "j"
        )
        with raises(TargetError, "no-answers", window_s=0.05):
            procedure.diagnose(request)
    assert (tmp_path / "back").read_text().strip() == "back"
    assert (tmp_path / "j" / "knobs.jsonl").read_text() == ""


def test_metrics_of_a_process_that_ended_are_refused():
    with subprocess.Popen(["true"]) as process:
        process.wait()
    with raises(TargetError, "no-such-process", pid=process.pid):
        MetricRates(process.pid)


def wait_until(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def stat_fields(pid):
    head, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    return [head.partition("(")[2], *rest.split()]


def cpu_time_ns(pid):
    """Return the CPU time so far, ns."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def test_metrics_are_rates_per_second():
    spin = "import time\nwhile True:\n e = time.monotonic() + .005\n while time.monotonic() < e: pass\n time.sleep(.005)"
    with subprocess.Popen([sys.executable, "-c", spin]) as busy, subprocess.Popen(["sleep", "60"]) as idle:
        try:
            wait_until(lambda: stat_fields(idle.pid)[:2] == ["sleep", "S"])
            rates = [MetricRates(busy.pid), MetricRates(idle.pid)]
            before = cpu_time_ns(busy.pid)
            wait_until(lambda: cpu_time_ns(busy.pid) > before + 50_000_000)
            works, sleeps = (dict(zip(SIGNATURE_METRICS, rate.end(), strict=True)) for rate in rates)
            assert works["app.run_us"] > 0 == sleeps["app.run_us"]
            assert works["app.switches"] > sleeps["app.switches"]
        finally:
            busy.kill()
            idle.kill()


def test_an_unwritable_file_is_left_out_with_a_reason(monkeypatch, tmp_path):
    """A process of a made-up cgroup with a quota."""
    group = tmp_path / "batch"
    group.mkdir()
    (group / "cpu.max").write_text("20000 100000\n")
    monkeypatch.setattr("hindmost.commands.diagnose.suspects.groups", lambda *_: [(group, True)])
    monkeypatch.setattr("hindmost.commands.diagnose.suspects.find_neighbours", lambda *_: [])
    offered = find_suspects(os.getpid(), Policy())
    assert "quota of batch" in offered.tried
    monkeypatch.setattr("hindmost.commands.diagnose.suspects.os.access", lambda *_: False)
    denied = find_suspects(os.getpid(), Policy())
    assert "quota of batch" not in denied.tried
    note = denied.left_out["quota of batch"]
    assert (note.code, note.values) == ("needs-root", {"path": str(group / "cpu.max")})


def test_a_policy_that_forbids_everything_leaves_out_all_suspects(monkeypatch, tmp_path):
    group = tmp_path / "batch"
    group.mkdir()
    (group / "cpu.max").write_text("20000 100000\n")
    monkeypatch.setattr("hindmost.commands.diagnose.suspects.groups", lambda *_: [(group, True)])
    monkeypatch.setattr("hindmost.commands.diagnose.suspects.find_neighbours", lambda *_: [])
    result = find_suspects(os.getpid(), Policy(may=[]))
    assert result.tried == {}
    note = result.left_out["quota of batch"]
    assert (note.code, note.values) == ("policy-forbids", {"touch": "quota"})


class TracingWorld(World):
    """Counts the windows in which each suspect was removed."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.removed: dict[str, int] = dict.fromkeys(self.factors, 0)

    def measure(self, watch=None) -> float:
        for name in set(self.factors) - self.present:
            self.removed[name] += 1
        return super().measure()


def test_a_traced_suspect_is_tried_first_and_others_only_if_it_is_not_the_cause(session):
    for factors, expected in (
        ({"hog": 4.0, "other": 1.0}, {"hog"}),
        ({"hog": 1.0, "other": 4.0}, {"hog", "other"}),
    ):
        world = TracingWorld(dict(factors))
        suspects = Suspects({name: FakeSuspect(world, name) for name in factors}, first=["hog"])
        result = procedure.run_experiments(
            make_request(first=("hog",)), session, world, suspects, lambda _: None
        )
        assert result.decision.leader == max(factors, key=lambda name: factors[name])
        assert {name for name, count in world.removed.items() if count} == expected
        left_out = {name: note.code for name, note in result.suspects.left_out.items()}
        assert left_out == ({"other": "not-needed"} if expected == {"hog"} else {})


def test_a_traced_thread_makes_its_program_a_suspect_at_any_cpu_usage(monkeypatch):
    with subprocess.Popen(["sleep", "60"]) as idle:
        try:
            # exec closes the pipe that Popen waits for before the process has its new name
            wait_until(lambda: has_thread([idle.pid], {"sleep"}))
            assert not has_thread([idle.pid], {"sleeper"})
            monkeypatch.setattr(neighbours, "busy_processes", lambda: [(0.0, idle.pid, "sleep")])
            assert find_neighbours([], lambda _: None) == []
            (neighbour,) = find_neighbours([], lambda _: None, ("sleep",))
            assert idle.pid in neighbour.pids
        finally:
            idle.kill()


def test_a_suspect_that_does_not_restore_the_metrics_is_not_the_cause(session):
    class MetricWorld(World):
        """Metrics follow `driver` only, whatever changes the latency."""

        metrics: object = None

        def measure(self, watch=None) -> float:
            level = 50_000.0 if "driver" in self.present else 100.0
            noise = np.exp(np.random.default_rng(self.count).normal(0, 0.05, len(SIGNATURE_METRICS)))
            self.count += 1
            self.metrics = np.where(np.arange(len(SIGNATURE_METRICS)) == 1, level, 1_000.0) * noise
            return super().measure()

    rows = 1_000.0 * np.exp(np.random.default_rng(1).normal(0, 0.05, (20, len(SIGNATURE_METRICS))))
    rows[:, 1] /= 10
    for suspect, ruling in (("driver", "cause"), ("valve", "unknown factor")):
        world = MetricWorld({"driver": 1.0, "valve": 1.0} | {suspect: 4.0})
        suspects = Suspects({suspect: FakeSuspect(world, suspect)})
        request = make_request(normal_metrics=Normal(SIGNATURE_METRICS, rows))
        result = procedure.run_experiments(request, session, world, suspects, lambda _: None)
        assert (result.decision.ruling, result.signatures[suspect].fits) == (ruling, ruling == "cause")
    document = document_of(result)
    assert document.suspects[0].state == "other signature"
    assert document.suspects[0].signature.stays[0].name == "app.run_delay_us"
    assert math.isclose(document.suspects[0].signature.stays[0].left, 1.0, abs_tol=0.1)
    assert document.why_note.code == "no-cause-shown"
    assert "app.run_delay_us" in render_terminal(view(document))
