"""Where a request stands in a file of requests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Place:
    """A file of requests, or one of its lines or entries.

    >>> str(Place(Path("shop.har"), entry=3)), Place(Path("targets.txt")).at(2).fields()
    ('file of requests shop.har, entry 3', {'path': 'targets.txt', 'line': 2})
    """

    path: Path
    line: int | None = None
    entry: int | None = None

    def __str__(self) -> str:
        line = "" if self.line is None else f", line {self.line}"
        entry = "" if self.entry is None else f", entry {self.entry}"
        return f"file of requests {self.path}{line}{entry}"

    def at(self, line: int | None) -> Place:
        """Return a line of the same file."""
        return replace(self, line=line)

    def fields(self) -> dict[str, Any]:
        """Return the fields of an error about this place."""
        found = {"path": str(self.path), "line": self.line, "entry": self.entry}
        return {name: value for name, value in found.items() if value is not None}
