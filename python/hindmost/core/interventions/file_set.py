"""Several files changed together: a setting that each CPU has separately."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from hindmost.core.interventions.changes import File, SuspectGone
from hindmost.core.knobs.steps import Step


@dataclass(frozen=True)
class FileSet:
    """Files that form one suspect, all changed or all restored."""

    name: str
    description: str
    parts: tuple[File, ...]

    @property
    def undo(self) -> list[Step]:  # noqa: D102
        return [step for part in self.parts for step in part.undo]

    def remove(self) -> None:  # noqa: D102
        for part in self.parts:
            part.remove()

    def give_back(self) -> None:  # noqa: D102
        for part in self.parts:
            # A missing file (its CPU went offline) must not keep the others from being restored.
            with contextlib.suppress(SuspectGone, OSError):
                part.give_back()

    def is_gone(self) -> bool:  # noqa: D102
        return all(part.is_gone() for part in self.parts)
