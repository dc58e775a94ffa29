"""How far a study is, told to a function: nothing is printed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from hindmost.fleet import Moment
from hindmost.plan import MeasurePlan
from hindmost.plan.units import format_us
from hindmost.run.figures import RunFigures
from hindmost.stats import Decision

if TYPE_CHECKING:
    from hindmost.studies.attribution import Step
    from hindmost.studies.attribution.plan import AttributionPlan

Tell = Callable[[str], object]
"""Takes a line, as `print` and ``logger.info`` do."""


class Telling:
    """Tells a function; what must be read is a warning where there is none."""

    def __init__(self, tell: Tell | None) -> None:
        self._tell = tell
        self._what = ""

    def say(self, text: str) -> None:
        """A line, if anybody listens."""
        if self._tell is not None:
            self._tell(text)

    def warn(self, text: str) -> None:
        """One that must be read."""
        if self._tell is None:
            warnings.warn(text, UserWarning, stacklevel=2)
        else:
            self._tell(text)

    def runs(self, plan: MeasurePlan) -> Telling:
        """Whoever watches runs of a plan."""
        return self

    def cells(self, plan: AttributionPlan) -> Callable[[Step], None]:
        """Whoever watches runs of cells."""
        return self._step

    def run_begins(self, number: int, least: int, most: int) -> None:
        """Nothing: a line a run is enough."""

    def moment(self, moment: Moment) -> None:
        """Nothing: whoever is told may disturb a client."""

    def run_ended(self, figures: RunFigures, decision: Decision, aside: str | None) -> None:
        """A run is stored."""
        if aside is not None:
            self.say(f"run {figures.number}: set aside: {aside}")
            return
        name, wide = decision.widest, decision.half_width
        width = f", known to ±{wide:{'.1%' if wide < 0.1 else '.0%'}}" if wide < 10 else ""
        self.say(f"run {figures.number}: {name} {format_us(figures.values['latency'][name])}{width}")

    def _step(self, step: Step) -> None:
        if step.what != self._what or step.done == step.of:
            self.say(f"{step.what}, {step.done} of {step.of}")
        self._what = step.what
