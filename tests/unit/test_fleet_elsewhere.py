"""A real study through a fake fleet, whose two hosts have their own folders and clocks."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from messages import raises
from tiny_study import HOST, Diary, tiny_plan

from hindmost import Study
from hindmost.commands.measure.answer import answer
from hindmost.commands.measure.procedure import Procedure
from hindmost.core.fleet import Heard, Job, LocalFleet, RemoteServer, Setting, jobs_of, run_clients
from hindmost.core.fleet.local import LocalTeam
from hindmost.core.targets import parse_target
from hindmost.errors import ClientError, HostLost

CLOCKS_NS = {"north": 3_600_000_000_000, "south": -40_000_000_000}
"""Differences between the hosts' clocks and ours."""


class ElsewhereTeam:
    """Clients in the folders of their hosts. Orders to a client use the clock of its host."""

    ahead_ns = 200_000_000

    def __init__(self, team: LocalTeam, jobs: Sequence[Job], remote: Path, local: Path) -> None:
        self._team, self._remote, self._local = team, remote, local
        self.offsets_ns: Sequence[int] = [CLOCKS_NS[job.place.host] for job in jobs]
        self.orders: list[dict[str, Any]] = []

    def order(self, index: int, command: dict[str, Any]) -> None:
        self.orders.append(command)
        ((name, moment),) = command.items()
        host_times = {
            key: at - self.offsets_ns[index] for key, at in moment.items()
        }  # all clocks are really ours
        self._team.order(index, {name: host_times})

    def hear(self, timeout_s: float) -> list[Heard]:
        return self._team.hear(timeout_s)

    def record(self) -> dict[str, Any]:
        return {}

    def fetch(self) -> None:
        self._team.fetch()
        for path in self._remote.iterdir():
            shutil.move(path, self._local)


class Elsewhere:
    """Two hosts. Files of a run are in the run's folder only after they were fetched."""

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
        remote = self._folder / f"run-{len(self.teams)}"
        remote.mkdir(parents=True)
        with LocalFleet().start(jobs, remote) as team:
            self.teams.append(ElsewhereTeam(team, jobs, remote, folder))
            yield self.teams[-1]
            assert not list(remote.iterdir()), "files were left on the hosts"


def test_a_remote_study_has_the_files_of_a_local_one(tmp_path, made_study):
    plan, fleet = tiny_plan(), Elsewhere(tmp_path / "elsewhere")
    study = Study.create(tmp_path / "study", {"plan": plan.model_dump(mode="json"), "host": HOST})
    with study.lock():
        Procedure(study, plan, parse_target(plan.target), Diary(), fleet=fleet).run()
    result = answer(study)
    assert result.counts.completed + result.counts.misses > 0.9 * result.counts.scheduled > 0
    for run in study.runs():
        local_folder = made_study[0] / "runs" / run.folder.name
        assert {path.name for path in run.folder.iterdir()} == {path.name for path in local_folder.iterdir()}


def test_orders_use_the_clock_of_each_host(tmp_path):
    plan, fleet = tiny_plan(), Elsewhere(tmp_path / "elsewhere")
    study = Study.create(tmp_path / "study", {"plan": plan.model_dump(mode="json"), "host": HOST})
    plan = plan.model_copy(update={"runs": (1, 1)})
    with study.lock():
        Procedure(study, plan, parse_target(plan.target), Diary(), fleet=fleet).run()
    (team,) = fleet.teams
    go_north, go_south, measure_north, measure_south = (
        at for command in team.orders for moment in command.values() for at in moment.values()
    )
    difference = CLOCKS_NS["north"] - CLOCKS_NS["south"]
    assert (go_north - go_south, measure_north - measure_south) == (difference, difference)


def test_a_failing_remote_client_is_reported_like_a_local_one(tmp_path):
    jobs = jobs_of(["{}", "{}"], [(), ()], ("north", "south"))
    with raises(ClientError, "plan"):
        run_clients(Elsewhere(tmp_path / "elsewhere"), jobs, tmp_path, (0.1, 5.0))
