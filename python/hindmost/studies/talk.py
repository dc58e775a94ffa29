"""Whoever is told how far a study is."""

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
        """A line that stays."""

    def warn(self, text: str) -> None:
        """One that must be read, even by who wants no progress."""

    def trusts(self, question: str) -> bool:
        """Ask whether a study that may be another's may do what it says."""

    def runs(self, plan: MeasurePlan) -> Observer:
        """Whoever watches runs of a plan."""

    def cells(self, plan: AttributionPlan) -> OnStep:
        """Whoever watches runs of cells."""


class Silent:
    """Tells nobody anything."""

    def say(self, text: str) -> None:
        """Nothing."""

    def warn(self, text: str) -> None:
        """Nothing."""

    def trusts(self, question: str) -> bool:
        """Nobody says so."""
        return False

    def runs(self, plan: MeasurePlan) -> Silent:
        """Nobody watches."""
        return self

    def cells(self, plan: AttributionPlan) -> OnStep:
        """Nobody watches."""
        return lambda _: None

    def run_begins(self, number: int, least: int, most: int) -> None:
        """A run begins."""

    def moment(self, moment: Moment) -> None:
        """Where it stands."""

    def run_ended(self, figures: RunFigures, decision: Decision, aside: Note | None) -> None:
        """A run is stored."""
