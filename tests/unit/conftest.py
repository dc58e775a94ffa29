"""One tiny real study for the whole session: two runs of two instances against the embedded server."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hindmost import MeasurePlan, Study
from hindmost.fleet import Moment
from hindmost.run.figures import RunFigures
from hindmost.stats import Decision
from hindmost.studies.measure import Procedure
from hindmost.targets import parse_target

HOST = {"facts": {"cpus_online": 2}, "findings": []}


class Diary:
    """A observer that writes down what it was told."""

    def __init__(self) -> None:
        self.began: list[tuple[int, int, int]] = []
        self.phases: list[str] = []
        self.ended: list[tuple[int, Decision]] = []

    def run_begins(self, number: int, least: int, most: int) -> None:
        self.began.append((number, least, most))

    def moment(self, moment: Moment) -> None:
        self.phases.append(moment.phase)

    def run_ended(self, figures: RunFigures, decision: Decision) -> None:
        self.ended.append((figures.number, decision))


def tiny_plan() -> MeasurePlan:
    return MeasurePlan(
        target="synth",
        rate_per_s=2_000.0,
        clients=2,
        connections=4,
        pacing="sleep",
        runs=(2, 2),
        duration_s=0.3,
        warmup=0.2,
        calibration_s=0.1,
        timeout_s=1.0,
        samples=200,
        worst=20,
        workload={"kind": "key-value", "keys": 100, "get_ratio": 0.8},
    )


@pytest.fixture(scope="session")
def made_study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Diary]:
    """The study's folder and what its observer saw; read-only, take `study` to change anything."""
    folder = tmp_path_factory.mktemp("made") / "study"
    plan, diary = tiny_plan(), Diary()
    study = Study.create(folder, {"plan": plan.model_dump(mode="json"), "host": HOST})
    with study.lock():
        Procedure(study, plan, parse_target(plan.target), diary).run()
    return folder, diary


@pytest.fixture
def study(made_study: tuple[Path, Diary], tmp_path: Path) -> Study:
    """A copy of the tiny study, to do with as one likes."""
    shutil.copytree(made_study[0], tmp_path / "study")
    return Study.open(tmp_path / "study")


@pytest.fixture(scope="session")
def diary(made_study: tuple[Path, Diary]) -> Diary:
    return made_study[1]


def rewrite(path: Path, change: dict[str, object]) -> None:
    """Change some keys of a JSON file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
