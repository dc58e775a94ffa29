"""How long users wait while suspects are tried, on a simulated server with a queue and a fake clock."""

from __future__ import annotations

import math
import random
from collections import deque
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from hindmost.commands.diagnose import experiment, procedure
from hindmost.commands.diagnose.answer import document_of
from hindmost.commands.diagnose.harm import (
    FAR,
    KEPT,
    LEAST_PER_S,
    LEAST_WINDOWS,
    MOST_GIVEN_UP,
    Bound,
    Harmful,
    refuse_slow,
)
from hindmost.commands.diagnose.procedure import DiagnosisRequest
from hindmost.commands.diagnose.suspects import Suspects
from hindmost.commands.diagnose.windows import Windows
from hindmost.commands.watch.application import Application
from hindmost.commands.watch.latency import LatencySource
from hindmost.core.interventions.policy import Policy
from hindmost.core.interventions.session import start_session

MS = 1_000_000
PROBE_PER_S, USERS_PER_S = 200.0, 100.0


@dataclass
class Host:
    """A server that answers one request at a time.

    Attributes
    ----------
    work_us : float
        Mean of a request's service time.
    slower : dict
            Suspects that slow it down while they are present.
    needed : set
            Suspects without which it answers nothing.
    senders : dict
            Requests/s of other clients; a paused one sends its missed requests afterwards.
    breaks : set
            Suspects without which every request fails.
    """

    work_us: float = 1_000.0
    slower: dict[str, float] = field(default_factory=dict)
    needed: frozenset[str] = frozenset()
    senders: dict[str, float] = field(default_factory=dict)
    breaks: frozenset[str] = frozenset()
    seed: int = 1
    now_ns: int = 10**12
    away: set[str] = field(default_factory=set)
    pauses_ns: dict[str, list[int]] = field(default_factory=dict)
    users: list[tuple[int, int]] = field(default_factory=list)
    """Scheduled time and latency of each request, ns."""

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        rates = {"probe": PROBE_PER_S, "users": USERS_PER_S, **self.senders}
        self.rates = rates
        self.next = {sender: self.now_ns + self.gap(sender) for sender in rates}
        self.missed: dict[str, list[int]] = {sender: [] for sender in rates}
        self.queue: deque[list] = deque()
        self.completed: list[tuple[int, int]] = []
        self.failed = self.sent = 0

    def gap(self, sender: str) -> int:
        return round(1e9 * self.draw.expovariate(self.rates[sender]))

    def sleep(self, seconds: float) -> None:
        until = self.now_ns + math.ceil(1e9 * seconds)
        while True:
            sender = min(self.next, key=lambda sender: self.next[sender])
            at = min(self.next[sender], until)
            self.serve(at)
            if at == until:
                return
            self.next[sender] += self.gap(sender)
            if sender in self.away:
                self.missed[sender].append(at)
            else:
                self.ask(sender, at)

    def ask(self, sender: str, scheduled_ns: int) -> None:
        self.sent += sender != "probe"
        self.queue.append([sender, scheduled_ns, 1_000.0 * self.draw.expovariate(1.0 / self.work_us)])

    def serve(self, until_ns: int) -> None:
        """Serve requests until this time."""
        speed = 1.0 / math.prod(factor for suspect, factor in self.slower.items() if suspect not in self.away)
        while self.queue and self.now_ns < until_ns and not self.needed & self.away:
            sender, scheduled, work_ns = self.queue[0]
            end = self.now_ns + math.ceil(work_ns / speed)
            if end > until_ns:
                self.queue[0][2] -= (until_ns - self.now_ns) * speed
                break
            self.now_ns = end
            self.queue.popleft()
            if sender == "users":
                self.users.append((scheduled, end - scheduled))
            elif sender == "probe" and self.breaks & self.away:
                self.failed += 1
            elif sender == "probe":
                self.completed.append((scheduled, end - scheduled))
        self.now_ns = until_ns

    def take(self) -> tuple[list[tuple[int, int]], int, int]:
        """Return completed requests, failures and the oldest outstanding request, like a probe."""
        completed, self.completed = self.completed, []
        failed, self.failed = self.failed, 0
        return (
            completed,
            failed,
            next((scheduled for sender, scheduled, _ in self.queue if sender == "probe"), 0),
        )

    def p99_ms(self, since_ns: int, until_ns: int) -> float:
        """Return the p99 of users, including those who still wait."""
        waits = [wait for scheduled, wait in self.users if since_ns <= scheduled < until_ns]
        waits += [self.now_ns - scheduled for sender, scheduled, _ in self.queue if sender == "users"]
        return float(np.quantile(waits, 0.99)) / MS


class SentRequests:
    """Counts requests of all clients but the probe, like `Requests`."""

    def __init__(self, host: Host) -> None:
        self.host, self.before = host, (host.sent, host.now_ns)

    def rates(self) -> np.ndarray:
        (sent, since_ns), self.before = self.before, (self.host.sent, self.host.now_ns)
        return np.array([self.host.sent - sent, 0.0]) * 1e9 / max(1, self.host.now_ns - since_ns)

    def close(self) -> None:
        pass


@dataclass
class FakeSuspect:
    """A suspect of that host."""

    host: Host
    name: str
    description: str = "take it away"
    undo: list[dict[str, object]] = field(default_factory=list)
    program: bool = True

    def remove(self) -> None:
        self.host.away.add(self.name)
        self.since_ns = self.host.now_ns

    def give_back(self) -> None:
        self.host.away.discard(self.name)
        self.host.pauses_ns.setdefault(self.name, []).append(self.host.now_ns - self.since_ns)
        for scheduled in self.host.missed.get(self.name, []):
            self.host.ask(self.name, scheduled)
        self.host.missed[self.name] = []

    def is_gone(self) -> bool:
        return self.name in self.host.away


@pytest.fixture
def session(tmp_path):
    with start_session(tmp_path / "j") as session:
        yield session


def run_diagnosis(host: Host, session, monkeypatch, names, kind=FakeSuspect, **more):
    """Run a diagnosis; return it, the p99 of users before and during it (ms), and the windows."""
    time_ = SimpleNamespace(sleep=host.sleep, monotonic=lambda: host.now_ns / 1e9)
    engine = SimpleNamespace(monotonic_ns=lambda: host.now_ns)
    monkeypatch.setattr("hindmost.commands.diagnose.windows.time", time_)
    monkeypatch.setattr("hindmost.commands.diagnose.windows._engine", engine)
    monkeypatch.setattr(experiment, "time", time_)
    monkeypatch.setattr(
        "hindmost.commands.diagnose.stages.Work", lambda _: SimpleNamespace(processors=lambda: 1.0)
    )
    monkeypatch.setattr(procedure, "Requests", lambda _: SentRequests(host))
    host.sleep(20.0)
    host.take()
    windows = Windows(host, 0.95, 0.25, 0.06)
    suspects = Suspects({name: kind(host, name) for name in names})
    request = DiagnosisRequest(
        Application("x", 1), LatencySource({}, ""), Policy(), pairs=10, window_s=0.25, settle_s=0.06, **more
    )
    begin = host.now_ns
    result = procedure.run_experiments(request, session, windows, suspects, lambda _: None)
    end = host.now_ns
    host.sleep(5.0)
    return result, host.p99_ms(0, begin), host.p99_ms(begin, end), windows


def left_out_codes(result) -> dict[str, str]:
    return {name: note.code for name, note in result.suspects.left_out.items()}


def test_a_harmful_experiment_ends_before_users_wait_longer_than_in_the_anomaly(session, monkeypatch):
    """This happens if a backend is not recognised as one."""
    host = Host(work_us=1_800.0, needed=frozenset({"backend"}))
    result, anomaly_ms, diagnosis_ms, windows = run_diagnosis(
        host, session, monkeypatch, ["backend", "innocent"], normal_us=1_500.0
    )
    assert result.decision.ruling == "unknown factor"
    assert left_out_codes(result) == {"backend": "harmful-experiment"}
    note = result.suspects.left_out["backend"]
    assert note.values["slow"] > note.values["most_slow"]
    # The change is undone after a few requests exceed the bound, and never held for a whole window.
    assert max(host.pauses_ns["backend"]) / MS < note.values["limit_us"] / 1e3 + 60
    assert len(host.pauses_ns["backend"]) <= math.log2(0.31 / experiment.FIRST_S)
    assert diagnosis_ms < FAR * anomaly_ms
    assert windows.bound.given_up == 1
    document = document_of(result)
    assert document.not_tried_notes["backend"].code == "harmful-experiment"
    assert host.away == set()


def test_an_unrecognised_client_is_not_blamed_and_its_backlog_harms_no_user(session, monkeypatch):
    """Its requests are most of the queue. Without it, everything is fast; afterwards they all arrive at once."""
    host = Host(work_us=1_500.0, senders={"client": 250.0})
    result, anomaly_ms, diagnosis_ms, _ = run_diagnosis(
        host, session, monkeypatch, ["client", "innocent"], normal_us=2_500.0
    )
    assert result.decision.ruling == "unknown factor"
    assert left_out_codes(result) == {"client": "load-not-tried"}
    assert diagnosis_ms < FAR * anomaly_ms


@dataclass
class StalledOnce(FakeSuspect):
    """While it is away for the second time, another client's requests are lost, as on a host that stalls."""

    def remove(self) -> None:
        super().remove()
        if len(self.host.pauses_ns.get(self.name, [])) == 1:
            self.host.away.add("client")

    def give_back(self) -> None:
        super().give_back()
        self.host.away.discard("client")
        self.host.missed["client"] = []


def test_a_stall_of_the_host_makes_no_suspect_load(session, monkeypatch):
    host = Host(work_us=500.0, senders={"client": 500.0})
    result, *_ = run_diagnosis(host, session, monkeypatch, ["innocent"], kind=StalledOnce, normal_us=1_500.0)
    assert left_out_codes(result) == {}


def test_a_cause_is_named_and_users_wait_less_meanwhile(session, monkeypatch):
    host = Host(work_us=800.0, slower={"hog": 3.0}, seed=4)
    result, anomaly_ms, diagnosis_ms, windows = run_diagnosis(
        host, session, monkeypatch, ["hog", "innocent"], normal_us=2_500.0
    )
    assert (result.decision.ruling, result.decision.leader) == ("cause", "hog")
    assert diagnosis_ms < anomaly_ms
    assert (left_out_codes(result), windows.bound.given_up) == ({}, 0)


def test_requests_that_fail_end_an_experiment(session, monkeypatch):
    host = Host(breaks=frozenset({"resolver"}))
    result, _, _, _ = run_diagnosis(host, session, monkeypatch, ["resolver", "innocent"], normal_us=800.0)
    assert left_out_codes(result) == {"resolver": "harmful-experiment"}
    assert result.suspects.left_out["resolver"].values["failed"] > 1
    assert max(host.pauses_ns["resolver"]) < 60 * MS


def test_after_too_much_harm_the_diagnosis_ends(session, monkeypatch):
    names = [f"backend {number}" for number in range(MOST_GIVEN_UP)]
    host = Host(work_us=1_800.0, needed=frozenset(names))
    result, _, _, windows = run_diagnosis(host, session, monkeypatch, [*names, "innocent"], normal_us=1_500.0)
    assert (result.decision.ruling, result.decision.note.code) == ("inconclusive", "harm-spent")
    assert set(left_out_codes(result).values()) == {"harmful-experiment", "harm-spent"}
    assert windows.bound.given_up == MOST_GIVEN_UP
    assert len(host.pauses_ns) <= MOST_GIVEN_UP + 1
    assert max(pause for name in names for pause in host.pauses_ns.get(name, [0])) < (23 + 60) * MS
    assert document_of(result).ruling == "inconclusive"


def learned_bound(latencies_us, failed=0) -> Bound:
    bound = Bound()
    for _ in range(LEAST_WINDOWS):
        bound.learn(latencies_us, failed, 0.5)
    return bound


def test_the_bound_follows_from_the_anomaly():
    bound = learned_bound([10_000.0] * 97 + [12_000.0, 14_000.0, 20_000.0])
    few = bound.begin(0)
    assert (few.limit_us, few.worst_slow, few.rate) == (FAR * 20_000.0, 0, LEAST_PER_S)
    for _ in range(KEPT):
        bound.learn([10_000.0] * 199 + [20_000.0], 1, 1.0)
    many = bound.begin(0)
    assert (many.limit_us, many.worst_slow, many.worst_failed) == (FAR * 10_000.0, 1, 1)
    assert Bound().begin(0) is None


def test_waiting_before_the_experiment_does_not_count():
    bound = learned_bound([10_000.0] * 100)
    watch = bound.begin(1_000 * MS)
    watch.observe([(500 * MS, 514 * MS)] * 9, 0, 500 * MS, 1_014 * MS)
    assert watch.slow == 0
    with pytest.raises(Harmful) as caught:
        # 15 ms are allowed, plus two more requests.
        watch.observe([], 0, 500 * MS, 1_000 * MS + round((15 + 2e3 / LEAST_PER_S + 0.1) * MS))
    assert caught.value.note.values["slow"] == 3


def test_a_few_slow_requests_in_each_of_many_experiments_are_too_many():
    def run_experiments(slow: int) -> None:
        watches = []
        for _ in range(20):
            watches.append(learned_bound([10_000.0] * 100).begin(0))
            watches[-1].observe([(0, 10 * MS)] * (50 - slow) + [(0, 20 * MS)] * slow, 0, 0, 0)
            refuse_slow(watches)

    run_experiments(slow=0)
    with pytest.raises(Harmful):
        run_experiments(slow=2)
