"""Every attempt at a run of a study of factors, in the order in which it was made, with how it ended.

One JSON object a line in ``ledger.jsonl``, appended and synced; the last line may be torn by a power cut and
is then left out. Runs themselves are found by their folders; these lines say what was tried in vain.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost.store import now_utc

FILE = "ledger.jsonl"
GIVEN_UP = 2
"""A failure may be the host's fault once (a port that was taken, no memory for a moment); twice it is the
cell's, which is then given up at that load."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt. ``why``: the failure in words, None where there is a run."""

    load: str
    cell: str
    block: int
    seconds: float
    why: str | None


class Attempts:
    """The attempts in a study's folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    def add(self, entry: Attempt, levels: Mapping[str, str]) -> None:
        """Write one down."""
        line: dict[str, Any] = {
            "at": now_utc(),
            "load": entry.load,
            "block": entry.block,
            "cell": entry.cell,
            "levels": dict(levels),
            "seconds": round(entry.seconds, 3),
            "why": entry.why,
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def entries(self) -> list[Attempt]:
        """All so far."""
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        found = []
        for line in lines:
            try:
                one = json.loads(line)
                found.append(Attempt(one["load"], one["cell"], one["block"], one["seconds"], one["why"]))
            except (ValueError, KeyError, TypeError):  # torn by a crash: that run is made again
                continue
        return found

    def failures(self, load: str, cell: str) -> list[str]:
        """Why attempts at a cell failed."""
        return [one.why for one in self.entries() if (one.load, one.cell) == (load, cell) and one.why]

    def remade(self, least: int) -> int:
        """How many runs were made again: those whose number is `least` or more."""
        return sum(one.block >= least for one in self.entries())
