"""Interleaved arms: their order, repeated rounds, the budget, and resuming."""

from __future__ import annotations

import itertools
import random
from collections import Counter

from rows import each_row

from hindmost.core.notes import Note
from hindmost.core.run.status import RepeatBudget
from hindmost.core.study.pairs import NoMoreRuns, Step, draw_order, interleave

NAMES = ("original", "clone", "again")
STEAL = Note("steal-time", "the hypervisor took 3 %")


class FakeArm:
    """An arm whose runs of some rounds are excluded, or that fails in one round."""

    def __init__(
        self, name: str, log: list[str], excluded: tuple[int, ...] = (), lost: int | None = None
    ) -> None:
        self.name, self.log = name, log
        self.bad, self.lost = excluded, lost
        self.runs: list[int] = []

    def has(self, number: int) -> bool:
        return number in self.runs

    def make(self, number: int) -> None:
        if number == self.lost:
            raise NoMoreRuns
        self.log.append(f"{self.name} {number}")
        self.runs.append(number)

    def excluded(self, number: int) -> Note | None:
        return STEAL if number in self.bad else None


def arms(log: list[str], **excluded: tuple[int, ...]) -> dict[str, FakeArm]:
    return {name: FakeArm(name, log, excluded.get(name, ())) for name in NAMES}


def test_every_round_has_each_arm_once_in_random_order():
    log: list[str] = []
    rounds = interleave(arms(log), "seed", RepeatBudget(40))
    assert rounds.counted == list(range(1, 41))
    orders = [tuple(line.split()[0] for line in log[i : i + 3]) for i in range(0, 120, 3)]
    assert set(map(frozenset, orders)) == {frozenset(NAMES)}
    assert set(orders) == set(itertools.permutations(NAMES))
    assert max(Counter(order[0] for order in orders).values()) <= 24


@each_row("number", range(1, 30))
def test_orders_are_the_same_in_every_version(number):
    """A stored study must resume with its original orders."""
    order = list(NAMES)
    random.Random(f"1 0.5 {number}").shuffle(order)
    assert draw_order(arms([]), "1 0.5", number) == order
    pair = [("before", (0,)), ("after", (1,))]
    random.Random(f"1 low pair {number}").shuffle(pair)
    assert draw_order(dict.fromkeys(("before", "after")), "1 low pair", number) == [side for side, _ in pair]


def test_a_round_with_one_excluded_run_is_repeated_whole():
    log: list[str] = []
    rounds = interleave(arms(log, clone=(2,), again=(2, 3)), "seed", RepeatBudget(3))
    assert rounds.counted == [1, 4, 5]
    assert rounds.excluded == {2: STEAL, 3: STEAL}
    assert len(log) == 15


def test_rounds_end_once_they_are_enough_and_excluded_ones_are_not_asked_about():
    asked: list[int] = []

    def is_enough(counted: int) -> bool:
        asked.append(counted)
        return counted == 3

    log: list[str] = []
    some_arms = arms(log, clone=(2,))
    rounds = interleave(some_arms, "seed", RepeatBudget(9), is_enough=is_enough)
    assert (rounds.counted, asked) == ([1, 3, 4], [1, 2, 3])
    made = len(log)
    assert interleave(some_arms, "seed", RepeatBudget(9), is_enough=is_enough).counted == [1, 3, 4]
    assert len(log) == made, "stored rounds decide again"


def test_the_budget_limits_the_rounds():
    log: list[str] = []
    rounds = interleave(arms(log, clone=tuple(range(1, 99))), "seed", RepeatBudget(4))
    assert (rounds.counted, sorted(rounds.excluded)) == ([], [1, 2, 3, 4, 5, 6])


def test_stored_runs_are_not_repeated_wherever_a_study_stopped():
    whole: list[str] = []
    interleave(arms(whole, original=(2,)), "seed", RepeatBudget(3))
    for stop in range(len(whole)):
        log: list[str] = []
        remaining_arms = arms(log, original=(2,))
        for line in whole[:stop]:
            name, number = line.split()
            remaining_arms[name].runs.append(int(number))
        rounds = interleave(remaining_arms, "seed", RepeatBudget(3))
        assert log == whole[stop:]
        assert rounds.counted == [1, 3, 4]


def test_progress_reports_every_run_and_the_expected_total():
    steps: list[Step] = []
    interleave(arms([], clone=(1,)), "seed", RepeatBudget(2), steps.append)
    assert [step.done for step in steps] == list(range(1, 10))
    assert [step.of for step in steps] == [6] * 3 + [9] * 6
    assert [(step.arm, step.round) for step in steps if step.why] == [("clone", 1)]


def test_an_arm_that_fails_ends_the_study():
    log: list[str] = []
    remaining_arms = arms(log)
    remaining_arms["clone"].lost = 2
    assert interleave(remaining_arms, "seed", RepeatBudget(5)).counted == [1]
    assert "clone 2" not in log
    assert len(log) <= 5
