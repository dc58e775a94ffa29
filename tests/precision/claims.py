"""What a test of the ring of precision ends with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.precision import limits
from tests.precision.judging import Attempt, Finding, Host, Outcome, outcome, settle

UNDECIDED = "undecided: "
"""Reasons of skips that are none begin so."""


@dataclass(frozen=True)
class Settled:
    """One line of the table at the end."""

    what: str
    test: str
    decided: Outcome
    attempts: list[Attempt]


SESSION: list[Settled] = []


class Claim:
    """Settles the claim of one test."""

    def __init__(self, host: Host, test: str) -> None:
        self._host, self._test = host, test

    def settle(self, what: str, attempt: Callable[[], Finding], tries: int = limits.TRIES) -> None:
        """Pass, fail or end undecided, by as many attempts as it takes and no more than `tries`."""
        attempts = settle(attempt, self._host, tries)
        decided = outcome(attempts)
        SESSION.append(Settled(what, self._test, decided, attempts))
        told = "\n".join(f"  {one}" for one in attempts)
        print(f"{what}: {decided}\n{told}")
        if decided == "broken":
            pytest.fail(f"{what}: broken", pytrace=False)
        if decided == "undecided":
            pytest.skip(f"{UNDECIDED}{what}")
