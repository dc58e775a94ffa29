"""One level of the knob: a fresh server a round, with the knob in force and put back afterwards."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace

from hindmost.fleet import HERE, Fleet
from hindmost.knobs import Knob
from hindmost.plan import MeasurePlan
from hindmost.run.making import make_run
from hindmost.store import Study
from hindmost.studies.comparison.runs import SideRuns
from hindmost.targets import Managed, ManagedServer


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
    setting : (Knob, str)
        The knob and its level.
    fleet : Fleet, optional
        Where the load instances run; default: this machine.
    """

    def __init__(
        self,
        study: Study,
        plan: MeasurePlan,
        target: Managed,
        setting: tuple[Knob, str],
        fleet: Fleet = HERE,
    ) -> None:
        self._knob, self._level = setting
        spec = self._knob.spec(target.spec, self._level)
        if spec.cpus is not None and spec.cpus != target.spec.cpus:
            plan = plan.model_copy(update={"server_cpus": tuple(spec.cpus)})
        super().__init__(study, plan, replace(target, spec=spec), fleet)

    def make(self, number: int) -> None:
        """Make it, with the knob at its level."""
        with self.study.lock(), self._knob.before(self._level):
            make_run(self.study, number, self.plan, self.target, beside=self._beside, fleet=self.fleet)
        self.made.add(number)

    def _beside(self, server: ManagedServer) -> AbstractContextManager[None]:
        return self._knob.beside(self._level, server)
