"""A whole diagnosis of a made-up host with a known truth: latency follows from what is present."""

import math
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from hindmost.commands.diagnose import procedure
from hindmost.commands.diagnose.answer import document_of
from hindmost.commands.diagnose.correction import correct
from hindmost.commands.diagnose.demand import Work
from hindmost.commands.diagnose.harm import Bound
from hindmost.commands.diagnose.procedure import DiagnosisRequest
from hindmost.commands.diagnose.stages import run_stages
from hindmost.commands.diagnose.suspects import Suspects
from hindmost.commands.diagnose.view import view
from hindmost.commands.watch import blocks, ranking
from hindmost.commands.watch.application import Application
from hindmost.commands.watch.latency import LatencySource
from hindmost.commands.watch.ring import Ring
from hindmost.core.interventions.policy import Policy
from hindmost.core.interventions.session import start_session
from hindmost.core.notes import Note
from hindmost.present.terminal import render_terminal

NORMAL_US = 100.0


@dataclass
class World:
    """A host on which each present suspect slows the application by its factor."""

    factors: dict[str, float]
    present: set[str] = field(default_factory=set)
    draw: random.Random = field(default_factory=lambda: random.Random(1))
    window_s: float = 0.3
    count: int = 0
    unanswered: int = 0
    settle_s: float = 0.1
    bound: Bound = field(default_factory=Bound)
    requests: object = None
    sent: object = None
    metrics: None = None
    load: dict[str, float] = field(default_factory=dict)
    """Share of the application's work that each suspect brings."""
    work: object = None
    worked: float = 1.0

    def __post_init__(self) -> None:
        self.present = set(self.factors)

    def measure(self, watch=None) -> float:
        self.worked = 1.0 - sum(share for name, share in self.load.items() if name not in self.present)
        slower = math.prod(self.factors[name] for name in self.present)
        return NORMAL_US * slower * math.exp(self.draw.gauss(0.0, 0.1))

    usual_per_s = 0.0

    def watch(self) -> None:
        """Do nothing: test_diagnosis_harm.py tests users who wait."""

    def watch_probe(self, seconds: float, sample) -> list[float]:
        """Return no latency: test_diagnosis_upstream.py tests backends."""
        return []

    def stay(self, seconds: float, watch: None) -> None:
        assert seconds > 0.0

    def recover(self, watch: None) -> None:
        assert watch is None


@dataclass
class FakeSuspect:
    """A suspect of that host; `inert` ones change nothing when they are removed."""

    world: World
    name: str
    description: str = "take it away"
    undo: list[dict[str, object]] = field(default_factory=list)
    program: bool = True
    inert: bool = False

    def remove(self) -> None:
        if not self.inert:
            self.world.present.discard(self.name)

    def give_back(self) -> None:
        self.world.present.add(self.name)

    def is_gone(self) -> bool:
        return self.inert or self.name not in self.world.present


@pytest.fixture
def session(tmp_path):
    with start_session(tmp_path / "j") as session:
        yield session


def experiment(world, session, left_out=(), correct=False, corrections=None):
    suspects = Suspects({name: FakeSuspect(world, name) for name in world.factors if name not in left_out})
    suspects.corrections.update(corrections or {})
    request = DiagnosisRequest(
        Application("x", 1), LatencySource({}, ""), Policy(), normal_us=NORMAL_US, pairs=10, correct=correct
    )
    return procedure.run_experiments(request, session, world, suspects, lambda _: None)


def test_two_causes_are_found_one_after_the_other(session):
    world = World({"hog": 4.0, "quota": 2.5, "innocent": 1.0})
    result = experiment(world, session)
    assert (result.decision.ruling, result.decision.leader) == ("cause", "hog")
    assert result.second is not None
    assert (result.second.decision.ruling, result.second.decision.leader) == ("cause", "quota")
    assert result.second.now_us == pytest.approx(250, rel=0.2)
    assert world.present == set(world.factors)


def test_a_single_cause_ends_the_search(session):
    result = experiment(World({"hog": 4.0, "innocent": 1.0}), session)
    assert result.decision.leader == "hog"
    assert result.second is None
    assert result.also == ()


@pytest.mark.parametrize("load", [{"client": 0.95}, {}], ids=["work", "share"])
def test_a_client_is_not_blamed_for_slow_code_of_the_server(session, load):
    """The server's own code is 2.2 times slower; without a client that has no socket, nothing waits."""
    world = World({"own code": 2.2 / 61.0, "client": 61.0, "innocent": 1.0}, load=load)
    result = experiment(world, session, left_out=["own code"])
    states = {arm.name: arm.state for arm in result.decision.arms}
    assert (result.decision.ruling, result.decision.leader) == ("unknown factor", None)
    assert states == {"client": "load" if load else "beyond", "innocent": "ruled out"}
    assert render_terminal(view(document_of(result)))


def test_a_neighbour_that_costs_the_server_some_work_is_still_a_cause(session):
    result = experiment(World({"hog": 4.0, "innocent": 1.0}, load={"hog": 0.3}), session)
    assert (result.decision.ruling, result.decision.leader) == ("cause", "hog")


def test_without_the_true_cause_among_the_suspects_it_is_an_unknown_factor(session):
    result = experiment(World({"hog": 4.0, "innocent": 1.0, "other": 1.0}), session, left_out=["hog"])
    assert result.decision.ruling == "unknown factor"


def test_an_equally_good_explanation_is_named_with_the_leader(session):
    class EitherSuffices(World):
        def measure(self, watch=None) -> float:
            return super().measure() * (4.0 if {"hog", "mask"} <= self.present else 1.0)

    result = experiment(EitherSuffices({"hog": 1.0, "mask": 1.0}), session)
    assert {result.decision.leader, *result.also} == {"hog", "mask"}


def test_each_ratio_in_the_document_agrees_with_its_pairs(session):
    world = World({"hog": 4.0, "quota": 2.5, "innocent": 1.0})
    document = document_of(experiment(world, session, correct=True))
    arms = [*document.suspects, document.sham, *document.next.suspects, document.next.sham]
    for arm in arms:
        pairs = arm.measured
        logs = [math.log(pair.with_us / pair.without_us) for pair in pairs]
        assert [pair.round for pair in pairs] == list(range(1, arm.pairs + 1))
        assert math.exp(math.fsum(logs) / len(logs)) == pytest.approx(arm.ratio)
    times = [pair.at_s for arm in document.suspects for pair in arm.measured]
    assert min(pair.at_s for arm in arms for pair in arm.measured) == 0.0
    assert len(set(times)) == len(times)
    assert max(times) < min(pair.at_s for arm in document.next.suspects for pair in arm.measured)
    correction = document.correction
    logs = [math.log(pair.without_us) for pair in correction.measured]
    assert math.exp(sum(logs) / len(logs)) == pytest.approx(correction.after_us)
    assert {pair.without_first for arm in arms for pair in arm.measured} == {False, True}


@pytest.mark.parametrize(("silent", "ruling"), [(0.1, "unknown factor"), (0.5, "inconclusive")])
def test_unanswered_windows_clear_no_suspect(session, silent, ruling):
    class PartlySilent(World):
        def measure(self, watch=None) -> float:
            self.count += 1
            self.unanswered += self.count % 10 < 10 * silent
            return super().measure()

    world = PartlySilent({"hog": 4.0, "innocent": 1.0, "other": 1.0})
    result = experiment(world, session, left_out=["hog"])
    assert result.decision.ruling == ruling
    note = result.decision.note
    if ruling == "inconclusive":
        assert (note.code, note.values["need_s"]) == ("unanswered-windows", 9)
    else:
        assert note.code == "no-cause-shown"


def test_corrections_are_tried_until_one_restores_latency(session):
    world = World({"hog": 4.0})
    result = experiment(world, session)
    ineffective = FakeSuspect(world, "hog", "let it yield", inert=True)
    result.suspects.corrections["hog"] = [ineffective, FakeSuspect(world, "hog", "move it")]
    correction = correct(session, world, result, lambda _: None)
    assert correction.kept
    assert correction.why_note.code == "correction-kept"
    assert correction.about == "move it"
    assert correction.refused == ["let it yield"]
    assert world.present == set()


def test_a_correction_that_does_not_help_is_undone(session):
    world = World({"hog": 4.0})
    result = experiment(world, session)
    result.suspects.corrections["hog"] = [FakeSuspect(world, "hog", "let it yield", inert=True)]
    correction = correct(session, world, result, lambda _: None)
    assert not correction.kept
    assert correction.why_note.code == "correction-failed"
    assert world.present == {"hog"}


def test_a_cause_is_corrected_before_the_next_search(session, monkeypatch):
    world = World({"hog": 4.0, "quota": 2.5, "innocent": 1.0})
    present_sets = []

    def record_stages(*args):
        present_sets.append(set(world.present))
        return run_stages(*args)

    monkeypatch.setattr(procedure, "run_stages", record_stages)
    result = experiment(world, session, correct=True)
    assert result.correction.kept
    assert present_sets == [{"hog", "quota", "innocent"}, {"quota", "innocent"}]
    assert result.second is not None
    assert result.second.decision.leader == "quota"
    assert result.second.now_us == pytest.approx(250, rel=0.2)
    assert result.second.correction.kept
    assert world.present == {"innocent"}


def test_latency_after_a_correction_is_measured_and_not_computed(session):
    class PartialCorrection(FakeSuspect):
        """Removes the hog, but leaves a smaller share of the slowdown."""

        def remove(self) -> None:
            super().remove()
            self.world.present.add("rest")

        def give_back(self) -> None:
            super().give_back()
            self.world.present.discard("rest")

    world = World({"hog": 6.0, "rest": 1.6, "innocent": 1.0})
    world.present.discard("rest")
    partly = [PartialCorrection(world, "hog", "let it yield")]
    result = experiment(world, session, left_out=["rest"], correct=True, corrections={"hog": partly})
    assert result.correction.kept
    assert result.correction.after_us == pytest.approx(160, rel=0.2)
    assert result.second is not None
    assert result.second.now_us == pytest.approx(160, rel=0.2)


def test_a_cause_without_a_correction_is_removed_during_the_next_search(session):
    world = World({"hog": 4.0, "quota": 2.5, "innocent": 1.0})
    ineffective = [FakeSuspect(world, "hog", "let it yield", inert=True)]
    result = experiment(world, session, correct=True, corrections={"hog": ineffective})
    assert not result.correction.kept
    assert result.second is not None
    assert (result.second.decision.leader, result.second.now_us) == ("quota", pytest.approx(250, rel=0.2))
    assert "hog" in world.present


@dataclass
class Client(FakeSuspect):
    role: str = "client"


@pytest.mark.parametrize(
    ("used", "ruling", "code"),
    [(0.15, "unknown factor", "no-cause-shown"), (0.4, "inconclusive", "load-or-code")],
    ids=["normal work", "more work"],
)
@pytest.mark.parametrize("innocent", [(), ("innocent",)], ids=["alone", "with another"])
def test_a_client_is_never_paused_and_load_may_explain_the_slowdown(
    session, monkeypatch, used, ruling, code, innocent
):
    monkeypatch.setattr(Work, "processors", lambda _: used)
    world = World({"client": 4.0, **dict.fromkeys(innocent, 1.0)})
    suspects = Suspects(
        {"client": Client(world, "client"), **{name: FakeSuspect(world, name) for name in innocent}}
    )
    request = DiagnosisRequest(
        Application("x", os.getpid()), LatencySource({}, ""), Policy(), normal_us=100.0, normal_work=0.15
    )
    result = procedure.run_experiments(request, session, world, suspects, lambda _: None)
    assert (result.decision.ruling, result.decision.note.code) == (ruling, code)
    document = document_of(result)
    tried = {suspect.name for suspect in document.suspects}
    assert tried == set(innocent)
    assert suspects.left_out["client"].code == "load-not-tried"


WORKS = """
import os, sys, threading, time
def spin():
    end = time.thread_time() + 0.2
    while time.thread_time() < end:
        pass
def other():
    spin()
    done.release()
    time.sleep(60)
orders, answers = os.pipe(), os.pipe()
done = threading.Semaphore(0)
if os.fork() == 0:
    os.read(orders[0], 1)
    spin()
    os.write(answers[1], b"x")
    time.sleep(60)
print("ready", flush=True)
sys.stdin.readline()
os.write(orders[1], b"x")
threading.Thread(target=other).start()
spin()
done.acquire()
os.read(answers[0], 1)
print("done", flush=True)
time.sleep(60)
"""


def test_the_work_of_an_application_includes_all_threads_and_children(monkeypatch):
    clock = iter([0.0, 2.0])
    fake = SimpleNamespace(monotonic=lambda: next(clock))
    monkeypatch.setattr("hindmost.commands.diagnose.demand.time", fake)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", WORKS], **pipes, start_new_session=True) as program:
        try:
            program.stdout.readline()
            work = Work(program.pid)
            program.stdin.write(b"\n")
            program.stdin.flush()
            program.stdout.readline()
            # 0.2 s in each of two threads and a child, within 2 s of the fake clock.
            assert work.processors() == pytest.approx(0.3, abs=0.05)
        finally:
            os.killpg(program.pid, signal.SIGKILL)


def test_normal_work_is_read_from_the_ring(monkeypatch):
    seconds = np.arange(400.0)
    rates = np.where(seconds < 300, 150_000, 600_000)
    ring = Ring({}, ["app.run_us"], [True], seconds, np.cumsum(rates)[:, None], [], [], 64, False)
    monkeypatch.setattr(blocks, "read_ring", lambda _: ring)
    assert blocks.normal_work_of(Path("a.ring")) == pytest.approx(0.15)


VICTIM = """
import os, sys, time
from pathlib import Path
from hindmost.core.interventions.session import start_session
from hindmost.core.interventions.changes import Pause, start_ticks
from hindmost.core.interventions.idle import make_idle
pid, point = int(sys.argv[1]), sys.argv[3]
pause, idle = Pause(pid, "sleep", start_ticks(pid)), make_idle("neighbour", "yield", [pid])
def stop(reached):
    if reached == point:
        print("reached", flush=True)
        time.sleep(60)
with start_session(Path(sys.argv[2])) as session:
    stop("no change")
    with session.journal(pause):
        stop("journalled")
        with session.remove(pause):
            stop("paused")
        stop("restored")
        with session.remove(pause), session.remove(pause):
            pass
    with session.journal(idle):
        idle.remove()
        stop("corrected, not kept")
"""


@pytest.mark.parametrize("point", ["no change", "journalled", "paused", "restored", "corrected, not kept"])
def test_a_killed_diagnosis_restores_the_neighbour(tmp_path, point):
    neighbour = subprocess.Popen(["sleep", "60"])
    try:
        victim = subprocess.Popen(
            [sys.executable, "-P", "-c", VICTIM, str(neighbour.pid), str(tmp_path / "j"), point],
            stdout=subprocess.PIPE,
        )
        assert victim.stdout is not None
        assert victim.stdout.readline() == b"reached\n"
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        victim.stdout.close()

        def is_restored() -> bool:
            state = Path(f"/proc/{neighbour.pid}/stat").read_text().rpartition(")")[2].split()[0]
            return state != "T" and os.sched_getscheduler(neighbour.pid) == os.SCHED_OTHER

        journal = tmp_path / "j" / "knobs.jsonl"
        killed = time.monotonic()
        while time.monotonic() < killed + 20 and not (
            is_restored() and (not journal.exists() or not journal.read_text())
        ):
            time.sleep(0.005)
        print(f"{point}: restored after {time.monotonic() - killed:.3f} s")
        assert is_restored()
        assert not journal.exists() or not journal.read_text()
    finally:
        neighbour.kill()
        neighbour.wait()


def test_without_suspects_the_ring_ranks_metrics_or_gives_a_reason(session, monkeypatch):
    seconds = np.arange(2_400.0)
    slow = np.sin(seconds / 400) > 0.6
    ring = Ring(
        {},
        ["psi.cpu_some_us", "app.threads", "own.cpu_us"],
        [False, False, False],
        seconds,
        np.column_stack([1_000 * slow + seconds.astype(int) % 7, np.full(2_400, 4), 5_000 * slow]),
        [],
        [(at, {700 + 64 * int(high): 30}) for at, high in zip(seconds, slow, strict=True)],
        64,
        False,
    )
    monkeypatch.setattr(ranking, "read_ring", lambda _: ring)
    result = experiment(World({"hog": 4.0}), session, left_out=["hog"])
    assert result.decision.ruling == "inconclusive"
    assert result.decision.note.code == "no-suspect"
    ranked, wait = ranking.rank_ring(Path("a.ring"), 0.95)
    assert wait is None
    document = document_of(result, ranked)
    (metric,) = document.moved
    assert (metric.name, metric.correlation > 0.5) == ("psi.cpu_some_us", True)
    assert "psi.cpu_some_us" in render_terminal(view(document))
    short = document_of(result, [], Note("few-blocks", "20 blocks", {"need": 20}))
    assert short.moved_wait_note == Note("few-blocks", "20 blocks", {"need": 20}).document()
    assert "20 blocks" in render_terminal(view(short))
    assert document_of(result).moved_wait_note is None
