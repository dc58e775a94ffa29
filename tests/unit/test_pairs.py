"""Interleaved sides: their order, what is made again, what is not, and how long it goes on."""

from __future__ import annotations

import itertools
import random
from collections import Counter

from rows import each_row

from hindmost.notes import Note
from hindmost.run.soundness import RepeatBudget
from hindmost.studies.pairs import GivenUp, Step, interleave, order_of

NAMES = ("original", "clone", "again")
STOLEN = Note("steal-time", "the hypervisor took 3 %")


class Scripted:
    """A side whose runs of some rounds are not sound, or that is given up in one."""

    def __init__(
        self, name: str, diary: list[str], unsound: tuple[int, ...] = (), lost: int | None = None
    ) -> None:
        self.name, self.diary = name, diary
        self.bad, self.lost = unsound, lost
        self.runs: list[int] = []

    def has(self, number: int) -> bool:
        return number in self.runs

    def make(self, number: int) -> None:
        if number == self.lost:
            raise GivenUp
        self.diary.append(f"{self.name} {number}")
        self.runs.append(number)

    def unsound(self, number: int) -> Note | None:
        return STOLEN if number in self.bad else None


def sides(diary: list[str], **unsound: tuple[int, ...]) -> dict[str, Scripted]:
    return {name: Scripted(name, diary, unsound.get(name, ())) for name in NAMES}


def test_every_round_has_all_sides_once_in_an_order_of_its_own():
    diary: list[str] = []
    rounds = interleave(sides(diary), "seed", RepeatBudget(40))
    assert rounds.sound == list(range(1, 41))
    orders = [tuple(line.split()[0] for line in diary[i : i + 3]) for i in range(0, 120, 3)]
    assert set(map(frozenset, orders)) == {frozenset(NAMES)}
    assert set(orders) == set(itertools.permutations(NAMES))
    assert max(Counter(order[0] for order in orders).values()) <= 24


@each_row("number", range(1, 30))
def test_orders_are_those_of_studies_that_were_begun_before(number):
    """As verification and confirmation drew them when each had a loop of its own."""
    order = list(NAMES)
    random.Random(f"1 0.5 {number}").shuffle(order)
    assert order_of(sides([]), "1 0.5", number) == order
    pair = [("before", (0,)), ("after", (1,))]
    random.Random(f"1 low pair {number}").shuffle(pair)
    assert order_of(dict.fromkeys(("before", "after")), "1 low pair", number) == [side for side, _ in pair]


def test_a_round_with_one_run_that_is_not_sound_is_made_again_whole():
    diary: list[str] = []
    rounds = interleave(sides(diary, clone=(2,), again=(2, 3)), "seed", RepeatBudget(3))
    assert rounds.sound == [1, 4, 5]
    assert rounds.unsound == {2: STOLEN, 3: STOLEN}
    assert len(diary) == 15


def test_no_more_is_made_than_the_budget_has():
    diary: list[str] = []
    rounds = interleave(sides(diary, clone=tuple(range(1, 99))), "seed", RepeatBudget(4))
    assert (rounds.sound, sorted(rounds.unsound)) == ([], [1, 2, 3, 4, 5, 6])


def test_what_is_stored_is_not_made_again_wherever_it_stopped():
    whole: list[str] = []
    interleave(sides(whole, original=(2,)), "seed", RepeatBudget(3))
    for stop in range(len(whole)):
        diary: list[str] = []
        made = sides(diary, original=(2,))
        for line in whole[:stop]:
            name, number = line.split()
            made[name].runs.append(int(number))
        rounds = interleave(made, "seed", RepeatBudget(3))
        assert diary == whole[stop:]
        assert rounds.sound == [1, 3, 4]


def test_whoever_watches_is_told_of_every_turn_and_how_many_there_will_be():
    steps: list[Step] = []
    interleave(sides([], clone=(1,)), "seed", RepeatBudget(2), steps.append)
    assert [step.done for step in steps] == list(range(1, 10))
    assert [step.of for step in steps] == [6] * 3 + [9] * 6
    assert [(step.side, step.round) for step in steps if step.why] == [("clone", 1)]


def test_a_side_that_is_given_up_ends_it():
    diary: list[str] = []
    made = sides(diary)
    made["clone"].lost = 2
    assert interleave(made, "seed", RepeatBudget(5)).sound == [1]
    assert "clone 2" not in diary
    assert len(diary) <= 5
