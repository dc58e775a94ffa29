"""What a test of the accuracy suite ends with."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.accuracy import limits
from tests.accuracy.judging import Attempt, Finding, Host, Outcome, outcome, settle

UNDECIDED = "undecided: "
"""How the reason of a skip begins that is an undecided claim."""


@dataclass(frozen=True)
class Settled:
    """One claim of the table at the end."""

    what: str
    test: str
    decided: Outcome
    attempts: list[Attempt]
    seconds: float


SESSION: list[Settled] = []


class Claim:
    """Settles the claim of one test."""

    def __init__(self, host: Host, test: str) -> None:
        self._host, self._test = host, test

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
        attempts = settle(attempt, self._host, bears=bears)
        decided = outcome(attempts)
        SESSION.append(Settled(what, self._test, decided, attempts, time.monotonic() - began))
        print("\n".join([f"{what}: {decided}", *(f"  {one}" for one in attempts)]))
        if decided == "broken":
            pytest.fail(f"{what}: broken", pytrace=False)
        if decided == "undecided":
            pytest.skip(f"{UNDECIDED}{what}")
