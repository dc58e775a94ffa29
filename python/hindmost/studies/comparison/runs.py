"""The runs of one side of a comparison: made one a round, judged by what the host and the client did."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from hindmost.fleet import HERE, Fleet
from hindmost.plan import MeasurePlan
from hindmost.run.figures import Totals, run_figures
from hindmost.run.making import make_run
from hindmost.run.readings import plan_of
from hindmost.run.soundness import soundness
from hindmost.store import Study
from hindmost.studies.comparison.sides import SERVERS_OWN
from hindmost.targets import Attached, Managed


class SideRuns:
    """A `hindmost.studies.pairs.Side`.

    Parameters
    ----------
    study : Study
        Takes the runs; the number of a run is that of its round.
    plan : MeasurePlan
        How each is made.
    target : Attached or Managed
        The server.
    fleet : Fleet, optional
        Where the load instances run; default: this machine.
    """

    def __init__(
        self, study: Study, plan: MeasurePlan, target: Attached | Managed, fleet: Fleet = HERE
    ) -> None:
        self.study = study
        self.plan = plan
        self.target = target
        self.fleet = fleet
        self.made: set[int] = set()
        """Those that were made just now."""

    def has(self, number: int) -> bool:
        """Whether the run of this round is stored."""
        return (self.study.folder / "runs" / f"{number:04d}" / "run.json").exists()

    def make(self, number: int) -> None:
        """Make it."""
        with self.study.lock():
            make_run(self.study, number, self.plan, self.target, fleet=self.fleet)
        self.made.add(number)

    def unsound(self, number: int) -> str | None:
        """Why the run of this round does not count."""
        return _judged(self.study.folder, number)


def unsound_rounds(sides: Sequence[Study], rounds: Sequence[int]) -> dict[int, str]:
    """Of the rounds that all sides have, those that do not count, and why."""
    whys = {number: [why for side in sides if (why := _judged(side.folder, number))] for number in rounds}
    return {number: why[0] for number, why in whys.items() if why}


@cache
def _judged(folder: Path, number: int) -> str | None:
    """Whether host or client disturbed a run; a server that fails or falls behind is a finding about it.

    A stored run never changes, and to read one takes a tenth of a second.
    """
    study = Study.open(folder)
    plan = plan_of(study)
    run = next(run for run in study.runs() if run.number == number)
    found = soundness(run_figures(run, plan, Totals()), plan)
    servers = found.kind == "errors" or (found.kind == "short" and found.code in SERVERS_OWN)
    return None if found.sound or servers else found.why
