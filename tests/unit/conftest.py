"""One small real study for the whole session: two runs of two clients against the embedded server."""

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
from hindmost.commands.measure.procedure import Procedure
from hindmost.core.targets import parse_target
from hindmost.testing import VARIABLE


@pytest.fixture(scope="session", autouse=True)
def kept_options() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        keep_options(patch)
        yield


@pytest.fixture(scope="session", autouse=True)
def short_host_checks() -> Iterator[None]:
    """Experiments on this host run once per session, and other checks of it are short."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("cache_knees", "certify_spin", "look_at_placement"):
            patch.setattr(_engine, name, once(getattr(_engine, name)))
        patch.setenv(VARIABLE, json.dumps({"host_looks": 1, "host_spin_s": 0.02}))
        yield


def once(measure: Callable[..., str]) -> Callable[..., str]:
    """Cache the results of a function by its arguments."""
    results: dict[str, str] = {}

    @wraps(measure)
    def cached(*arguments: object, **options: object) -> str:
        key = repr((arguments, options))
        if key not in results:
            results[key] = measure(*arguments, **options)
        return results[key]

    return cached


@pytest.fixture(scope="session")
def made_study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Diary]:
    """The study's folder and its observer's diary. Read only: use `study` to change files.

    The study is repeated if a busy host kept a client from half of a run's requests: such runs have no figures.
    """
    for _ in range(5):
        folder = tmp_path_factory.mktemp("made") / "study"
        plan, diary = tiny_plan(), Diary()
        study = Study.create(folder, {"plan": plan.model_dump(mode="json"), "host": HOST})
        with study.lock():
            Procedure(study, plan, parse_target(plan.target), diary).run()
        if all(run.latency_us["p50"] is not None for run in open_study(folder).document.runs):
            break
    return folder, diary


@pytest.fixture
def study(made_study: tuple[Path, Diary], tmp_path: Path) -> Study:
    """A private copy of the small study."""
    shutil.copytree(made_study[0], tmp_path / "study")
    return Study.open(tmp_path / "study")


@pytest.fixture(scope="session")
def diary(made_study: tuple[Path, Diary]) -> Diary:
    return made_study[1]
