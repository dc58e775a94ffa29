"""Switch-back experiments: suspects are present and removed in random order, interleaved with a sham."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hindmost.commands.diagnose.document import Pair
from hindmost.commands.diagnose.harm import (
    MOST_HARMFUL,
    RECOVER_S,
    Harmful,
    Watch,
    real_time_priority,
    refuse_slow,
)
from hindmost.commands.diagnose.windows import Windows
from hindmost.core.interventions.changes import Intervention, SuspectGone
from hindmost.core.interventions.session import Session
from hindmost.core.notes import Note
from hindmost.core.run.status import RepeatBudget
from hindmost.core.study.pairs import NoMoreRuns, Step, interleave
from hindmost.errors import HostUnfit
from hindmost.stats.causes import Effect, effect_of

FIRST_S = 0.025
"""Duration of the first removal of a suspect, s. It doubles until it fills a window, so that a harmful
removal is noticed while the harm is small."""
COLLAPSED = 0.5
"""Fraction of the work or requests with the suspect present. Below it, the suspect brought load: the caches,
locks and interrupts that a neighbour costs take some tens of percent at most."""
BRINGS_LOAD = "without it the application receives less than half of its requests"
SPENT = "experiments delayed users too often, so nothing more was changed"
LEAST_ROUNDS = 3
LESS = 1.1
"""Ratio of requests with and without the suspect from which it sends them or passes them on."""
SENT_P = 0.005
COLLAPSED_P = 1e-3


@dataclass(slots=True)
class Trial:
    """The pairs of one suspect; implements `hindmost.core.study.pairs.Arm`.

    Attributes
    ----------
    there, gone : dict
        Latency percentile by round, µs, with the suspect present and removed.
    began : dict
        Start of each pair by the monotonic clock, s, and whether the suspect was removed in its first half.
    dropped : Note or None
        Why the suspect was given up.
    base : Intervention or None
        A cause found earlier, which stays removed during each pair.
    reproduces : bool
        Whether the intervention adds the suspect instead of removing it (on a replica).
    metrics : dict
        The application's metrics in each window, by round and whether the suspect was present.
    worked : dict
        CPUs that the application used, by the same key.
    sent : dict
        Requests and connections per second that the application received, by the same key.
    harmed : int
        Experiments that were undone because they delayed users.
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
        """Measure one pair, in an order that follows from seed, suspect and number."""
        draw = random.Random(f"{self.seed} {self.suspect.name} {number}")
        try:
            with real_time_priority(), nullcontext() if self.base is None else self.session.remove(self.base):
                order = draw.sample((False, True), 2)
                self.began[number] = (time.monotonic(), order[0])
                for gone in order:
                    changed = gone != self.reproduces
                    value = self._measure_within_bound() if changed else self.windows.measure()
                    (self.gone if gone else self.there)[number] = value
                    if self.windows.metrics is not None:
                        self.metrics[number, not gone] = self.windows.metrics
                    if self.windows.worked is not None:
                        self.worked[number, not gone] = self.windows.worked
                    if self.windows.sent is not None:
                        self.sent[number, not gone] = self.windows.sent
        except SuspectGone as error:
            self.dropped = error.note
            raise NoMoreRuns from None
        except OSError as error:
            self.dropped = Note("intervention-failed", str(error), {"name": self.suspect.name})
            raise NoMoreRuns from None

    def _measure_within_bound(self) -> float:
        # The sham harms no user, and a replica has no users.
        free, bound = self.reproduces or self.suspect.name == "sham", self.windows.bound
        while True:
            if bound.is_exhausted and not free:
                raise SuspectGone("harm-spent", SPENT, given_up=bound.given_up)
            try:
                return self._measure_changed(free)
            except Harmful as harm:
                self.harmed += 1
                self._gentle = True
                self.windows.stay(RECOVER_S, None)
                self.windows.recover(None)
                if harm.silent or self.harmed == MOST_HARMFUL:
                    bound.given_up += 1
                    raise

    def _measure_changed(self, free: bool) -> float:
        seconds = math.inf if free or not self._gentle else FIRST_S
        sent, usual, few = 0.0, 0.0, False
        while seconds < self.windows.window_s + self.windows.settle_s:
            watch = self.windows.watch()
            with self.session.remove(self.suspect):
                self.windows.stay(seconds, watch)
            if self.windows.sent is not None and self.can_send:
                sent += seconds * self.windows.sent.sum()
                usual += seconds * self.windows.usual_per_s
            collapsed = seconds > FIRST_S and has_collapsed(sent, usual)
            if collapsed and few:
                raise SuspectGone("load-not-tried", BRINGS_LOAD, name=self.suspect.name)
            self.windows.recover(watch)
            if collapsed:
                # A stall of the host looks the same, so the same time is tried once more.
                sent, usual, few = 0.0, 0.0, True
            else:
                seconds *= 2
        self._gentle = False
        watch = None if free else self.windows.watch()
        with self.session.remove(self.suspect):
            value = self.windows.measure(watch)
            if not self.suspect.is_gone():
                raise SuspectGone(
                    "intervention-failed",
                    f"{self.suspect.description}: it did not take effect",
                    name=self.suspect.name,
                )
        # Delayed requests arrive now, and users wait behind them.
        self.windows.recover(watch)
        if watch is not None:
            self._watches.append(watch)
            refuse_slow(self._watches)
        return value

    def work(self, *, there: bool) -> float:
        """Return the median CPUs used with or without the suspect; NaN with too few rounds."""
        rounds = [one for one in self.gone if {(one, True), (one, False)} <= set(self.worked)]
        if len(rounds) < LEAST_ROUNDS:
            return math.nan
        return float(np.median([self.worked[one, there] for one in rounds]))

    @property
    def can_send(self) -> bool:
        """Whether the suspect is a program that is not known as a client, but may still send requests."""
        return getattr(self.suspect, "program", False) and getattr(self.suspect, "role", "") != "client"

    @property
    def is_load(self) -> bool:
        """Whether the application has less work without the suspect, which therefore brings load."""
        if not self.can_send:
            return False
        return self.work(there=False) < COLLAPSED * self.work(there=True) or self._sends

    @property
    def _sends(self) -> bool:
        """Whether the application receives fewer requests without it, whatever the speed of its code."""
        rounds = [one for one in sorted(self.gone) if {(one, True), (one, False)} <= set(self.sent)]
        if len(rounds) < LEAST_ROUNDS:
            return False
        # One is added to each count so that no count is zero.
        seconds = self.windows.window_s
        there, gone = (
            1.0 + seconds * np.array([self.sent[one, at] for one in rounds]) for at in (True, False)
        )
        effects = [effect_of(*both) for both in zip(there.T, gone.T, strict=True)]
        return any(one.log > math.log(LESS) and one.p < SENT_P for one in effects)

    def excluded(self, number: int) -> None:
        """Do nothing: every pair counts."""

    def beats(self, rival: Trial) -> Effect:
        """Return how much slower latency is without the rival than without this suspect, round by round."""
        rounds = sorted(set(self.gone) & set(rival.gone))
        return effect_of(
            np.array([rival.gone[one] for one in rounds]), np.array([self.gone[one] for one in rounds])
        )

    def metric_rows(self, there: bool) -> NDArray[np.float64]:
        """Return metrics with or without the suspect, one row per complete pair."""
        rounds = [one for one in sorted(self.gone) if {(one, True), (one, False)} <= set(self.metrics)]
        rows = [self.metrics[one, there] for one in rounds]
        return np.array(rows) if rows else np.empty((0, 0))

    @property
    def pairs(self) -> list[Pair]:
        """All pairs so far; ``at_s`` is on the monotonic clock."""
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
        """Effect over all pairs so far."""
        rounds = sorted(set(self.there) & set(self.gone))
        return effect_of(
            np.array([self.there[one] for one in rounds]), np.array([self.gone[one] for one in rounds])
        )


def has_collapsed(sent: float, usual: float) -> bool:
    """Whether the number of requests fell too far below the usual one for chance (Poisson).

    Examples
    --------
    >>> has_collapsed(1.0, 4.0), has_collapsed(8.0, 26.0), has_collapsed(20.0, 26.0)
    (False, True, False)
    """
    from scipy.special import pdtr  # type: ignore[import-untyped, unused-ignore]

    return sent < COLLAPSED * usual and float(pdtr(sent, usual)) < COLLAPSED_P


def measure_pairs(
    trials: Mapping[str, Trial], seed: str, pairs: int, on_step: Callable[[Step], None] = lambda _: None
) -> dict[str, Trial]:
    """Measure pairs until each trial has that many. Return the trials that could go on.

    Raises
    ------
    HostUnfit
        The sham failed.
    """
    left = dict(trials)
    while True:
        interleave(left, seed, RepeatBudget(pairs, share=0.0), on_step)
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
