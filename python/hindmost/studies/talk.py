"""The interface for progress of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from hindmost.fleet import Moment
from hindmost.notes import Note
from hindmost.plan import MeasurePlan
from hindmost.run.figures import RunFigures
from hindmost.stats import Decision

if TYPE_CHECKING:
    from hindmost.studies.attribution.course import OnStep
    from hindmost.studies.attribution.plan import AttributionPlan
    from hindmost.studies.measure.procedure import Observer


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

    def cells(self, plan: AttributionPlan) -> OnStep:
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

    def cells(self, plan: AttributionPlan) -> OnStep:
        """Return an observer that shows nothing."""
        return lambda _: None

    def run_begins(self, number: int, least: int, most: int) -> None:
        """Ignore the start of a run."""

    def moment(self, moment: Moment) -> None:
        """Ignore the progress of a run."""

    def run_ended(self, figures: RunFigures, decision: Decision, aside: Note | None) -> None:
        """Ignore a stored run."""
