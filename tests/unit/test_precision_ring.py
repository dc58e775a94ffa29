"""The judge of the ring of precision: calm by counters alone, broken whatever luck says, undecided under a thief."""

from __future__ import annotations

import json
import random

import pytest

from tests.precision import claims, counters, history, limits, table
from tests.precision.claims import Claim, Settled
from tests.precision.counters import Calm, Process, Reading
from tests.precision.judging import Attempt, Finding, Host, outcome, settle

QUIET = Calm(8.0, 0.001, 0.008, 0.9, 5000.0)
LOOKED = Calm(1.0, 0.0, 0.008, 0.9, 0.0, gaps=0.02)
UNSEEN = Calm(1.0, 0.0, 0.008, 0.9, 0.0, gaps=0.2)
THIEF = Calm(8.0, 0.001, 0.10, 0.9, 5000.0)
STOLEN = Calm(8.0, 0.03, 0.008, 0.1, 10.0)
HELD, MISSED = Finding(True, "1.01"), Finding(False, "1.10")


class Scripted(Host):
    """A host whose counters are written down: one `Calm` for each look and for each attempt, in their order."""

    def __init__(self, *seen: Calm, clock=lambda: 0.0) -> None:
        self.seen = list(seen)
        super().__init__(self._watch, self._next, clock)

    def _watch(self, work) -> Calm:
        work()
        return self._next()

    def _next(self) -> Calm:
        return self.seen.pop(0) if len(self.seen) > 1 else self.seen[0]


@pytest.mark.parametrize(
    ("host", "calm"),
    [
        (QUIET, True),
        (THIEF, False),
        (STOLEN, False),
        (Calm(1.0, 0.01, 0.03, None, 0.0), True),
        (Calm(8.0, 0.015, 0.015, None, 0.0), False),
        (LOOKED, True),
        (UNSEEN, False),
    ],
    ids=[
        "quiet, though our own programs wait for each other",
        "a thief",
        "steal",
        "a tick too many in one second",
        "steal and others together",
        "a spin that misses what its timer takes",
        "a hypervisor that counts nothing",
    ],
)
def test_a_host_is_calm_by_its_counters_and_by_what_a_spin_misses(host, calm):
    assert (host.disturbances() == []) is calm


def test_a_host_is_as_calm_as_the_claim_needs():
    busy = Calm(8.0, 0.01, 0.03, 0.9, 0.0)
    assert (busy.disturbances(0.02) == [], busy.disturbances(0.05) == []) == (False, True)
    assert outcome(settle(lambda: MISSED, Scripted(busy), bears=0.02)) == "undecided"
    assert outcome(settle(lambda: MISSED, Scripted(busy), bears=0.05)) == "broken"


def test_a_miss_that_counters_do_not_explain_counts_only_if_a_spin_afterwards_is_calm():
    (seen,) = settle(lambda: MISSED, Scripted(LOOKED, QUIET, UNSEEN), tries=1)
    assert (seen.counts, outcome([seen, seen])) == (False, "undecided")
    (seen,) = settle(lambda: MISSED, Scripted(LOOKED, QUIET, LOOKED), tries=1)
    assert (seen.counts, outcome([seen, seen])) == (True, "broken")


def test_no_attempt_begins_when_the_time_of_the_ring_is_over():
    now = [0.0]

    def slow() -> Finding:
        now[0] += 0.6 * limits.RING_S
        return HELD

    host = Scripted(QUIET, clock=lambda: now[0])
    assert outcome(settle(slow, host, in_time=lambda: host.in_time)) == "held"
    assert settle(slow, host, in_time=lambda: host.in_time) == []
    assert len(settle(slow, host)) == 2, "the slow ring takes its time"


@pytest.mark.parametrize(
    ("findings", "decided"),
    [
        ([(HELD, QUIET), (HELD, QUIET)], "held"),
        ([(HELD, QUIET), (MISSED, QUIET), (MISSED, QUIET)], "broken"),
        ([(MISSED, QUIET), (HELD, QUIET), (HELD, QUIET)], "held"),
        ([(MISSED, THIEF)] * 5, "undecided"),
        ([(HELD, THIEF)] * 5, "undecided"),
        ([(HELD, QUIET), (MISSED, QUIET), (HELD, STOLEN), (MISSED, THIEF), (None, THIEF)], "undecided"),
    ],
    ids=["twice", "held once by luck", "missed once by luck", "a thief", "luck under a thief", "one each"],
)
def test_two_calm_attempts_that_agree_decide(findings, decided):
    assert outcome([Attempt(finding, host) for finding, host in findings]) == decided


def test_a_defect_under_a_thief_is_undecided_and_broken_once_the_host_is_calm():
    assert outcome(settle(lambda: MISSED, Scripted(QUIET, THIEF, QUIET, THIEF), tries=2)) == "undecided"
    assert outcome(settle(lambda: MISSED, Scripted(QUIET), tries=5)) == "broken"


def test_an_attempt_that_read_the_hosts_counters_itself_may_say_that_it_found_nothing():
    spoiled = Finding(False, "5 pairs left out: the hypervisor took 2.1 %", spoiled=True)
    attempts = settle(lambda: spoiled, Scripted(QUIET), tries=3)
    assert (outcome(attempts), len(attempts)) == ("undecided", 3)
    assert "does not count, says the attempt itself" in str(attempts[0])


def test_an_attempt_waits_for_a_calm_look_and_is_lost_when_patience_ends():
    began = []

    def work() -> Finding:
        began.append(True)
        return HELD

    (first, _) = settle(work, Scripted(THIEF, QUIET, QUIET), tries=5)
    assert (first.counts, len(began)) == (True, 2)
    (lost,) = settle(work, Scripted(THIEF), tries=1)
    assert (lost.finding, lost.counts, len(began)) == (None, False, 2)


def test_what_an_attempt_asserts_on_its_way_is_a_miss_and_an_error_is_an_error():
    def lost_a_request() -> Finding:
        raise AssertionError("99 of 100 answered")

    def mistaken() -> Finding:
        raise KeyError("p99")

    attempts = settle(lost_a_request, Scripted(QUIET), tries=5)
    assert outcome(attempts) == "broken"
    assert "99 of 100 answered" in str(attempts[0])
    with pytest.raises(KeyError):
        settle(mistaken, Scripted(QUIET), tries=5)


@pytest.mark.parametrize(("wrong", "most"), [(0.01, 0.0015), (0.05, 0.0125), (0.1, 0.036)])
def test_decisions_are_wrong_as_seldom_as_the_limits_say(wrong, most):
    luck = random.Random(7)
    decided = [
        outcome(settle(lambda: MISSED if luck.random() < wrong else HELD, Scripted(QUIET), tries=5))
        for _ in range(5_000)
    ]
    assert set(decided) <= {"held", "broken"}
    assert 3 * wrong**2 - 2 * wrong**3 < most
    assert decided.count("broken") / len(decided) < most, (
        "binomial: the bound is three deviations and more away"
    )


def reading(at_s: float, steal_s: float, **cpu_s: float) -> Reading:
    """Process 10 is ours and 11 its child; all others hang on 1."""
    parents = {"p10": 1, "p11": 10}
    found = {int(name[1:]): Process(parents.get(name, 1), used) for name, used in cpu_s.items()}
    return Reading(at_s, {0: 0.0, 1: steal_s}, found, 0.0, 0)


def test_foreign_time_is_that_of_others_even_if_they_begin_or_end_in_between():
    before = reading(0.0, 0.0, p1=5.0, p10=1.0, p11=2.0, p20=7.0)
    after = reading(
        10.0, 0.5, p1=12.5, p10=9.0, p11=8.0, p30=0.25
    )  # 20 ended: its 7 s and half a second more are in 1
    seen = counters.between(before, after, [0, 1], 10)
    assert (seen.foreign, seen.steal) == (pytest.approx(0.075), pytest.approx(0.05))
    assert counters.between(before, after, [0], 10).steal == 0.0, "steal counts where we are"


def test_the_counters_of_this_host_can_be_read():
    before = counters.read()
    after = counters.read()
    assert before.processes
    assert counters.between(before, after, [0], 1).foreign >= 0.0


def test_a_claim_undecided_in_ten_sessions_in_a_row_is_red(tmp_path):
    file = tmp_path / "history.jsonl"

    def session(decided: str) -> list[str]:
        attempt = Attempt(HELD if decided == "held" else MISSED, QUIET if decided != "undecided" else THIEF)
        history.append(file, [history.line("now", "what", "a", decided, [attempt])])
        history.append(file, [history.line("now", "other", "b", "held", [attempt])])
        return history.stale(history.read(file))

    assert history.read(file) == []
    assert [session("undecided") for _ in range(limits.STALE_RUNS - 1)] == [[]] * (limits.STALE_RUNS - 1)
    assert session("undecided") == ["a"]
    assert session("held") == []
    kept = json.loads(file.read_text().splitlines()[0])
    assert kept["attempts"][0]["host"]["foreign"] == 0.10
    assert kept["attempts"][0]["counts"] is False


def test_what_was_broken_must_be_held_when_it_is_asked_again(monkeypatch):
    monkeypatch.setattr(claims, "SESSION", [])
    with pytest.raises(pytest.skip.Exception):
        Claim(Scripted(THIEF), "test", hurried=False).settle("it is so", lambda: HELD)
    with pytest.raises((pytest.fail.Exception, pytest.skip.Exception)) as ended:
        Claim(Scripted(THIEF), "test", hurried=False, again=True).settle("it is so", lambda: HELD)
    assert ended.type is pytest.fail.Exception, "a skip would take it back"
    Claim(Scripted(QUIET), "test", hurried=False, again=True).settle("it is so", lambda: HELD)
    assert [one.decided for one in claims.SESSION] == ["undecided", "undecided", "held"]


def test_what_the_rings_time_cut_off_comes_first_the_next_time():
    past = "a1 undecided, a1 undecided, a1 held, b1 held, b2 undecided, c1 broken, c1 undecided, c1 undecided"
    lines = [dict(zip(("test", "outcome"), one.split(), strict=True)) for one in past.split(", ")]
    waiting = history.undecided(lines)
    assert waiting == {"a1": 0, "b1": 0, "b2": 1, "c1": 2}
    lots = iter([0.9, 0.5, 0.5, 0.1])
    keys = history.order([(test[0], test) for test in ("a1", "b1", "b2", "c1", "d1")], waiting, lots.__next__)
    assert sorted(keys, key=keys.__getitem__) == ["c", "b", "d", "a"], "equals by the lot"


def test_the_table_says_first_what_matters_and_whether_a_history_survives(tmp_path):
    calm, disturbed = Attempt(HELD, QUIET), Attempt(MISSED, THIEF)
    told = [
        Settled("holds", "a", "held", [calm, calm], 8.0),
        Settled("was not tried", "b", "undecided", [], 0.0),
        Settled("is noisy", "c", "undecided", [disturbed], 9.0),
        Settled("is off", "d", "broken", [Attempt(MISSED, QUIET, LOOKED)] * 2, 7.0),
    ]
    text = [line for line, _ in table.lines(told)]
    heads = [line for line in text if line.startswith(("BROKEN", "UNDECIDED", "HELD"))]
    assert [line.split()[0] for line in heads] == ["BROKEN", "UNDECIDED", "UNDECIDED", "HELD"]
    assert "not tried" in heads[1]
    assert "2 attempts, 8 s" in heads[3]
    assert "    missed, but does not count, steal 0.1% and others 10.0% > 2%: 1.10" in text
    assert "others 0.8% (2% is borne)" in text[-2]
    assert text[-1].startswith("1 held, 2 undecided, 1 broken, in 24 s")
    file = tmp_path / "history.jsonl"
    history.append(file, [history.line("now", one.what, one.test, one.decided, one.attempts) for one in told])
    assert "goes unnoticed" in table.kept(None, "KEPT")
    assert "holds 1 session, this one included" in table.kept(file, "KEPT")
