"""One level of the knob: a fresh server a round, with the knob in force and put back afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hindmost.fleet import HERE, Fleet, Setting
from hindmost.knobs import Knob
from hindmost.knobs.force import in_force, processors, started_with
from hindmost.plan import MeasurePlan
from hindmost.run.making import make_run
from hindmost.store import Study
from hindmost.studies.comparison.runs import SideRuns
from hindmost.targets import Managed


@dataclass(frozen=True, slots=True)
class LevelOf:
    """A knob at a level, and the table that it was made of."""

    what: Mapping[str, Any]
    knob: Knob
    level: str


class LevelRuns(SideRuns):
    """A `hindmost.studies.pairs.Side`.

    Parameters
    ----------
    study : Study
        Takes the runs.
    plan : MeasurePlan
        How each is made.
    target : Managed
        The server as it is without the knob.
    setting : LevelOf
        The knob and its level.
    fleet : Fleet, optional
        Where the load instances run; default: this machine.
    """

    def __init__(
        self,
        study: Study,
        plan: MeasurePlan,
        target: Managed,
        setting: LevelOf,
        fleet: Fleet = HERE,
    ) -> None:
        self._pairs = [(setting.knob, setting.level)]
        self._there = [Setting(setting.what, setting.level)] if fleet.serves else []
        spec = started_with(target.spec, self._pairs)
        cpus = processors(target.spec, spec, plan.server_cpus)
        plan = plan.model_copy(update={"server_cpus": cpus})
        super().__init__(study, plan, replace(target, spec=spec), fleet)

    def make(self, number: int) -> None:
        """Make it, with the knob at its level: here, or where the fleet starts the server."""
        with self.study.lock(), in_force([] if self._there else self._pairs) as beside:
            make_run(
                self.study,
                number,
                self.plan,
                self.target,
                beside=beside,
                fleet=self.fleet,
                settings=self._there,
            )
        self.made.add(number)
