"""Runs of a cell that are not sound: how often they are made again, and what of earlier studies still counts."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from hindmost.errors import UsageError
from hindmost.store import Study
from hindmost.studies.attribution.attempts import Attempt
from hindmost.studies.attribution.plan import LoadPoint
from hindmost.studies.attribution.resolve import resolve
from hindmost.studies.attribution.runner import Runner
from hindmost.studies.pairs import GivenUp

LOAD, CELL = LoadPoint("low", 500.0, "low"), (0,)


class Scripted(Runner):
    """Makes no run, but writes down which it would; `disturbed` are the numbers that are not sound."""

    def __init__(self, folder, blocks=3, disturbed=(), stored=(), failing=False):
        plan = SimpleNamespace(
            blocks=(blocks, blocks),
            design=SimpleNamespace(cells=[CELL]),
            loads=[LOAD],
            measure=SimpleNamespace(remake=1.0),
        )
        super().__init__(SimpleNamespace(folder=folder), plan)  # type: ignore[arg-type]
        self.numbers, self.made, self.failing = list(stored), [], failing
        values = lambda _, number: SimpleNamespace(unsound="stolen" if number in disturbed else None)  # noqa: E731
        self.readings = SimpleNamespace(run=values)  # type: ignore[assignment]

    def part(self, load, name, cell):
        return SimpleNamespace(runs=lambda: [SimpleNamespace(number=number) for number in self.numbers])

    def run_once(self, load, name, cell, number):
        why = "the server did not start" if self.failing else None
        self.attempts.add(Attempt(load.folder, name, number, 0.1, why), {})
        if why is None:
            self.made.append(number)
            self.numbers.append(number)
        return why

    def blocks(self, *numbers):
        return [self.make(LOAD, "0", CELL, number) for number in numbers]


def test_a_run_is_made_again_twice_and_a_stored_one_never(tmp_path):
    runner = Scripted(tmp_path, disturbed=(1, 10_001, 20_001, 2))
    assert runner.blocks(1, 2, 3) == ["not sound, made 3 times: stolen", None, None]
    assert runner.made == [1, 10_001, 20_001, 2, 10_002, 3]
    before = list(runner.made)
    assert runner.blocks(1, 2, 3) == ["not sound, made 3 times: stolen", None, None]
    assert runner.made == before


def test_a_study_makes_no_more_runs_again_than_it_was_to_make(tmp_path):
    everything = [number + again for number in range(1, 9) for again in (0, 10_000, 20_000)]
    runner = Scripted(
        tmp_path, blocks=2, disturbed=everything
    )  # two blocks of a cell and the control: four runs
    whys = runner.blocks(1, 2, 3)
    assert whys == [f"not sound, made {often}: stolen" for often in ("3 times", "3 times", "once")]
    resumed = Scripted(tmp_path, blocks=2, disturbed=everything, stored=runner.numbers)
    assert resumed.blocks(3) == ["not sound, made once: stolen"]
    assert resumed.made == []


def test_a_pair_counts_where_any_run_of_its_block_is_sound_as_in_studies_made_before(tmp_path):
    side = Scripted(tmp_path, disturbed=(1, 2), stored=(1, 10_001, 2)).side(LOAD, "0", CELL)
    assert (side.has(1), side.has(2), side.has(3)) == (True, True, False)
    assert (side.unsound(1), side.unsound(2)) == (None, "stolen")


def test_a_side_that_fails_twice_is_given_up(tmp_path):
    side = Scripted(tmp_path, failing=True).side(LOAD, "0", CELL)
    side.make(1)
    assert side.unsound(1) == "the server did not start"
    with pytest.raises(GivenUp):
        side.make(2)


FILE = """
name = "again"
target = "synth"
[measure]
remake = {remake}
[[load]]
name = "low"
rate = "1k"
[[factor]]
name = "idle"
option = "idle"
levels = ["block", "spin"]
"""


def asked(folder, in_file="'25%'", **options):
    file = folder / "study.toml"
    file.write_text(FILE.format(remake=in_file))
    return resolve(file, folder / "study", budget=None, without=None, **options)


def test_what_the_command_line_says_of_runs_made_again_stands_before_the_file(tmp_path):
    assert asked(tmp_path)[0].measure.remake == 0.25
    assert asked(tmp_path, remake="0")[0].measure.remake == 0.0
    with pytest.raises(UsageError, match="--remake 'often' cannot be read"):
        asked(tmp_path, remake="often")


def test_a_study_that_goes_on_may_make_more_runs_again_and_remembers_it(tmp_path):
    plan, _ = asked(tmp_path)
    begun = {"plan": plan.measure.model_dump(mode="json"), "attribution": plan.file.model_dump(mode="json")}
    study = Study.create(tmp_path / "study", {**begun, "kind": "attribution", "host": {}})
    more, before = resolve(study.folder, None, budget=None, without=None, remake="100%")
    assert (more.measure.remake, before is not None) == (1.0, True)
    study.manifest |= {"plan": more.measure.model_dump(mode="json")}
    study.manifest |= {"attribution": more.file.model_dump(mode="json")}
    study.write("manifest.json", json.dumps(study.manifest))
    assert resolve(study.folder, None, budget=None, without=None)[0].measure.remake == 1.0
    assert asked(tmp_path, "'75%'")[0].measure.remake == 0.75, "the file's is what is asked for now"
