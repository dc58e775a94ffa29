"""What a test of the ring of precision ends with."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.precision import limits
from tests.precision.judging import Attempt, Finding, Host, Outcome, outcome, settle

UNDECIDED = "undecided: "
"""Reasons of skips that are none begin so."""


@dataclass(frozen=True)
class Settled:
    """One line of the table at the end; no attempts where the ring's time was over before."""

    what: str
    test: str
    decided: Outcome
    attempts: list[Attempt]
    seconds: float


SESSION: list[Settled] = []


class Claim:
    """Settles the claim of one test; `hurried` where it has its share of the ring's time only.

    `again`: it was broken in the session before, and only a claim that is held takes that back.
    """

    def __init__(self, host: Host, test: str, hurried: bool, again: bool = False) -> None:
        self._host, self._test, self._hurried, self._again = host, test, hurried, again

    def settle(self, what: str, attempt: Callable[[], Finding], bears: float = limits.BEARS) -> None:
        """Pass, fail or end undecided, by as many attempts as it takes.

        Parameters
        ----------
        what
            The claim, as the table names it.
        attempt
            Measures once.
        bears
            Share of a processor's time that others may take before an attempt says nothing.
        """
        began = time.monotonic()
        in_time = (lambda: self._host.in_time) if self._hurried else (lambda: True)
        attempts = settle(attempt, self._host, bears=bears, in_time=in_time)
        decided = outcome(attempts)
        SESSION.append(Settled(what, self._test, decided, attempts, time.monotonic() - began))
        print("\n".join([f"{what}: {decided}", *(f"  {one}" for one in attempts)]))
        if decided == "broken":
            pytest.fail(f"{what}: broken", pytrace=False)
        if decided == "undecided" and self._again:
            pytest.fail(f"{what}: broken before, and undecided now", pytrace=False)
        if decided == "undecided":
            pytest.skip(
                f"{UNDECIDED}{what}{'' if attempts else ' (not tried, the time of the ring was over)'}"
            )
