"""The ledger of all attempts at runs of an attribution study, with their outcomes.

``ledger.jsonl`` has one JSON object per line, appended and synced. A power cut may truncate the last line,
which is then ignored. Runs are found by their folders; the ledger records the failed attempts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.core.documents import read_text
from hindmost.core.notes import Note
from hindmost.core.store import now_utc

FILE = "ledger.jsonl"
MOST_FAILURES = 2
"""Failures after which a cell is given up at a load. The first may be the host's fault (a used port, a moment
without memory)."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt; ``why`` is the failure, or None if the run exists."""

    load: str
    cell: str
    block: int
    seconds: float
    why: Note | None


class Attempts:
    """The attempts in a study's folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    def add(self, entry: Attempt, levels: Mapping[str, str]) -> None:
        """Append an attempt."""
        line: dict[str, Any] = {
            "at": now_utc(),
            "load": entry.load,
            "block": entry.block,
            "cell": entry.cell,
            "levels": dict(levels),
            "seconds": round(entry.seconds, 3),
            "why": None,
        }
        if entry.why is not None:
            line |= {"why": entry.why.text, "code": entry.why.code, "values": dict(entry.why.values)}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, default=str) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def entries(self) -> list[Attempt]:
        """Return all attempts so far."""
        try:
            lines = read_text(self.path).splitlines()
        except FileNotFoundError:
            return []
        found = []
        for line in lines:
            try:
                one = json.loads(line)
                found.append(Attempt(one["load"], one["cell"], one["block"], one["seconds"], _failure(one)))
            except (ValueError, KeyError, TypeError):  # truncated by a crash: that run is repeated
                continue
        return found

    def failures(self, load: str, cell: str) -> list[Note]:
        """Return the reasons why attempts at a cell failed."""
        return [one.why for one in self.entries() if (one.load, one.cell) == (load, cell) and one.why]

    def count_repeated(self, least: int) -> int:
        """Return the number of repeated runs: those with a number of at least `least`."""
        return sum(one.block >= least for one in self.entries())


def _failure(line: Mapping[str, Any]) -> Note | None:
    """Return the failure in a line; lines of earlier versions have no code."""
    if line["why"] is None:
        return None
    return Note(line.get("code", "run-failed"), line["why"], line.get("values", {}))
