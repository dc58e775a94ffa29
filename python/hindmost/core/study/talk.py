"""The interface for progress of a study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hindmost.core.fleet import Moment
from hindmost.core.notes import Note
from hindmost.core.plan import MeasurePlan
from hindmost.core.run.figures import RunFigures
from hindmost.stats import Decision


class Observer(Protocol):
    """Receives the progress of a measurement."""

    def run_begins(self, number: int, least: int, most: int) -> None:
        """Report that run `number` begins."""

    def moment(self, moment: Moment) -> None:
        """Report the progress of a run."""

    def run_ended(self, figures: RunFigures, decision: Decision, aside: Note | None) -> None:
        """Report a stored run, the decision after it, and why it is excluded, if it is."""


@dataclass(frozen=True, slots=True)
class CellStep:
    """The progress of runs of cells: ``done`` of ``of`` runs; ``why`` the last one failed, if it did."""

    what: str
    load: str
    setting: str
    done: int
    of: int
    why: Note | None


class OnStep(Protocol):
    """Receives the progress of runs of cells."""

    def __call__(self, step: CellStep) -> None:
        """Report that a run is over."""


class Talk(Protocol):
    """Tells a person how far a study is."""

    def say(self, text: str) -> None:
        """Show a line."""

    def warn(self, text: str) -> None:
        """Show a line that must be read, even with ``--quiet``."""

    def trusts(self, question: str) -> bool:
        """Ask whether a study from elsewhere may do what it says."""

    def runs(self, plan: MeasurePlan) -> Observer:
        """Return the observer for the runs of a plan."""

    def cells(self) -> OnStep:
        """Return the observer for the runs of cells."""


class Silent:
    """Shows nothing."""

    def say(self, text: str) -> None:
        """Show nothing."""

    def warn(self, text: str) -> None:
        """Show nothing."""

    def trusts(self, question: str) -> bool:
        """Return False, because no person can be asked."""
        return False

    def runs(self, plan: MeasurePlan) -> Silent:
        """Return an observer that shows nothing."""
        return self

    def cells(self) -> OnStep:
        """Return an observer that shows nothing."""
        return lambda _: None

    def run_begins(self, number: int, least: int, most: int) -> None:
        """Ignore the start of a run."""

    def moment(self, moment: Moment) -> None:
        """Ignore the progress of a run."""

    def run_ended(self, figures: RunFigures, decision: Decision, aside: Note | None) -> None:
        """Ignore a stored run."""
