"""A whole diagnosis over a made-up host, whose latency follows from what is there: the truth is known."""

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

from hindmost.interventions.session import start_session
from hindmost.notes import Note
from hindmost.report.diagnosis.terminal import render_diagnosis
from hindmost.studies.diagnosis import procedure
from hindmost.studies.diagnosis.correction import correct
from hindmost.studies.diagnosis.demand import Work
from hindmost.studies.diagnosis.document import document_of
from hindmost.studies.diagnosis.harm import Bound
from hindmost.studies.diagnosis.policy import Policy
from hindmost.studies.diagnosis.procedure import DiagnosisRequest
from hindmost.studies.diagnosis.stages import run_stages
from hindmost.studies.diagnosis.suspects import Suspects
from hindmost.watch import Application, LatencySource, blocks, ranking
from hindmost.watch.ring import Ring

NORMAL_US = 100.0


@dataclass
class World:
    """Each thing that is there makes it so many times slower."""

    factors: dict[str, float]
    there: set[str] = field(default_factory=set)
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
    """Share of the application's work that each brings."""
    work: object = None
    worked: float = 1.0

    def __post_init__(self) -> None:
        self.there = set(self.factors)

    def measure(self, watch=None) -> float:
        self.worked = 1.0 - sum(share for name, share in self.load.items() if name not in self.there)
        slower = math.prod(self.factors[name] for name in self.there)
        return NORMAL_US * slower * math.exp(self.draw.gauss(0.0, 0.1))

    usual_per_s = 0.0

    def watch(self) -> None:
        """Nobody waits here: see test_diagnosis_harm.py."""

    def stay(self, seconds: float, watch: None) -> None:
        assert seconds > 0.0

    def recover(self, watch: None) -> None:
        assert watch is None


@dataclass
class Thing:
    """A suspect of that world; `inert` ones change nothing when they are removed."""

    world: World
    name: str
    description: str = "take it away"
    undo: list[dict[str, object]] = field(default_factory=list)
    program: bool = True
    inert: bool = False

    def remove(self) -> None:
        if not self.inert:
            self.world.there.discard(self.name)

    def give_back(self) -> None:
        self.world.there.add(self.name)

    def is_gone(self) -> bool:
        return self.inert or self.name not in self.world.there


@pytest.fixture
def session(tmp_path):
    with start_session(tmp_path / "j") as session:
        yield session


def experiment(world, session, left_out=(), correct=False, corrections=None):
    suspects = Suspects({name: Thing(world, name) for name in world.factors if name not in left_out})
    suspects.corrections.update(corrections or {})
    request = DiagnosisRequest(
        Application("x", 1), LatencySource({}, ""), Policy(), normal_us=NORMAL_US, pairs=10, correct=correct
    )
    return procedure.run_experiments(request, session, world, suspects, lambda _: None)


def test_two_causes_at_once_are_found_one_after_the_other(session):
    world = World({"hog": 4.0, "quota": 2.5, "innocent": 1.0})
    found = experiment(world, session)
    assert (found.decision.ruling, found.decision.leader) == ("cause", "hog")
    assert found.second is not None
    assert (found.second.decision.ruling, found.second.decision.leader) == ("cause", "quota")
    assert found.second.now_us == pytest.approx(250, rel=0.2)
    assert world.there == set(world.factors)


def test_a_single_cause_leaves_nothing_to_look_for(session):
    found = experiment(World({"hog": 4.0, "innocent": 1.0}), session)
    assert found.decision.leader == "hog"
    assert found.second is None
    assert found.also == ()


@pytest.mark.parametrize("load", [{"client": 0.95}, {}], ids=["work", "share"])
def test_what_takes_the_load_away_is_not_named_for_what_the_server_does_itself(session, load):
    """The server's own code is 2.2 times slower; without a client that no socket shows, nothing waits."""
    world = World({"own code": 2.2 / 61.0, "client": 61.0, "innocent": 1.0}, load=load)
    found = experiment(world, session, left_out=["own code"])
    states = {arm.name: arm.state for arm in found.decision.arms}
    assert (found.decision.ruling, found.decision.leader) == ("unknown factor", None)
    assert states == {"client": "load" if load else "beyond", "innocent": "struck out"}
    assert render_diagnosis(document_of(found))


def test_a_neighbour_that_costs_the_server_some_work_is_still_a_cause(session):
    found = experiment(World({"hog": 4.0, "innocent": 1.0}, load={"hog": 0.3}), session)
    assert (found.decision.ruling, found.decision.leader) == ("cause", "hog")


def test_with_the_true_cause_struck_from_the_list_it_is_an_unknown_factor(session):
    found = experiment(World({"hog": 4.0, "innocent": 1.0, "other": 1.0}), session, left_out=["hog"])
    assert found.decision.ruling == "unknown factor"


def test_who_explains_as_much_as_the_leader_is_named_beside_it(session):
    class Either(World):
        def measure(self, watch=None) -> float:
            return super().measure() * (4.0 if {"hog", "mask"} <= self.there else 1.0)

    found = experiment(Either({"hog": 1.0, "mask": 1.0}), session)
    assert {found.decision.leader, *found.also} == {"hog", "mask"}


def test_each_ratio_of_the_document_is_that_of_the_pairs_beside_it(session):
    world = World({"hog": 4.0, "quota": 2.5, "innocent": 1.0})
    document = document_of(experiment(world, session, correct=True))
    arms = [*document["suspects"], document["sham"], *document["next"]["suspects"], document["next"]["sham"]]
    for one in arms:
        pairs = one["measured"]
        logs = [math.log(pair["with_us"] / pair["without_us"]) for pair in pairs]
        assert [pair["round"] for pair in pairs] == list(range(1, one["pairs"] + 1))
        assert math.exp(math.fsum(logs) / len(logs)) == pytest.approx(one["ratio"])
    times = [pair["at_s"] for one in document["suspects"] for pair in one["measured"]]
    assert min(pair["at_s"] for one in arms for pair in one["measured"]) == 0.0
    assert len(set(times)) == len(times)
    assert max(times) < min(pair["at_s"] for one in document["next"]["suspects"] for pair in one["measured"])
    correction = document["correction"]
    logs = [math.log(pair["without_us"]) for pair in correction["measured"]]
    assert math.exp(sum(logs) / len(logs)) == pytest.approx(correction["after_us"])
    assert {pair["without_first"] for one in arms for pair in one["measured"]} == {False, True}


@pytest.mark.parametrize(("silent", "ruling"), [(0.1, "unknown factor"), (0.5, "inconclusive")])
def test_nobody_is_cleared_by_windows_in_which_nothing_was_answered(session, silent, ruling):
    class Silent(World):
        def measure(self, watch=None) -> float:
            self.count += 1
            self.unanswered += self.count % 10 < 10 * silent
            return super().measure()

    world = Silent({"hog": 4.0, "innocent": 1.0, "other": 1.0})
    found = experiment(world, session, left_out=["hog"])
    assert found.decision.ruling == ruling
    note = found.decision.note
    if ruling == "inconclusive":
        assert (note.code, note.values["need_s"]) == ("unanswered-windows", 9)
    else:
        assert note.code == "no-cause-shown"


def test_corrections_are_tried_in_turn_until_one_brings_it_back(session):
    world = World({"hog": 4.0})
    found = experiment(world, session)
    useless = Thing(world, "hog", "let it yield", inert=True)
    found.suspects.corrections["hog"] = [useless, Thing(world, "hog", "move it")]
    done = correct(session, world, found, lambda _: None)
    assert done["kept"]
    assert done["why_note"]["code"] == "correction-kept"
    assert done["about"] == "move it"
    assert done["refused"] == ["let it yield"]
    assert world.there == set()


def test_a_correction_that_does_not_help_is_undone(session):
    world = World({"hog": 4.0})
    found = experiment(world, session)
    found.suspects.corrections["hog"] = [Thing(world, "hog", "let it yield", inert=True)]
    done = correct(session, world, found, lambda _: None)
    assert not done["kept"]
    assert done["why_note"]["code"] == "correction-failed"
    assert world.there == {"hog"}


def test_a_cause_is_corrected_before_the_next_one_is_looked_for(session, monkeypatch):
    world = World({"hog": 4.0, "quota": 2.5, "innocent": 1.0})
    there = []

    def recorded(*args):
        there.append(set(world.there))
        return run_stages(*args)

    monkeypatch.setattr(procedure, "run_stages", recorded)
    found = experiment(world, session, correct=True)
    assert found.correction["kept"]
    assert there == [{"hog", "quota", "innocent"}, {"quota", "innocent"}]
    assert found.second is not None
    assert found.second.decision.leader == "quota"
    assert found.second.now_us == pytest.approx(250, rel=0.2)
    assert found.second.correction["kept"]
    assert world.there == {"innocent"}


def test_what_a_kept_correction_leaves_is_measured_and_not_reckoned(session):
    class Partly(Thing):
        """Without the hog, but what yields still takes its share."""

        def remove(self) -> None:
            super().remove()
            self.world.there.add("rest")

        def give_back(self) -> None:
            super().give_back()
            self.world.there.discard("rest")

    world = World({"hog": 6.0, "rest": 1.6, "innocent": 1.0})
    world.there.discard("rest")
    partly = [Partly(world, "hog", "let it yield")]
    found = experiment(world, session, left_out=["rest"], correct=True, corrections={"hog": partly})
    assert found.correction["kept"]
    assert found.correction["after_us"] == pytest.approx(160, rel=0.2)
    assert found.second is not None
    assert found.second.now_us == pytest.approx(160, rel=0.2)


def test_a_cause_whose_correction_fails_is_gone_while_the_next_is_looked_for(session):
    world = World({"hog": 4.0, "quota": 2.5, "innocent": 1.0})
    useless = [Thing(world, "hog", "let it yield", inert=True)]
    found = experiment(world, session, correct=True, corrections={"hog": useless})
    assert not found.correction["kept"]
    assert found.second is not None
    assert (found.second.decision.leader, found.second.now_us) == ("quota", pytest.approx(250, rel=0.2))
    assert "hog" in world.there


@dataclass
class Client(Thing):
    role: str = "client"


@pytest.mark.parametrize(
    ("used", "ruling", "code"),
    [(0.15, "unknown factor", "no-cause-shown"), (0.4, "inconclusive", "load-or-code")],
    ids=["as ever", "grown"],
)
@pytest.mark.parametrize("others", [(), ("innocent",)], ids=["alone", "beside another"])
def test_load_is_not_told_from_slower_code_and_never_paused(session, monkeypatch, used, ruling, code, others):
    monkeypatch.setattr(Work, "processors", lambda _: used)
    world = World({"client": 4.0, **dict.fromkeys(others, 1.0)})
    suspects = Suspects({"client": Client(world, "client"), **{one: Thing(world, one) for one in others}})
    request = DiagnosisRequest(
        Application("x", os.getpid()), LatencySource({}, ""), Policy(), normal_us=100.0, normal_work=0.15
    )
    found = procedure.run_experiments(request, session, world, suspects, lambda _: None)
    assert (found.decision.ruling, found.decision.note.code) == (ruling, code)
    document = document_of(found)
    paused = {one["name"] for one in document["suspects"]}
    assert paused == set(others)
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


def test_the_work_of_an_application_is_that_of_all_its_threads_and_children(monkeypatch):
    clock = iter([0.0, 2.0])
    fake = SimpleNamespace(monotonic=lambda: next(clock))
    monkeypatch.setattr("hindmost.studies.diagnosis.demand.time", fake)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", WORKS], **pipes, start_new_session=True) as program:
        try:
            program.stdout.readline()
            work = Work(program.pid)
            program.stdin.write(b"\n")
            program.stdin.flush()
            program.stdout.readline()
            # 0.2 s in each of two threads and a child, within what the clock says are 2 s.
            assert work.processors() == pytest.approx(0.3, abs=0.05)
        finally:
            os.killpg(program.pid, signal.SIGKILL)


def test_what_an_application_used_normally_is_in_its_ring(monkeypatch):
    seconds = np.arange(400.0)
    rates = np.where(seconds < 300, 150_000, 600_000)
    ring = Ring({}, ["app.run_us"], [True], seconds, np.cumsum(rates)[:, None], [], [], 64, False)
    monkeypatch.setattr(blocks, "read_ring", lambda _: ring)
    assert blocks.normal_work_of(Path("a.ring")) == pytest.approx(0.15)


VICTIM = """
import os, sys, time
from pathlib import Path
from hindmost.interventions.session import start_session
from hindmost.interventions.changes import Pause, start_ticks
from hindmost.interventions.idle import make_idle
pid, point = int(sys.argv[1]), sys.argv[3]
pause, idle = Pause(pid, "sleep", start_ticks(pid)), make_idle("neighbour", "yield", [pid])
def stop(here):
    if here == point:
        print("there", flush=True)
        time.sleep(60)
with start_session(Path(sys.argv[2])) as session:
    stop("nothing held")
    with session.journal(pause):
        stop("journalled")
        with session.remove(pause):
            stop("paused")
        stop("given back")
        with session.remove(pause), session.remove(pause):
            pass
    with session.journal(idle):
        idle.remove()
        stop("corrected, not kept")
"""


@pytest.mark.parametrize(
    "point", ["nothing held", "journalled", "paused", "given back", "corrected, not kept"]
)
def test_killed_at_any_point_it_leaves_its_neighbour_as_it_was(tmp_path, point):
    neighbour = subprocess.Popen(["sleep", "60"])
    try:
        victim = subprocess.Popen(
            [sys.executable, "-P", "-c", VICTIM, str(neighbour.pid), str(tmp_path / "j"), point],
            stdout=subprocess.PIPE,
        )
        assert victim.stdout is not None
        assert victim.stdout.readline() == b"there\n"
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        victim.stdout.close()

        def before() -> bool:
            state = Path(f"/proc/{neighbour.pid}/stat").read_text().rpartition(")")[2].split()[0]
            return state != "T" and os.sched_getscheduler(neighbour.pid) == os.SCHED_OTHER

        journal = tmp_path / "j" / "knobs.jsonl"
        killed = time.monotonic()
        while time.monotonic() < killed + 20 and not (
            before() and (not journal.exists() or not journal.read_text())
        ):
            time.sleep(0.005)
        print(f"{point}: as before after {time.monotonic() - killed:.3f} s")
        assert before()
        assert not journal.exists() or not journal.read_text()
    finally:
        neighbour.kill()
        neighbour.wait()


def test_where_no_suspect_may_be_tried_a_ring_ranks_what_moved_or_reports_why_not(session, monkeypatch):
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
    found = experiment(World({"hog": 4.0}), session, left_out=["hog"])
    assert found.decision.ruling == "inconclusive"
    assert found.decision.note.code == "no-suspect"
    ranked, wait = ranking.rank_ring(Path("a.ring"), 0.95)
    assert wait is None
    document = document_of(found, ranked)
    (one,) = document["moved"]
    assert (one["name"], one["correlation"] > 0.5) == ("psi.cpu_some_us", True)
    assert "psi.cpu_some_us" in render_diagnosis(document)
    short = document_of(found, [], Note("few-blocks", "20 blocks", {"need": 20}))
    assert short["moved_wait_note"] == {"code": "few-blocks", "text": "20 blocks", "values": {"need": 20}}
    assert "20 blocks" in render_diagnosis(short)
    assert document_of(found)["moved_wait_note"] is None
