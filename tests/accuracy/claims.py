"""The `claim` of an accuracy test: settled by repeated attempts, then recorded for the table at the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.accuracy import limits
from tests.accuracy.judging import Attempt, Finding, Host, Outcome, outcome, settle

UNDECIDED = "undecided: "
"""Prefix of the skip reason of an undecided claim."""


@dataclass(frozen=True)
class SettledClaim:
    """One row of the table of claims."""

    what: str
    test: str
    outcome: Outcome
    attempts: list[Attempt]
    seconds: float


SESSION: list[SettledClaim] = []


class Claim:
    """Settles the claim of one test."""

    def __init__(self, host: Host, test: str) -> None:
        self._host, self._test = host, test

    def settle(
        self, what: str, attempt: Callable[[], Finding], max_interference: float = limits.MAX_INTERFERENCE
    ) -> None:
        """Repeat `attempt` until the claim passes, fails, or remains undecided.

        Parameters
        ----------
        what
            The claim, as the table names it.
        attempt
            Measures once.
        max_interference
            Largest share of CPU time that interference may take in an attempt that counts.
        """
        began = time.monotonic()
        attempts = settle(attempt, self._host, max_interference=max_interference)
        outcome_ = outcome(attempts)
        SESSION.append(SettledClaim(what, self._test, outcome_, attempts, time.monotonic() - began))
        print("\n".join([f"{what}: {outcome_}", *(f"  {entry}" for entry in attempts)]))
        if outcome_ == "broken":
            pytest.fail(f"{what}: broken", pytrace=False)
        if outcome_ == "undecided":
            pytest.skip(f"{UNDECIDED}{what}")
