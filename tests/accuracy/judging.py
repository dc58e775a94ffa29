"""From attempts to an outcome: held, broken or undecided. The host is judged by its counters, never by the result.

::

    look ── calm? ──no──> wait, look again ─── patience over ──> try lost
              │yes
           attempt, counters around it ── calm throughout? ──no──> told, counted for nothing
              │yes
           held, or missed and calm in a look afterwards, too ── two that agree: held / broken
              │                                                  tries over: undecided
              └── one of each: another try

Calm is what the claim bears: no attempt is evidence on a host that took more than that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from tests.accuracy import limits
from tests.accuracy.counters import Isolated

Outcome = Literal["held", "broken", "undecided"]


@dataclass(frozen=True)
class Finding:
    """What one attempt found: whether the claim holds, and the figures that say so.

    `spoiled`: the attempt read counters of the host itself, and they say that it found nothing.
    """

    held: bool
    figure: str
    spoiled: bool = False


@dataclass(frozen=True)
class Attempt:
    """One attempt and what the host did meanwhile.

    Without a finding, the host was never calm enough to begin. `after` is the look that follows a miss.
    """

    finding: Finding | None
    host: Isolated
    after: Isolated | None = None
    bears: float = limits.BEARS

    @property
    def counts(self) -> bool:
        """Whether it is evidence."""
        return self.finding is not None and not self.disturbances()

    def disturbances(self) -> list[str]:
        """What the host did beyond what the claim bears."""
        later = self.after.disturbances(self.bears) if self.after else []
        itself = ["says the attempt itself"] if self.finding and self.finding.spoiled else []
        return self.host.disturbances(self.bears) + [f"{one} afterwards" for one in later] + itself

    def __str__(self) -> str:
        if self.finding is None:
            return f"not begun, no calm look: {', '.join(self.disturbances())}"
        found = "held" if self.finding.held else "missed"
        if why := self.disturbances():
            return f"{found}, but does not count, {', '.join(why)}: {self.finding.figure}"
        return f"{found}: {self.finding.figure}"


def outcome(attempts: Sequence[Attempt]) -> Outcome:
    """The decision of these attempts, as soon as enough calm ones agree."""
    counted = [one.finding.held for one in attempts if one.counts and one.finding]
    if counted.count(True) >= limits.AGREE:
        return "held"
    return "broken" if counted.count(False) >= limits.AGREE else "undecided"


class Host:
    """Reads the counters, and waits for a calm moment within the patience of the session.

    `observe` runs something with the counters around it, `look` spins for a moment.
    """

    def __init__(
        self,
        observe: Callable[[Callable[[], object]], Isolated],
        look: Callable[[], Isolated],
    ) -> None:
        self._observe, self._look = observe, look
        self._waited_s = 0.0

    def isolated_look(self, bears: float) -> Isolated:
        """Look until a look is calm; the last one, if patience ended first."""
        waited_s = 0.0
        while True:
            seen = self._look()
            if not seen.disturbances(bears):
                return seen
            waited_s += seen.seconds
            self._waited_s += seen.seconds
            if waited_s > limits.PATIENCE_S or not self.patient:
                return seen

    @property
    def patient(self) -> bool:
        """Whether there is any patience left."""
        return self._waited_s <= limits.PATIENCE_OF_ALL_S

    def attempt(self, work: Callable[[], Finding], bears: float) -> Attempt:
        """One attempt, if the host gives it a calm beginning."""
        before = self.isolated_look(bears)
        if before.disturbances(bears):
            return Attempt(None, before, bears=bears)
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
        missed = not found[0].held and not during.disturbances(bears)
        return Attempt(found[0], during, self._look() if missed else None, bears)


def settle(
    work: Callable[[], Finding],
    host: Host,
    tries: int = limits.TRIES,
    bears: float = limits.BEARS,
) -> list[Attempt]:
    """Try until enough calm attempts agree, or tries or patience are over."""
    attempts: list[Attempt] = []
    while len(attempts) < tries and outcome(attempts) == "undecided":
        attempts.append(host.attempt(work, bears))
        if attempts[-1].finding is None and not host.patient:
            break
    return attempts
