"""The runs of one side of a comparison: made one a round, judged by what the host and the client did."""

from __future__ import annotations

from hindmost.fleet import HERE, Fleet
from hindmost.notes import Note
from hindmost.plan import MeasurePlan
from hindmost.run.making import make_run
from hindmost.store import Study
from hindmost.studies.comparison.sides import SERVERS_OWN
from hindmost.studies.sides import judged
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
        Where the load clients run; default: this machine.
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
        return self.study.run(number) is not None

    def make(self, number: int) -> None:
        """Make it."""
        with self.study.lock():
            make_run(self.study, number, self.plan, self.target, fleet=self.fleet)
        self.made.add(number)

    def unsound(self, number: int) -> Note | None:
        """Why the run of this round is excluded."""
        return unsound(self.study, number)


def unsound(study: Study, number: int) -> Note | None:
    """Why a run is excluded; if the server fails or falls behind, that is a finding, and the run counts."""
    found = judged(study, number)
    servers = found.kind == "errors" or (found.kind == "short" and found.by in SERVERS_OWN)
    return None if found.sound or servers else found.note
