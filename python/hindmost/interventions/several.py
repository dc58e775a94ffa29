"""Several files that are written as one: a setting that each processor has for itself."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from hindmost.interventions.changes import File, Gone
from hindmost.knobs.steps import Step


@dataclass(frozen=True)
class Several:
    """Files that stand for one suspect, all there or all gone."""

    name: str
    about: str
    parts: tuple[File, ...]

    @property
    def undo(self) -> list[Step]:  # noqa: D102
        return [step for part in self.parts for step in part.undo]

    def remove(self) -> None:  # noqa: D102
        for part in self.parts:
            part.remove()

    def give_back(self) -> None:  # noqa: D102
        for part in self.parts:
            # One that is gone (a processor taken offline) keeps the others from nothing.
            with contextlib.suppress(Gone, OSError):
                part.give_back()

    def arrived(self) -> bool:  # noqa: D102
        return all(part.arrived() for part in self.parts)
