"""The position of a request in a request file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Place:
    """A request file, or one of its lines, entries or operations.

    >>> str(Place(Path("shop.har"), entry=3)), Place(Path("targets.txt")).at_line(2).fields()
    ('request file shop.har, entry 3', {'path': 'targets.txt', 'line': 2})
    """

    path: Path
    line: int | None = None
    entry: int | None = None
    operation: str | None = None

    def __str__(self) -> str:
        within = f", {self.within}" if self.within else ""
        return f"request file {self.path}{within}"

    @property
    def within(self) -> str:
        """The line, entry or operation; empty for the whole file."""
        known = {"line": self.line, "entry": self.entry, "operation": self.operation}
        return ", ".join(f"{name} {value}" for name, value in known.items() if value is not None)

    def at_line(self, line: int | None) -> Place:
        """Return a line of the same file."""
        return replace(self, line=line)

    def fields(self) -> dict[str, Any]:
        """Return the fields of an error about this place."""
        found = {
            "path": str(self.path),
            "line": self.line,
            "entry": self.entry,
            "operation": self.operation,
        }
        return {name: value for name, value in found.items() if value is not None}
