"""Excluded runs of a cell: how often they are repeated, and which runs of earlier versions still count."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from messages import raises

from hindmost.commands.attribute.attempts import FILE as LEDGER
from hindmost.commands.attribute.attempts import Attempt, Attempts
from hindmost.commands.attribute.plan import LoadPoint
from hindmost.commands.attribute.resolve import resolve
from hindmost.commands.attribute.runner import Runner
from hindmost.core.notes import Note
from hindmost.core.store import Study
from hindmost.core.study.pairs import NoMoreRuns
from hindmost.errors import UsageError

LOAD, CELL = LoadPoint("low", 500.0, "low"), (0,)
STEAL = Note("steal-time", "steal", {"share": 0.06})
FAILED = Note("not-started", "the server did not start", {"status": 1})


class FakeRunner(Runner):
    """Records the runs it would make; `disturbed` are the numbers of runs to exclude."""

    def __init__(self, folder, blocks=3, disturbed=(), stored=(), failing=False):
        plan = SimpleNamespace(
            blocks=(blocks, blocks),
            design=SimpleNamespace(cells=[CELL]),
            loads=[LOAD],
            measure=SimpleNamespace(remake=1.0),
        )
        super().__init__(SimpleNamespace(folder=folder), plan)  # type: ignore[arg-type]
        self.numbers, self.numbers_made, self.failing = list(stored), [], failing
        values = lambda _, number: SimpleNamespace(excluded=STEAL if number in disturbed else None)  # noqa: E731
        self.readings = SimpleNamespace(run=values)  # type: ignore[assignment]

    def part(self, load, name, cell):
        return SimpleNamespace(runs=lambda: [SimpleNamespace(number=number) for number in self.numbers])

    def run_once(self, load, name, cell, number):
        failure = FAILED if self.failing else None
        self.attempts.add(Attempt(load.folder, name, number, 0.1, failure), {})
        if failure is None:
            self.numbers_made.append(number)
            self.numbers.append(number)
        return failure

    def blocks(self, *numbers):
        """Return why each block has no run that counts: the code and the number of attempts, or None."""
        failures = [self.make(LOAD, "0", CELL, number) for number in numbers]
        return [
            None if failure is None else (failure.code, failure.values["attempts"]) for failure in failures
        ]


def test_an_excluded_run_is_repeated_twice_and_a_stored_run_never(tmp_path):
    runner = FakeRunner(tmp_path, disturbed=(1, 10_001, 20_001, 2))
    for _ in range(2):  # the second time all runs are stored
        assert runner.blocks(1, 2, 3) == [("steal-time", 3), None, None]
        assert runner.numbers_made == [1, 10_001, 20_001, 2, 10_002, 3]


def test_a_study_repeats_no_more_runs_than_it_planned(tmp_path):
    every_number = [number + offset for number in range(1, 9) for offset in (0, 10_000, 20_000)]
    runner = FakeRunner(
        tmp_path, blocks=2, disturbed=every_number
    )  # two blocks of a cell and the control: four runs
    assert runner.blocks(1, 2, 3) == [("steal-time", times) for times in (3, 3, 1)]
    resumed = FakeRunner(tmp_path, blocks=2, disturbed=every_number, stored=runner.numbers)
    assert resumed.blocks(3) == [("steal-time", 1)]
    assert resumed.numbers_made == []


def test_a_pair_counts_if_any_run_of_its_block_counts(tmp_path):
    side = FakeRunner(tmp_path, disturbed=(1, 2), stored=(1, 10_001, 2)).side(LOAD, "0", CELL)
    assert (side.has(1), side.has(2), side.has(3)) == (True, True, False)
    assert (side.excluded(1), side.excluded(2)) == (None, STEAL)


def test_a_side_that_fails_twice_is_given_up(tmp_path):
    side = FakeRunner(tmp_path, failing=True).side(LOAD, "0", CELL)
    side.make(1)
    assert side.excluded(1) == FAILED
    with pytest.raises(NoMoreRuns):
        side.make(2)


def test_failures_are_stored_with_codes_and_those_of_version_0_1_are_read(tmp_path):
    attempts = Attempts(tmp_path)
    attempts.add(Attempt("low", "0", 1, 0.5, FAILED), {"idle": "block"})
    attempts.add(Attempt("low", "0", 2, 0.5, None), {"idle": "block"})
    earlier = {"load": "low", "cell": "0", "block": 3, "seconds": 1.0, "why": "no memory"}
    with (tmp_path / LEDGER).open("a") as file:
        file.write(json.dumps(earlier) + '\n{"load": "lo')
    assert attempts.failures("low", "0") == [FAILED, Note("run-failed", "no memory")]
    assert [one.block for one in attempts.entries()] == [1, 2, 3]


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


def resolve_file(folder, in_file="'25%'", **options):
    file = folder / "study.toml"
    file.write_text(FILE.format(remake=in_file))
    return resolve(file, folder / "study", budget=None, without=None, **options)


def test_remake_on_the_command_line_overrides_the_file(tmp_path):
    assert resolve_file(tmp_path)[0].measure.remake == 0.25
    assert resolve_file(tmp_path, remake="0")[0].measure.remake == 0.0
    with raises(UsageError, "bad-value", name="--remake", value="often"):
        resolve_file(tmp_path, remake="often")


def test_a_resumed_study_may_repeat_more_runs_and_remembers_it(tmp_path):
    plan, _ = resolve_file(tmp_path)
    stored_plan = {
        "plan": plan.measure.model_dump(mode="json"),
        "attribution": plan.file.model_dump(mode="json"),
    }
    study = Study.create(tmp_path / "study", {**stored_plan, "kind": "attribution", "host": {}})
    repeating, before = resolve(study.folder, None, budget=None, without=None, remake="100%")
    assert (repeating.measure.remake, before is not None) == (1.0, True)
    study.manifest |= {"plan": repeating.measure.model_dump(mode="json")}
    study.manifest |= {"attribution": repeating.file.model_dump(mode="json")}
    study.write("manifest.json", json.dumps(study.manifest))
    assert resolve(study.folder, None, budget=None, without=None)[0].measure.remake == 1.0
    assert resolve_file(tmp_path, "'75%'")[0].measure.remake == 0.75, (
        "the file's value is the current request"
    )
