"""Interleaved sides: each round makes a run of every side, in a new random order.

::

    round 1    original  clone     again       drift (heat, memory, neighbors) affects all sides alike
    round 2    clone     again     original    seed and number alone decide the order of a round
    round 3    again     original  clone       a round with a run that does not count is repeated

Two sides are pairs. A comparison counts whole rounds only, so one run that does not count (`run.soundness`)
costs its round. Rounds go on until as many count as were requested, or the budget is spent (`RepeatBudget`).
Stored runs are not repeated, so an interrupted study resumes where it stopped.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from hindmost.notes import Note
from hindmost.run.soundness import RepeatBudget


class GivenUp(Exception):
    """A side that will never have another run; what there is stays."""


class Side(Protocol):
    """One of those that are compared; keeps its own runs, one a round."""

    def has(self, number: int) -> bool:
        """Whether its run of round `number` is stored."""

    def make(self, number: int) -> None:
        """Make its run of round `number`.

        Raises
        ------
        GivenUp
            If it cannot have one, nor ever will.
        """

    def unsound(self, number: int) -> Note | None:
        """Why its run of round `number` does not count, or was not made; None if it counts."""


@dataclass(frozen=True, slots=True)
class Step:
    """A side's turn is over: the run ``done`` of ``of``, as far as is known; ``why`` it does not count."""

    side: str
    round: int
    done: int
    of: int
    why: Note | None


@dataclass(slots=True)
class Rounds:
    """What rounds there are: those that count, and why the others do not."""

    sound: list[int] = field(default_factory=list)
    unsound: dict[int, Note] = field(default_factory=dict)


def order_of(sides: Mapping[str, Side], seed: str, number: int) -> list[str]:
    """The order of one round; each is equally likely.

    Examples
    --------
    >>> sides = dict.fromkeys(("original", "clone", "again"))
    >>> [order_of(sides, "1 0.5", number)[0] for number in (1, 2, 3)]
    ['clone', 'again', 'again']
    """
    names = list(sides)
    random.Random(f"{seed} {number}").shuffle(names)
    return names


def interleave(
    sides: Mapping[str, Side],
    seed: str,
    remaking: RepeatBudget,
    on_step: Callable[[Step], None] = lambda _: None,
) -> Rounds:
    """Make rounds until enough are sound, or as many were made as may be.

    Parameters
    ----------
    sides : mapping
        In the order that is shuffled.
    seed : str
        Decides the orders; what it is made of must not change between a study's start and its end.
    remaking : Remaking
        Of rounds.
    on_step : callable, optional
        Called when a side's turn is over, stored runs included.
    """
    rounds = Rounds()
    done = 0
    for number in range(1, remaking.most + 1):
        whys = []
        for name in order_of(sides, seed, number):
            side = sides[name]
            if not side.has(number):
                try:
                    side.make(number)
                except GivenUp:
                    return rounds
            why = side.unsound(number)
            done += 1
            of = len(sides) * (remaking.requested + len(rounds.unsound))
            on_step(Step(name, number, done, max(of, done), why))
            whys += [why] if why is not None else []
        if whys:
            rounds.unsound[number] = whys[0]
        else:
            rounds.sound.append(number)
        if len(rounds.sound) >= remaking.requested:
            break
    return rounds
