"""Knobs at their levels: a fresh server a round, with the knobs in force and put back afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hindmost.fleet import HERE, Fleet, Setting
from hindmost.knobs import Knob
from hindmost.knobs.force import in_force, processors, started_with
from hindmost.notes import Note
from hindmost.plan import MeasurePlan
from hindmost.run.making import make_run
from hindmost.store import Study
from hindmost.studies.comparison.runs import SideRuns
from hindmost.targets import Attached, Managed


@dataclass(frozen=True, slots=True)
class LevelOf:
    """A knob at a level, and the table that it was made of."""

    what: Mapping[str, Any]
    knob: Knob
    level: str


STAGE = 10_000
"""Rounds are numbered by stage: more than one can have, with all that are made again."""


def name_of(number: int) -> str:
    """A round's number as people read it.

    >>> name_of(3), name_of(10_003)
    ('3', '3 of stage 2')
    """
    stage, own = divmod(number, STAGE)
    return str(own) if stage == 0 else f"{own} of stage {stage + 1}"


class LevelRuns(SideRuns):
    """A `hindmost.studies.pairs.Side`.

    Parameters
    ----------
    study : Study
        Takes the runs.
    plan : MeasurePlan
        How each is made.
    target : Attached or Managed
        The server as it is without the knobs.
    settings : sequence of LevelOf
        The knobs and their levels. What belongs to a server's start does nothing to a running one.
    fleet : Fleet, optional
        Where the load clients run; default: this machine.
    """

    def __init__(
        self,
        study: Study,
        plan: MeasurePlan,
        target: Attached | Managed,
        settings: Sequence[LevelOf],
        fleet: Fleet = HERE,
    ) -> None:
        self._pairs = [(one.knob, one.level) for one in settings]
        self._there = [Setting(one.what, one.level) for one in settings] if fleet.serves else []
        if isinstance(target, Managed):
            spec = started_with(target.spec, self._pairs)
            cpus = processors(target.spec, spec, plan.server_cpus)
            plan = plan.model_copy(update={"server_cpus": cpus})
            target = replace(target, spec=spec)
        super().__init__(study, plan, target, fleet)

    def make(self, number: int) -> None:
        """Make it, with the knobs at their levels: here, or where the fleet starts the server."""
        with self.study.lock(), in_force([] if self._there else self._pairs) as context:
            make_run(
                self.study,
                number,
                self.plan,
                self.target,
                context=context,
                fleet=self.fleet,
                settings=self._there,
            )
        self.made.add(number)


@dataclass(frozen=True, slots=True)
class InStage:
    """A level in the rounds of a stage, which are counted from 1 (a `hindmost.studies.pairs.Side`)."""

    runs: LevelRuns
    stage: int

    def has(self, number: int) -> bool:
        """Whether its run of this round is stored."""
        return self.runs.has(self.numbered(number))

    def make(self, number: int) -> None:
        """Make it."""
        self.runs.make(self.numbered(number))

    def unsound(self, number: int) -> Note | None:
        """Why it does not count."""
        return self.runs.unsound(self.numbered(number))

    def numbered(self, number: int) -> int:
        """A round's number among those of all stages."""
        return self.stage * STAGE + number
