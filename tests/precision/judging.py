"""From attempts to an outcome: held, broken or undecided. The host is judged by its counters, never by the result.

::

    look ── calm? ──no──> wait, look again ─── patience over ──> try lost
              │yes
           attempt, counters around it ── calm throughout? ──no──> told, counted for nothing
              │yes
           held or missed ── two that agree: held / broken ── tries over: undecided
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from tests.precision import limits
from tests.precision.counters import Calm

Outcome = Literal["held", "broken", "undecided"]


@dataclass(frozen=True)
class Finding:
    """What one attempt found: whether the claim holds, and the figures that say so."""

    held: bool
    figure: str


@dataclass(frozen=True)
class Attempt:
    """One attempt and what the host did meanwhile; without a finding, the host was never calm enough to begin."""

    finding: Finding | None
    host: Calm

    @property
    def counts(self) -> bool:
        """Whether it is evidence."""
        return self.finding is not None and not self.host.disturbances()

    def __str__(self) -> str:
        said = self.finding.figure if self.finding else "not begun"
        if why := self.host.disturbances():
            return f"[disturbed: {', '.join(why)}] {said}"
        return f"[calm, {'held' if self.finding and self.finding.held else 'missed'}] {said}"


def outcome(attempts: Sequence[Attempt]) -> Outcome:
    """The decision of these attempts, as soon as enough calm ones agree."""
    counted = [one.finding.held for one in attempts if one.counts and one.finding]
    if counted.count(True) >= limits.AGREE:
        return "held"
    return "broken" if counted.count(False) >= limits.AGREE else "undecided"


class Host:
    """Reads the counters, and waits for a calm moment within the patience of the session."""

    def __init__(self, observe: Callable[[Callable[[], object]], Calm]) -> None:
        self._observe = observe
        self._waited_s = 0.0

    def calm_look(self) -> Calm:
        """Look until a look is calm; the last one, if patience ended first."""
        waited_s = 0.0
        while True:
            seen = self._observe(lambda: time.sleep(limits.LOOK_S))
            if not seen.disturbances():
                return seen
            waited_s += seen.seconds
            self._waited_s += seen.seconds
            if waited_s > limits.PATIENCE_S or not self.patient:
                return seen

    @property
    def patient(self) -> bool:
        """Whether there is any patience left."""
        return self._waited_s <= limits.PATIENCE_OF_ALL_S

    def attempt(self, work: Callable[[], Finding]) -> Attempt:
        """One attempt, if the host gives it a calm beginning."""
        before = self.calm_look()
        if before.disturbances():
            return Attempt(None, before)
        found: list[Finding] = []

        def watched() -> None:
            try:
                found.append(work())
            except AssertionError as missed:
                # What an attempt asserts on its way is part of the claim; anything else is an error of the test.
                found.append(
                    Finding(False, str(missed).strip().splitlines()[0] if str(missed) else repr(missed))
                )

        during = self._observe(watched)
        return Attempt(found[0], during)


def settle(work: Callable[[], Finding], host: Host, tries: int) -> list[Attempt]:
    """Try until enough calm attempts agree, or tries or patience are over."""
    attempts: list[Attempt] = []
    while len(attempts) < tries and outcome(attempts) == "undecided":
        attempts.append(host.attempt(work))
        if attempts[-1].finding is None and not host.patient:
            break
    return attempts
