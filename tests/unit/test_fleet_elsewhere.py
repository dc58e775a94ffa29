"""A second fleet: hosts with folders and clocks of their own, though all are this one; a real study through it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from messages import raises
from tiny_study import HOST, Diary, tiny_plan

from hindmost import Study
from hindmost.errors import ClientError, HostLost
from hindmost.fleet import Heard, Job, LocalFleet, RemoteServer, Setting, jobs_of, run_clients
from hindmost.fleet.local import LocalTeam
from hindmost.studies.measure import Procedure, answer
from hindmost.targets import parse_target

CLOCKS_NS = {"north": 3_600_000_000_000, "south": -40_000_000_000}
"""How far the hosts' clocks are from ours."""


class ElsewhereTeam:
    """Instances in their hosts' folders; what is said to one is said in its host's clock."""

    ahead_ns = 200_000_000

    def __init__(self, team: LocalTeam, jobs: Sequence[Job], there: Path, here: Path) -> None:
        self._team, self._there, self._here = team, there, here
        self.offsets_ns: Sequence[int] = [CLOCKS_NS[job.place.host] for job in jobs]
        self.ordered: list[dict[str, Any]] = []

    def order(self, index: int, command: dict[str, Any]) -> None:
        self.ordered.append(command)
        ((name, moment),) = command.items()
        theirs = {
            what: at - self.offsets_ns[index] for what, at in moment.items()
        }  # our clock is really theirs
        self._team.order(index, {name: theirs})

    def hear(self, timeout_s: float) -> list[Heard]:
        return self._team.hear(timeout_s)

    def record(self) -> dict[str, Any]:
        return {}

    def fetch(self) -> None:
        self._team.fetch()
        for path in self._there.iterdir():
            shutil.move(path, self._here)


class Elsewhere:
    """Two hosts; nothing of a run is in its folder before it is fetched."""

    hosts: Sequence[str] = ("north", "south")
    serves = False

    def serve(
        self, name: str, cpus: Sequence[int], settings: Sequence[Setting] = ()
    ) -> AbstractContextManager[RemoteServer]:
        raise NotImplementedError

    def recover_host(self, lost: HostLost, times: int) -> bool:
        return False

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.teams: list[ElsewhereTeam] = []

    @contextmanager
    def start(self, jobs: Sequence[Job], folder: Path) -> Iterator[ElsewhereTeam]:
        there = self._folder / f"run-{len(self.teams)}"
        there.mkdir(parents=True)
        with LocalFleet().start(jobs, there) as team:
            self.teams.append(ElsewhereTeam(team, jobs, there, folder))
            yield self.teams[-1]
            assert not list(there.iterdir()), "something was left elsewhere"


def test_a_study_is_measured_elsewhere_as_here(tmp_path, made_study):
    plan, fleet = tiny_plan(), Elsewhere(tmp_path / "elsewhere")
    study = Study.create(tmp_path / "study", {"plan": plan.model_dump(mode="json"), "host": HOST})
    with study.lock():
        Procedure(study, plan, parse_target(plan.target), Diary(), fleet=fleet).run()
    result = answer(study)
    assert (
        result["counts"]["completed"] + result["counts"]["misses"] > 0.9 * result["counts"]["scheduled"] > 0
    )
    for run in study.runs():
        here = made_study[0] / "runs" / run.folder.name
        assert {path.name for path in run.folder.iterdir()} == {path.name for path in here.iterdir()}


def test_orders_name_one_moment_of_our_clock_in_the_clock_of_each_host(tmp_path):
    plan, fleet = tiny_plan(), Elsewhere(tmp_path / "elsewhere")
    study = Study.create(tmp_path / "study", {"plan": plan.model_dump(mode="json"), "host": HOST})
    plan = plan.model_copy(update={"runs": (1, 1)})
    with study.lock():
        Procedure(study, plan, parse_target(plan.target), Diary(), fleet=fleet).run()
    (team,) = fleet.teams
    go, again, measure, anew = (
        at for command in team.ordered for moment in command.values() for at in moment.values()
    )
    apart = CLOCKS_NS["north"] - CLOCKS_NS["south"]
    assert (go - again, measure - anew) == (apart, apart)


def test_an_client_that_fails_elsewhere_is_told_as_here(tmp_path):
    jobs = jobs_of(["{}", "{}"], [(), ()], ("north", "south"))
    with raises(ClientError, "plan"):
        run_clients(Elsewhere(tmp_path / "elsewhere"), jobs, tmp_path, (0.1, 5.0))
