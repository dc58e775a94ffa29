"""Fresh pairs of a setting are compared by ranks and need six pairs; a load without pairs has a note."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from messages import raises

from hindmost.commands.attribute.attempts import Attempts
from hindmost.commands.attribute.cells import CellRuns, RunValues
from hindmost.commands.attribute.confirm import confirmations
from hindmost.commands.attribute.plan import LoadPoint
from hindmost.commands.attribute.resolve import resolve
from hindmost.core.store.estimates import encode
from hindmost.errors import UsageError
from hindmost.stats import compare_runs

STUDY = """
name = "confirm"
target = "synth"
quantiles = "50,99"
load = [{ name = "low", rate = "1k" }, { name = "high", rate = "2k" }]

[[factor]]
name = "idle"
option = "idle"
levels = ["block", "spin"]

[design]
blocks = "3"

[confirm]
runs = RUNS
"""


@pytest.fixture
def plan(tmp_path):
    return plan_with(tmp_path, 8)


def plan_with(tmp_path, runs):
    file = tmp_path / "study.toml"
    file.write_text(STUDY.replace("RUNS", str(runs)))
    return resolve(file, None, budget=None, without=None)[0]


def by_side(before, after):
    return {"before": before, "after": after}


class FakeRunner:
    """A runner with given fresh runs by load and side; None where no run was started."""

    mean = 60.0

    def __init__(self, plan, folder, fresh):
        self.plan, self.fresh = plan, fresh
        self.attempts = Attempts(folder)
        self.readings = self

    def stored_part(self, load: LoadPoint, name: str):
        by_side = self.fresh.get(load.name)
        return None if by_side is None else (load.name, name.split("/")[1])

    def cell(self, part, cell, attempts, where):
        values = self.fresh[part[0]][part[1]]
        runs = [
            RunValues(block, {"p50": 50.0 + block, "p99": p99, "mean": self.mean}, {}, 100, None, 1.0)
            for block, p99 in enumerate(values, 1)
        ]
        return CellRuns(cell, runs)


def confirm(plan, tmp_path, fresh):
    quantile = SimpleNamespace(predicted=[])
    loads = [SimpleNamespace(quantiles=dict.fromkeys(plan.labels, quantile)) for _ in plan.loads]
    return confirmations(FakeRunner(plan, tmp_path, fresh), SimpleNamespace(levels={"idle": "spin"}), loads)


BEFORE = [100.0, 104.0, 98.0, 101.0, 99.0, 103.0, 97.0, 102.0]


def test_one_disturbed_pair_neither_refutes_nor_confirms(plan, tmp_path):
    disturbed = [*BEFORE[1:], 5241.0]
    (low, high), _ = confirm(
        plan, tmp_path, {"low": by_side(BEFORE, disturbed), "high": by_side(disturbed, BEFORE)}
    )
    assert (low.outcome, high.outcome) == ("undecided", "undecided")


def test_lower_in_every_pair_is_confirmed_and_higher_is_refuted(plan, tmp_path):
    less = [0.7 * value for value in BEFORE]
    (low, high), notes = confirm(
        plan, tmp_path, {"low": by_side(BEFORE, less), "high": by_side(less, BEFORE)}
    )
    assert (low.outcome, high.outcome) == ("confirmed", "refuted")
    assert low.ratio["p99"].value == pytest.approx(0.7)
    assert (low.load, low.least_pairs, notes) == ("low", None, [])


def test_fewer_than_six_pairs_decide_nothing(plan, tmp_path):
    less = [0.5 * value for value in BEFORE]
    (low,), (high,) = confirm(plan, tmp_path, {"low": by_side(BEFORE[:5], less[:5])})
    assert (low.outcome, low.least_pairs) == ("undecided", 6)
    assert low.ratio["p99"].low is None
    assert (high.load, high.why.code) == ("high", "no-fresh-runs")


def test_a_load_with_only_excluded_or_infinite_pairs_has_no_confirmation(plan, tmp_path):
    late = [*BEFORE[1:], float("inf")]
    fresh = {"low": by_side(BEFORE, []), "high": by_side(BEFORE, late)}
    confirmed, notes = confirm(plan, tmp_path, fresh)
    assert confirmed == []
    assert [(note.load, note.why.code) for note in notes] == [
        ("low", "no-clean-pair"),
        ("high", "infinitely-late"),
    ]


def test_an_infinite_mean_does_not_prevent_a_confirmation(plan, tmp_path, monkeypatch):
    monkeypatch.setattr(FakeRunner, "mean", math.inf)
    less = [0.7 * value for value in BEFORE]
    (low,), _ = confirm(plan, tmp_path, {"low": by_side(BEFORE, less)})
    assert low.outcome == "confirmed"
    assert set(low.ratio) == {"p50", "p99"}
    for side in (low.before, low.after):
        assert set(side.between_runs_sd_us) == {"p50", "p99"}
        assert side.values["mean"] == [math.inf] * 8
    encode(low)


def test_too_few_pairs_are_refused_before_a_study_begins(tmp_path):
    with raises(UsageError, "bad-value", key="confirm.runs", value=5, least=6):
        plan_with(tmp_path, 5)


def test_too_few_blocks_are_refused_before_a_study_begins(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(STUDY.replace("RUNS", "8").replace('blocks = "3"', 'blocks = "2"'))
    with raises(UsageError, "bad-value", key="design.blocks", value="2", least=3):
        resolve(file, None, budget=None, without=None)


def test_spreads_are_compared_by_ranks():
    """One run of 5,241 us among 20 does not change the estimated spread of its side."""
    wild = [*BEFORE, *[value + 0.5 for value in BEFORE], 5241.0, 99.5, 100.5, 101.5]
    tame = [value + 0.25 for value in [*BEFORE, *BEFORE, 99.0, 100.0, 101.0, 98.5]]
    spread = compare_runs(tame, wild).spread
    assert spread.low < 1.0 < spread.high
