"""Interleaved arms: each round makes one run of every arm, in a new random order.

::

    round 1    original  clone     again       drift (heat, memory, neighbors) affects all arms alike
    round 2    clone     again     original    the seed and the number decide the order of a round
    round 3    again     original  clone       a round with an excluded run is repeated

A round with two arms is a pair. Only whole rounds count, so one excluded run (`run.status`) costs its
round. Rounds are made until as many count as were requested, the study has decided, or the budget is spent
(`RepeatBudget`). Stored runs are not repeated, so an interrupted study resumes where it stopped.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from hindmost.core.notes import Note
from hindmost.core.run.status import RepeatBudget


class NoMoreRuns(Exception):
    """The arm cannot have any further run; its stored runs stay."""


class Arm(Protocol):
    """One of the arms that are compared. It stores its own runs, one for each round."""

    def has(self, number: int) -> bool:
        """Whether the run of round `number` is stored."""

    def make(self, number: int) -> None:
        """Make the run of round `number`.

        Raises
        ------
        NoMoreRuns
            If the arm can have neither this run nor any later one.
        """

    def excluded(self, number: int) -> Note | None:
        """Return why the run of round `number` is excluded or missing; None if it counts."""


@dataclass(frozen=True, slots=True)
class Step:
    """One run of an arm is complete: run ``done`` of about ``of``; ``why`` it is excluded, if it is."""

    arm: str
    round: int
    done: int
    of: int
    why: Note | None


@dataclass(slots=True)
class Rounds:
    """Numbers of the rounds that count, and why the others do not."""

    counted: list[int] = field(default_factory=list)
    excluded: dict[int, Note] = field(default_factory=dict)


def draw_order(arms: Mapping[str, Arm], seed: str, number: int) -> list[str]:
    """Return the order of the arms in a round; each order is equally likely.

    Examples
    --------
    >>> arms = dict.fromkeys(("original", "clone", "again"))
    >>> [draw_order(arms, "1 0.5", number)[0] for number in (1, 2, 3)]
    ['clone', 'again', 'again']
    """
    names = list(arms)
    random.Random(f"{seed} {number}").shuffle(names)
    return names


def interleave(
    arms: Mapping[str, Arm],
    seed: str,
    budget: RepeatBudget,
    on_step: Callable[[Step], None] = lambda _: None,
    is_enough: Callable[[int], bool] = lambda _: False,
) -> Rounds:
    """Make rounds until enough count, or the budget is spent.

    Parameters
    ----------
    arms : mapping
        Their order is the one that is shuffled.
    seed : str
        Seed of the orders. It must be the same when a study is resumed.
    budget : RepeatBudget
        Number of rounds that must count, and how many may be repeated.
    on_step : callable, optional
        Called after each run, stored ones included.
    is_enough : callable, optional
        Called with the number of rounds that count after each of them, stored ones included. True ends the
        rounds.
    """
    rounds = Rounds()
    done = 0
    for number in range(1, budget.most + 1):
        whys = []
        for name in draw_order(arms, seed, number):
            arm = arms[name]
            if not arm.has(number):
                try:
                    arm.make(number)
                except NoMoreRuns:
                    return rounds
            why = arm.excluded(number)
            done += 1
            of = len(arms) * (budget.requested + len(rounds.excluded))
            on_step(Step(name, number, done, max(of, done), why))
            whys += [why] if why is not None else []
        if whys:
            rounds.excluded[number] = whys[0]
            continue
        rounds.counted.append(number)
        if len(rounds.counted) >= budget.requested or is_enough(len(rounds.counted)):
            break
    return rounds
