"""The switch-back: each suspect there and gone in turns, a sham beside them, everything in drawn orders."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hindmost.errors import HostUnfit
from hindmost.interventions.changes import Intervention, SuspectGone
from hindmost.interventions.session import Session
from hindmost.notes import Note
from hindmost.run.soundness import Remaking
from hindmost.stats.causes import Effect, effect_of
from hindmost.store.diagnosis import Pair
from hindmost.studies.diagnosis.harm import RECOVER_S, TIMES, Harmful, Watch, refuse_slow, urgent
from hindmost.studies.diagnosis.windows import Windows
from hindmost.studies.pairs import GivenUp, Step, interleave

FIRST_S = 0.025
"""For which a suspect is taken away at first, then twice as long until it is a window: who needs it, and
what it holds back, is felt while the harm is small."""
COLLAPSED = 0.5
"""Of the work with the suspect there: less is left only of a load that came from it. Caches, locks and
interrupts that a neighbour costs are some tens of percent at most."""
BRINGS_LOAD = "without it the application is sent less than half as much"
SPENT = "experiments made users wait too often, so nothing more was changed"
LEAST_ROUNDS = 3
LESS = 1.1
"""Times as many requests with the suspect there: it sends them, or passes them on."""
SENT_P = 0.005
COLLAPSED_P = 1e-3


@dataclass(slots=True)
class Trial:
    """One suspect's pairs; a `hindmost.studies.pairs.Side`.

    Attributes
    ----------
    there, gone : dict
        The percentile by round, microseconds.
    began : dict
        When each pair began, by the monotonic clock, and whether it began without the suspect.
    dropped : Note or None
        Why it was given up.
    base : Intervention or None
        A cause that was found already: taken away throughout each pair.
    reproduces : bool
        Of a twin: what is in force brings the suspect there, instead of taking it away.
    metrics : dict
        What the application did in each window, by round and whether the suspect was there.
    worked : dict
        Processors that it used, likewise.
    sent : dict
        What it was sent, likewise.
    harmed : int
        Experiments that were undone because users waited.
    """

    suspect: Intervention
    session: Session
    windows: Windows
    seed: str
    there: dict[int, float] = field(default_factory=dict)
    gone: dict[int, float] = field(default_factory=dict)
    began: dict[int, tuple[float, bool]] = field(default_factory=dict)
    dropped: Note | None = None
    base: Intervention | None = None
    reproduces: bool = False
    metrics: dict[tuple[int, bool], NDArray[np.float64]] = field(default_factory=dict)
    worked: dict[tuple[int, bool], float] = field(default_factory=dict)
    sent: dict[tuple[int, bool], NDArray[np.float64]] = field(default_factory=dict)
    harmed: int = 0
    _gentle: bool = True
    _watches: list[Watch] = field(default_factory=list)

    def has(self, number: int) -> bool:  # noqa: D102
        return number in self.there and number in self.gone

    def make(self, number: int) -> None:
        """One pair, in an order that follows from seed, suspect and number."""
        draw = random.Random(f"{self.seed} {self.suspect.name} {number}")
        try:
            with urgent(), nullcontext() if self.base is None else self.session.remove(self.base):
                order = draw.sample((False, True), 2)
                self.began[number] = (time.monotonic(), order[0])
                for gone in order:
                    changed = gone != self.reproduces
                    value = self._changed() if changed else self.windows.measure()
                    (self.gone if gone else self.there)[number] = value
                    if self.windows.moved is not None:
                        self.metrics[number, not gone] = self.windows.moved
                    if self.windows.worked is not None:
                        self.worked[number, not gone] = self.windows.worked
                    if self.windows.sent is not None:
                        self.sent[number, not gone] = self.windows.sent
        except SuspectGone as error:
            self.dropped = error.note
            raise GivenUp from None
        except OSError as error:
            self.dropped = Note("intervention-failed", str(error), {"name": self.suspect.name})
            raise GivenUp from None

    def _changed(self) -> float:
        # What changes nothing harms nobody, and a twin has no users.
        free, bound = self.reproduces or self.suspect.name == "sham", self.windows.bound
        while True:
            if bound.spent and not free:
                raise SuspectGone("harm-spent", SPENT, given_up=bound.given_up)
            try:
                return self._watched(free)
            except Harmful as harm:
                self.harmed += 1
                self._gentle = True
                self.windows.stay(RECOVER_S, None)
                self.windows.rest(None)
                if harm.silent or self.harmed == TIMES:
                    bound.given_up += 1
                    raise

    def _watched(self, free: bool) -> float:
        seconds = math.inf if free or not self._gentle else FIRST_S
        sent, usual = 0.0, 0.0
        while seconds < self.windows.window_s + self.windows.settle_s:
            watch = self.windows.watch()
            with self.session.remove(self.suspect):
                self.windows.stay(seconds, watch)
            if self.windows.sent is not None and self.can_send:
                sent += seconds * self.windows.sent.sum()
                usual += seconds * self.windows.usual_per_s
                if seconds > FIRST_S and collapsed(sent, usual):
                    raise SuspectGone("load-not-tried", BRINGS_LOAD, name=self.suspect.name)
            self.windows.rest(watch)
            seconds *= 2
        self._gentle = False
        watch = None if free else self.windows.watch()
        with self.session.remove(self.suspect):
            value = self.windows.measure(watch)
            if not self.suspect.is_gone():
                raise SuspectGone(
                    "intervention-failed",
                    f"{self.suspect.about}: it did not take effect",
                    name=self.suspect.name,
                )
        # Who was kept waiting comes now, and users wait behind that.
        self.windows.rest(watch)
        if watch is not None:
            self._watches.append(watch)
            refuse_slow(self._watches)
        return value

    def work(self, *, there: bool) -> float:
        """Processors that the application used with the suspect, or without it; NaN: too few rounds."""
        rounds = [one for one in self.gone if {(one, True), (one, False)} <= set(self.worked)]
        if len(rounds) < LEAST_ROUNDS:
            return math.nan
        return float(np.median([self.worked[one, there] for one in rounds]))

    @property
    def can_send(self) -> bool:
        """Whether the suspect is a program, not known to be a client, and may bring load nevertheless."""
        return getattr(self.suspect, "program", False) and getattr(self.suspect, "role", "") != "client"

    @property
    def is_load(self) -> bool:
        """Whether the application has less to do without the suspect, which then brings load."""
        if not self.can_send:
            return False
        return self.work(there=False) < COLLAPSED * self.work(there=True) or self._sends

    @property
    def _sends(self) -> bool:
        """Whether the application is sent less without it: slower or faster code is sent as much."""
        rounds = [one for one in sorted(self.gone) if {(one, True), (one, False)} <= set(self.sent)]
        if len(rounds) < LEAST_ROUNDS:
            return False
        # One more of each, so that none is zero.
        seconds = self.windows.window_s
        there, gone = (
            1.0 + seconds * np.array([self.sent[one, at] for one in rounds]) for at in (True, False)
        )
        effects = [effect_of(*both) for both in zip(there.T, gone.T, strict=True)]
        return any(one.log > math.log(LESS) and one.p < SENT_P for one in effects)

    def unsound(self, number: int) -> None:
        """Every run counts."""

    def beats(self, rival: Trial) -> Effect:
        """How much slower it is without the rival than without this one, round by round."""
        rounds = sorted(set(self.gone) & set(rival.gone))
        return effect_of(
            np.array([rival.gone[one] for one in rounds]), np.array([self.gone[one] for one in rounds])
        )

    def moved(self, there: bool) -> NDArray[np.float64]:
        """Metrics of the windows with the suspect there, or without it, a row for each whole pair."""
        rounds = [one for one in sorted(self.gone) if {(one, True), (one, False)} <= set(self.metrics)]
        rows = [self.metrics[one, there] for one in rounds]
        return np.array(rows) if rows else np.empty((0, 0))

    @property
    def measured(self) -> list[Pair]:
        """All pairs so far; ``at_s`` is the monotonic clock's."""
        return [
            Pair(
                round=number,
                at_s=self.began[number][0],
                with_us=self.there[number],
                without_us=self.gone[number],
                without_first=self.began[number][1],
            )
            for number in sorted(set(self.there) & set(self.gone))
        ]

    @property
    def effect(self) -> Effect:
        """Over all pairs so far."""
        rounds = sorted(set(self.there) & set(self.gone))
        return effect_of(
            np.array([self.there[one] for one in rounds]), np.array([self.gone[one] for one in rounds])
        )


def collapsed(sent: float, usual: float) -> bool:
    """Whether so many fewer requests than usual came that it is no accident (Poisson).

    Examples
    --------
    >>> collapsed(1.0, 4.0), collapsed(8.0, 26.0), collapsed(20.0, 26.0)
    (False, True, False)
    """
    from scipy.special import pdtr  # type: ignore[import-untyped, unused-ignore]

    return sent < COLLAPSED * usual and float(pdtr(sent, usual)) < COLLAPSED_P


def pairs_of(
    trials: Mapping[str, Trial], seed: str, pairs: int, on_step: Callable[[Step], None] = lambda _: None
) -> dict[str, Trial]:
    """Make pairs until each has as many; those that cannot go on are left out of what is returned.

    Raises
    ------
    HostUnfit
        The sham itself cannot go on.
    """
    left = dict(trials)
    while True:
        interleave(left, seed, Remaking(pairs, share=0.0), on_step)
        dropped = [name for name, trial in left.items() if trial.dropped is not None]
        if not dropped:
            return left
        for name in dropped:
            if name == "sham":
                why = left[name].dropped
                raise HostUnfit(
                    "sham-failed",
                    f"even an experiment that changes nothing failed: {why}",
                    reason=None if why is None else why.code,
                )
            del left[name]
