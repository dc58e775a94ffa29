"""What goes wrong in the middle of a diagnosis: who ends, what vanishes, what may not be touched."""

import math
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from messages import raises
from test_diagnosis_procedure import NORMAL_US, Thing, World

from hindmost.errors import TargetError
from hindmost.interventions.changes import SuspectGone
from hindmost.interventions.session import start_session
from hindmost.report.diagnosis.terminal import render_diagnosis
from hindmost.stats.causes import Normal
from hindmost.studies.diagnosis import neighbours, procedure
from hindmost.studies.diagnosis.document import document_of
from hindmost.studies.diagnosis.metrics import SIGNATURE_METRICS, MetricRates
from hindmost.studies.diagnosis.neighbours import find_neighbours, has_thread
from hindmost.studies.diagnosis.policy import Policy
from hindmost.studies.diagnosis.procedure import DiagnosisRequest
from hindmost.studies.diagnosis.suspects import Suspects, find_suspects
from hindmost.targets import ManagedServer, preset
from hindmost.watch import Application, LatencySource, latency_from


@pytest.fixture
def session(tmp_path):
    with start_session(tmp_path / "j") as session:
        yield session


def asked(**more):
    return DiagnosisRequest(
        Application("x", 1), LatencySource({}, ""), Policy(), normal_us=NORMAL_US, pairs=10, **more
    )


def test_a_suspect_that_vanishes_is_left_out_with_the_reason_and_the_others_go_on(session):
    class Vanishing(Thing):
        left = 4

        def remove(self) -> None:
            self.left -= 1
            if self.left < 0:
                raise SuspectGone("no-such-file", "its quota is gone", path="/batch/cpu.max")
            super().remove()

    world = World({"hog": 4.0, "batch": 1.0})
    suspects = Suspects({"hog": Thing(world, "hog"), "batch": Vanishing(world, "batch")})
    found = procedure.run_experiments(asked(), session, world, suspects, lambda _: None)
    assert (found.decision.ruling, found.decision.leader) == ("cause", "hog")
    assert "batch" not in found.measured
    document = document_of(found)
    assert document["why_note"]["code"] == "cause-shown"
    (note,) = document["not_tried_notes"].values()
    assert (note["code"], note["values"]) == ("no-such-file", {"path": "/batch/cpu.max"})
    assert document["not_tried"] == {"batch": "its quota is gone"}
    assert "batch: its quota is gone" in render_diagnosis(document)


def test_a_server_that_ends_in_the_middle_is_reported_and_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("hindmost.studies.diagnosis.windows.PATIENCE_S", 0.2)
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


def wait_until(seen, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not seen():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def fields(pid):
    head, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    return [head.partition("(")[2], *rest.split()]


def ran(pid):
    """CPU time in ns, up to now."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def test_metrics_are_what_the_application_does_a_second():
    spin = "import time\nwhile True:\n e = time.monotonic() + .005\n while time.monotonic() < e: pass\n time.sleep(.005)"
    with subprocess.Popen([sys.executable, "-c", spin]) as busy, subprocess.Popen(["sleep", "60"]) as idle:
        try:
            wait_until(lambda: fields(idle.pid)[:2] == ["sleep", "S"])
            both = [MetricRates(busy.pid), MetricRates(idle.pid)]
            before = ran(busy.pid)
            wait_until(lambda: ran(busy.pid) > before + 50_000_000)
            works, sleeps = (dict(zip(SIGNATURE_METRICS, one.end(), strict=True)) for one in both)
            assert works["app.run_us"] > 0 == sleeps["app.run_us"]
            assert works["app.switches"] > sleeps["app.switches"]
        finally:
            busy.kill()
            idle.kill()


def test_a_file_that_may_not_be_written_is_left_out_with_the_reason(monkeypatch, tmp_path):
    """By a quota that is there for a process of a made-up cgroup."""
    group = tmp_path / "batch"
    group.mkdir()
    (group / "cpu.max").write_text("20000 100000\n")
    monkeypatch.setattr("hindmost.studies.diagnosis.suspects.groups", lambda *_: [(group, True)])
    monkeypatch.setattr("hindmost.studies.diagnosis.suspects.find_neighbours", lambda *_: [])
    offered = find_suspects(os.getpid(), Policy())
    assert "quota of batch" in offered.tried
    monkeypatch.setattr("hindmost.studies.diagnosis.suspects.os.access", lambda *_: False)
    denied = find_suspects(os.getpid(), Policy())
    assert "quota of batch" not in denied.tried
    note = denied.left_out["quota of batch"]
    assert (note.code, note.values) == ("needs-root", {"path": str(group / "cpu.max")})


def test_under_a_policy_that_forbids_everything_all_are_left_out_with_the_reason(monkeypatch, tmp_path):
    group = tmp_path / "batch"
    group.mkdir()
    (group / "cpu.max").write_text("20000 100000\n")
    monkeypatch.setattr("hindmost.studies.diagnosis.suspects.groups", lambda *_: [(group, True)])
    monkeypatch.setattr("hindmost.studies.diagnosis.suspects.find_neighbours", lambda *_: [])
    found = find_suspects(os.getpid(), Policy(may=[]))
    assert found.tried == {}
    note = found.left_out["quota of batch"]
    assert (note.code, note.values) == ("policy-forbids", {"touch": "quota"})


class Traced(World):
    """Counts the windows in which each thing was gone."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.gone: dict[str, int] = dict.fromkeys(self.factors, 0)

    def measure(self, watch=None) -> float:
        for name in set(self.factors) - self.there:
            self.gone[name] += 1
        return super().measure()


def test_whom_a_trace_charged_is_tried_first_and_the_others_only_where_it_is_not_the_cause(session):
    for factors, tried in (
        ({"hog": 4.0, "other": 1.0}, {"hog"}),
        ({"hog": 1.0, "other": 4.0}, {"hog", "other"}),
    ):
        world = Traced(dict(factors))
        suspects = Suspects({name: Thing(world, name) for name in factors}, first=["hog"])
        found = procedure.run_experiments(asked(first=("hog",)), session, world, suspects, lambda _: None)
        assert found.decision.leader == max(factors, key=lambda name: factors[name])
        assert {name for name, count in world.gone.items() if count} == tried
        left_out = {name: note.code for name, note in found.suspects.left_out.items()}
        assert left_out == ({"other": "not-needed"} if tried == {"hog"} else {})


def test_a_traced_thread_makes_its_program_a_suspect_however_little_it_uses(monkeypatch):
    with subprocess.Popen(["sleep", "60"]) as idle:
        try:
            # exec closes what Popen waits for before it names the program
            wait_until(lambda: has_thread([idle.pid], {"sleep"}))
            assert not has_thread([idle.pid], {"sleeper"})
            monkeypatch.setattr(neighbours, "busy_processes", lambda: [(0.0, idle.pid, "sleep")])
            assert find_neighbours([], lambda _: None) == []
            (one,) = find_neighbours([], lambda _: None, ("sleep",))
            assert idle.pid in one.pids
        finally:
            idle.kill()


def test_what_moved_is_looked_at_in_each_window_and_speaks_against_who_leaves_it(session):
    class Seen(World):
        """Metrics move with `driver` alone, whoever takes latency away."""

        metrics: object = None

        def measure(self, watch=None) -> float:
            level = 50_000.0 if "driver" in self.there else 100.0
            noise = np.exp(np.random.default_rng(self.count).normal(0, 0.05, len(SIGNATURE_METRICS)))
            self.count += 1
            self.metrics = np.where(np.arange(len(SIGNATURE_METRICS)) == 1, level, 1_000.0) * noise
            return super().measure()

    rows = 1_000.0 * np.exp(np.random.default_rng(1).normal(0, 0.05, (20, len(SIGNATURE_METRICS))))
    rows[:, 1] /= 10
    for suspect, ruling in (("driver", "cause"), ("valve", "unknown factor")):
        world = Seen({"driver": 1.0, "valve": 1.0} | {suspect: 4.0})
        suspects = Suspects({suspect: Thing(world, suspect)})
        request = asked(normal_metrics=Normal(SIGNATURE_METRICS, rows))
        found = procedure.run_experiments(request, session, world, suspects, lambda _: None)
        assert (found.decision.ruling, found.signatures[suspect].fits) == (ruling, ruling == "cause")
    document = document_of(found)
    assert document["suspects"][0]["state"] == "other signature"
    assert document["suspects"][0]["signature"]["stays"][0]["name"] == "app.run_delay_us"
    assert math.isclose(document["suspects"][0]["signature"]["stays"][0]["left"], 1.0, abs_tol=0.1)
    assert document["why_note"]["code"] == "no-cause-shown"
    assert "app.run_delay_us" in render_diagnosis(document)
