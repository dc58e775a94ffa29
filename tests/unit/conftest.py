"""One tiny real study for the whole session: two runs of two instances against the embedded server."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path

import pytest
from parsing import keep_options
from tiny_study import HOST, Diary, tiny_plan

from hindmost import Study, _engine, open_study
from hindmost.studies.measure import Procedure
from hindmost.targets import parse_target
from hindmost.testing import VARIABLE


@pytest.fixture(scope="session", autouse=True)
def kept_options() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        keep_options(patch)
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_looks_at_the_host() -> Iterator[None]:
    """What is found out of this host by experiments on it is measured once; other looks at it are short."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("cache_knees", "certify_spin", "look_at_placement"):
            patch.setattr(_engine, name, once(getattr(_engine, name)))
        patch.setenv(VARIABLE, json.dumps({"host_looks": 1, "host_spin_s": 0.02}))
        yield


def once(measure: Callable[..., str]) -> Callable[..., str]:
    """Remember what it said, by what it was asked for."""
    said: dict[str, str] = {}

    @wraps(measure)
    def asked(*words: object, **named: object) -> str:
        key = repr((words, named))
        if key not in said:
            said[key] = measure(*words, **named)
        return said[key]

    return asked


@pytest.fixture(scope="session")
def made_study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Diary]:
    """The study's folder and what its observer saw; read-only, take `study` to change anything.

    Where a busy host kept the client from half of a run's requests, it is made again: of such runs there are no figures.
    """
    for _ in range(5):
        folder = tmp_path_factory.mktemp("made") / "study"
        plan, diary = tiny_plan(), Diary()
        study = Study.create(folder, {"plan": plan.model_dump(mode="json"), "host": HOST})
        with study.lock():
            Procedure(study, plan, parse_target(plan.target), diary).run()
        if all(run["latency_us"]["p50"] is not None for run in open_study(folder).document["runs"]):
            break
    return folder, diary


@pytest.fixture
def study(made_study: tuple[Path, Diary], tmp_path: Path) -> Study:
    """A copy of the tiny study, to do with as one likes."""
    shutil.copytree(made_study[0], tmp_path / "study")
    return Study.open(tmp_path / "study")


@pytest.fixture(scope="session")
def diary(made_study: tuple[Path, Diary]) -> Diary:
    return made_study[1]
