"""One line of JSON a claim and session, so that a claim that is never decided is seen.

``hindmost.precision/1``: ``at``, ``claim``, ``test``, ``outcome``, ``attempts`` (each ``counts``, ``held``, ``figure``,
``bears``, the counters, and those of the look after a miss). Lines are only ever appended.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.precision import limits
from tests.precision.judging import Attempt, Outcome

SCHEMA = "hindmost.precision/1"


def line(at: str, claim: str, test: str, decided: Outcome, attempts: Sequence[Attempt]) -> dict[str, Any]:
    """The record of one claim in one session."""
    return {
        "schema": SCHEMA,
        "at": at,
        "claim": claim,
        "test": test,
        "outcome": decided,
        "attempts": [
            {
                "counts": one.counts,
                "held": one.finding.held if one.finding else None,
                "figure": one.finding.figure if one.finding else None,
                "bears": one.bears,
                "host": one.host.record(),
                "after": one.after.record() if one.after else None,
            }
            for one in attempts
        ],
    }


def append(file: Path, lines: Iterable[dict[str, Any]]) -> None:
    """Add a session; one write, so that two sessions do not mix their lines."""
    text = "".join(json.dumps(one) + "\n" for one in lines)
    with file.open("a") as out:
        out.write(text)


def read(file: Path) -> list[dict[str, Any]]:
    """All that was kept; nothing if there is none yet."""
    if not file.exists():
        return []
    return [json.loads(text) for text in file.read_text().splitlines() if text]


def undecided(lines: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Of each test, in how many sessions it was undecided since it was last held or broken."""
    found: dict[str, int] = {}
    for one in lines:
        found[one["test"]] = found.get(one["test"], 0) + 1 if one["outcome"] == "undecided" else 0
    return found


def stale(lines: Iterable[dict[str, Any]]) -> list[str]:
    """Tests that were undecided in the last `limits.STALE_RUNS` sessions that had them."""
    return [test for test, sessions in undecided(lines).items() if sessions >= limits.STALE_RUNS]


def order(
    tests: Iterable[tuple[str, str]], waiting: Mapping[str, int], lot: Callable[[], float]
) -> dict[str, tuple[int, float]]:
    """Sort keys of files: first those with the test that waits longest for a decision, then as `lot` has it.

    `tests` are pairs of file and test, `waiting` is from `undecided`.
    """
    longest: dict[str, int] = {}
    for file, test in tests:
        longest[file] = max(longest.get(file, 0), waiting.get(test, 0))
    return {file: (-sessions, lot()) for file, sessions in longest.items()}
