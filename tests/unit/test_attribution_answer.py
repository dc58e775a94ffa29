"""From run values to effects, a recommendation and words: planted truth without a server."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from hindmost.studies.attribution import effects, model, words
from hindmost.studies.attribution.cells import CellRuns, RunValues
from hindmost.studies.attribution.confirm import recommended
from hindmost.studies.attribution.drift import drift_of
from hindmost.studies.attribution.resolve import resolve

STUDY = """
name = "planted"
target = "synth"
quantiles = "50,99"
delta = "5%"
{more}
[[load]]
name = "low"
rate = "1k"

[[factor]]
name = "a"
option = "seed"
levels = [1, 2]

[[factor]]
name = "b"
option = "idle"
levels = ["block", "spin"]

[[factor]]
name = "c"
option = "memory_mib"
levels = [64, 128]

[design]
blocks = "10"
{design}
"""
CELLS = list(itertools.product((0, 1), repeat=3))


def plan_of(tmp_path, more="", design=""):
    file = tmp_path / "study.toml"
    file.write_text(STUDY.format(more=more, design=design))
    return resolve(file, None, budget=None, without=None)[0]


def run(block, value):
    return RunValues(
        block, {"p50": 50.0, "p99": value, "mean": 60.0}, {"p50": 1.0, "p99": None}, 100, 0.3, 1.0
    )


def runs_of(truth, scatter=0.05, runs=10, seed=1):
    """Ten runs of every cell; blocks share what the host does."""
    draw = random.Random(seed)
    host = [draw.gauss(0.0, 0.1) for _ in range(runs)]
    return {
        cell: CellRuns(
            cell,
            [run(i + 1, truth(cell) * math.exp(host[i] + draw.gauss(0.0, scatter))) for i in range(runs)],
        )
        for cell in CELLS
    }


def product_truth(cell):
    """A raises by half; b lowers by 30 % alone and raises by 40 % with a; c does nothing."""
    a, b, _ = cell
    return 200.0 * (1.5 if a else 1.0) * ((1.4 if a else 0.7) if b else 1.0)


def answered(plan, cells):
    control = CellRuns(plan.control)
    found = {("low", q): model.analyse(plan, cells, control, q) for q in plan.labels}
    return effects.adjusted_together(plan, found)[1]["low", "p99"]


def one(answer, term, coding="average"):
    return next(effect for effect in answer[coding] if effect["term"] == term)


def test_ratios_are_found_whatever_blocks_share(tmp_path):
    answer = answered(plan_of(tmp_path), runs_of(product_truth))
    # On average over b and c: sqrt(1.5 * 1.5 * 2.0) = 2.12; over a: sqrt(0.7 * 1.4) = 0.99.
    a, b, c = (one(answer, name) for name in "abc")
    assert a["verdict"] == "raises"
    assert a["share_low"] < math.sqrt(1.5 * 1.5 * 2.0) - 1.0 < a["share_high"]
    assert {b["verdict"], c["verdict"]} <= {"negligible", "undecided"}
    corner = one(answer, "b", "corner")
    assert corner["verdict"] == "lowers"
    assert corner["share_low"] < -0.3 < corner["share_high"]
    assert one(answer, "a:b", "corner")["share_low"] < 1.0 < one(answer, "a:b", "corner")["share_high"]


def test_effects_in_microseconds_add_up(tmp_path):
    def truth(cell):
        return 200.0 + 60.0 * cell[0] - 40.0 * cell[1]

    answer = answered(plan_of(tmp_path, 'scale = "us"'), runs_of(truth, scatter=0.02))
    for term, value in (("a", 60.0), ("b", -40.0)):
        found = one(answer, term, "corner")
        assert found["low"] < value < found["high"]
        assert found["share"] == pytest.approx(found["value"] / one(answer, "(Intercept)", "corner")["value"])


def test_a_sign_that_turns_is_told(tmp_path):
    (reversal,) = list(answered(plan_of(tmp_path), runs_of(product_truth))["reversals"])
    assert (reversal["factor"], reversal["by"]) == ("b", "a")
    assert reversal["effects_us"][0]["value"] < 0.0 < reversal["effects_us"][1]["value"]
    assert "b = spin lowers it by" in reversal["text"]


def test_the_best_cell_comes_first_with_those_that_cannot_be_told_from_it(tmp_path):
    plan = plan_of(tmp_path)
    ranking = answered(plan, runs_of(product_truth))["best"]
    assert [row["levels"]["a"] for row in ranking[:2]] == ["1", "1"]
    assert {row["levels"]["b"] for row in ranking[:2]} == {"spin"}
    assert [row["tied"] for row in ranking] == [True, True] + [False] * 6


def test_a_lost_cell_takes_its_terms_with_it_and_nothing_else(tmp_path):
    cells = runs_of(product_truth)
    cells[1, 1, 1] = CellRuns((1, 1, 1), failure="the server did not start")
    answer = answered(plan_of(tmp_path), cells)
    assert one(answer, "a")["verdict"] == "raises"
    assert not [effect for effect in answer["corner"] if effect["factors"] == ["a", "b", "c"]]
    assert all(row["levels"] != {"a": "2", "b": "spin", "c": "128"} for row in answer["best"])


def test_cells_without_a_figure_are_one_line_a_load():
    failures = {"x": None, "y": "the server did not start", "z": "not sound", "w": "not sound"}
    cells = [
        {"levels": {"a": "1", "b": b}, "failure": failure, "runs": 4, "invalid": 0}
        for b, failure in failures.items()
    ]
    (reason,) = words._cells({"loads": [{"name": "high", "cells": cells}]})
    assert reason["code"] == "cell"
    assert "at high load there is no figure for a = 1, b = y: the server did not start" in reason["text"]
    assert reason["text"].endswith("; nor for 2 more of 4 cells")


def test_an_overloaded_or_late_cell_is_not_compared(tmp_path):
    cells = runs_of(product_truth)
    cells[1, 0, 0].runs[0].values["p99"] = math.inf
    cells[0, 1, 0].failure = "the server is saturated"
    found = model.analyse(plan_of(tmp_path), cells, CellRuns((0, 0, 0)), "p99")
    assert set(found.runs) == set(CELLS) - {(1, 0, 0), (0, 1, 0)}


def test_forbidden_cells_are_neither_predicted_nor_recommended(tmp_path):
    plan = plan_of(tmp_path, design='forbidden = [{ a = 1, b = "spin" }]')
    cells = {cell: of for cell, of in runs_of(product_truth).items() if cell in plan.design.cells}
    answer = answered(plan, cells)
    for row in (*answer["predicted"], *answer["best"]):
        assert (row["levels"]["a"], row["levels"]["b"]) != ("1", "spin")


def test_what_to_set_is_the_cell_with_the_least_product_over_loads(tmp_path):
    plan = plan_of(tmp_path)
    rank = [
        {"levels": plan.levels(cell), "value": value} for cell, value in (((0, 0, 0), 9.0), ((1, 0, 0), 4.0))
    ]
    other = [dict(row, value=value) for row, value in zip(rank, (1.0, 3.0), strict=True)]
    loads = [{"name": n, "quantiles": {"p99": {"best": b}}} for n, b in (("x", rank), ("y", other))]
    assert recommended(plan, {"loads": loads}) == (0, 0, 0)  # 9 x 1 is less than 4 x 3
    assert recommended(plan, {"loads": loads[:1]}) == (1, 0, 0)
    assert recommended(plan, {"loads": [*loads, {"name": "z", "quantiles": {"p99": {"best": []}}}]}) is None


def test_what_makes_no_difference_is_left_as_it_is(tmp_path):
    plan = plan_of(tmp_path)
    values = {(1, 1, 1): 100.0, (0, 1, 1): 101.0, (0, 1, 0): 104.0, (0, 0, 0): 140.0}
    rank = [{"levels": plan.levels(cell), "value": value} for cell, value in values.items()]
    assert recommended(plan, {"loads": [{"name": "x", "quantiles": {"p99": {"best": rank}}}]}) == (0, 1, 0)


def test_a_control_that_drifts_is_told():
    steady = CellRuns((0,), [run(i, 100.0 + (-1) ** i) for i in range(1, 11)])
    rising = CellRuns((0,), [run(i, 100.0 + 3.0 * i) for i in range(1, 11)])
    assert not drift_of(steady, "p99")["drifting"]
    found = drift_of(rising, "p99")
    assert found["drifting"]
    assert found["share_per_block"] == pytest.approx(3.0 / 116.5)
    assert drift_of(CellRuns((0,)), "p99") is None


def test_words_say_what_is_open_and_how_many_runs_would_decide_it(tmp_path):
    plan = plan_of(tmp_path)
    quantile = answered(plan, runs_of(lambda cell: 200.0 * (1.06 if cell[0] else 1.0), scatter=0.2, runs=3))
    empty = {"cells": [], "drift": None, "name": "low", "quantiles": {"p99": quantile}}
    said = words.of(plan, {"loads": [empty], "confirmations": []})
    assert said["verdict"] == "open"
    (reason,) = [one for one in said["reasons"] if one["code"] == "undecided"]
    assert "more runs of each cell would decide it" in reason["text"]
