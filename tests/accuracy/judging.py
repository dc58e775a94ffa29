"""From attempts to an outcome: held, broken or undecided. The host is judged by its counters, never by the result.

::

    check the host ── quiet? ──no──> wait, check again ─── time limit ──> attempt lost
              │yes
           attempt, counters around it ── quiet throughout? ──no──> reported, does not count
              │yes
           held, or missed and still quiet afterwards ── two agree: held / broken
              │                                           no attempts left: undecided
              └── one of each: another attempt

A host is quiet if interference takes no more than the claim tolerates. Other attempts are no evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from tests.accuracy import limits
from tests.accuracy.counters import HostActivity

Outcome = Literal["held", "broken", "undecided"]


@dataclass(frozen=True)
class Finding:
    """The result of one attempt: whether the claim held, and the figures.

    `disturbed`: the attempt itself read the host's counters, and they show that the result is no evidence.
    """

    held: bool
    figure: str
    disturbed: bool = False


@dataclass(frozen=True)
class Attempt:
    """One attempt and what the host did meanwhile.

    Without a finding, the host was never quiet enough to begin. `after` is the check that follows a miss.
    """

    finding: Finding | None
    host: HostActivity
    after: HostActivity | None = None
    max_interference: float = limits.MAX_INTERFERENCE

    @property
    def counts(self) -> bool:
        """Whether it is evidence."""
        return self.finding is not None and not self.disturbances()

    def disturbances(self) -> list[str]:
        """Describe the interference above what the claim tolerates."""
        later = self.after.disturbances(self.max_interference) if self.after else []
        own = ["according to the attempt itself"] if self.finding and self.finding.disturbed else []
        return (
            self.host.disturbances(self.max_interference) + [f"{reason} afterwards" for reason in later] + own
        )

    def __str__(self) -> str:
        if self.finding is None:
            return f"not begun, the host was never quiet: {', '.join(self.disturbances())}"
        result = "held" if self.finding.held else "missed"
        if reasons := self.disturbances():
            return f"{result}, but does not count, {', '.join(reasons)}: {self.finding.figure}"
        return f"{result}: {self.finding.figure}"


def outcome(attempts: Sequence[Attempt]) -> Outcome:
    """Decide the claim as soon as enough attempts on a quiet host agree."""
    counted = [attempt.finding.held for attempt in attempts if attempt.counts and attempt.finding]
    if counted.count(True) >= limits.AGREEING:
        return "held"
    return "broken" if counted.count(False) >= limits.AGREEING else "undecided"


class Host:
    """Reads the counters, and waits for a quiet moment within the session's time limit.

    `observe` reads the counters around a function call, `check` around a short spin.
    """

    def __init__(
        self, observe: Callable[[Callable[[], object]], HostActivity], check: Callable[[], HostActivity]
    ) -> None:
        self._observe, self._check = observe, check
        self._waited_s = 0.0

    def wait_until_quiet(self, max_interference: float) -> HostActivity:
        """Check the host until it is quiet; returns the last check if the time limit ends first."""
        waited_s = 0.0
        while True:
            activity = self._check()
            if not activity.disturbances(max_interference):
                return activity
            waited_s += activity.seconds
            self._waited_s += activity.seconds
            if waited_s > limits.MAX_WAIT_S or not self.may_wait:
                return activity

    @property
    def may_wait(self) -> bool:
        """Whether the session's time limit for waiting has not been reached."""
        return self._waited_s <= limits.MAX_WAIT_ALL_S

    def attempt(self, work: Callable[[], Finding], max_interference: float) -> Attempt:
        """Make one attempt, if the host becomes quiet."""
        before = self.wait_until_quiet(max_interference)
        if before.disturbances(max_interference):
            return Attempt(None, before, max_interference=max_interference)
        findings: list[Finding] = []

        def run_work() -> None:
            try:
                findings.append(work())
            except AssertionError as error:
                # A failed assertion within an attempt is a miss; any other exception is an error of the test.
                findings.append(
                    Finding(False, str(error).strip().splitlines()[0] if str(error) else repr(error))
                )

        during = self._observe(run_work)
        missed = not findings[0].held and not during.disturbances(max_interference)
        return Attempt(findings[0], during, self._check() if missed else None, max_interference)


def settle(
    work: Callable[[], Finding],
    host: Host,
    tries: int = limits.TRIES,
    max_interference: float = limits.MAX_INTERFERENCE,
) -> list[Attempt]:
    """Repeat until enough attempts on a quiet host agree, or attempts or time run out."""
    attempts: list[Attempt] = []
    while len(attempts) < tries and outcome(attempts) == "undecided":
        attempts.append(host.attempt(work, max_interference))
        if attempts[-1].finding is None and not host.may_wait:
            break
    return attempts
