"""From run values to effects, a recommendation and reasons, with a planted truth and without a server."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace

import msgspec
import pytest
from factorials import factor, load
from messages import raises

from hindmost.commands.attribute import effects, family, model, reasons, sentences
from hindmost.commands.attribute.cells import CellRuns, RunValues
from hindmost.commands.attribute.drift import drift_of
from hindmost.commands.attribute.recommend import recommendation
from hindmost.commands.attribute.resolve import resolve
from hindmost.core.notes import Note
from hindmost.errors import UsageError
from tests.golden import sample_attributions

STUDY = "".join(
    [
        'name = "planted"\ntarget = "synth"\nquantiles = "50,99"\ndelta = "{delta}"\n{more}\n',
        load("low", "1k"),
        factor("a", 1, 2, option="seed"),
        factor("b", "block", "spin", option="idle"),
        factor("c", 64, 128, option="memory_mib"),
        '[design]\nblocks = "10"\n{design}\n',
    ]
)
FAILED = Note("not-started", "the server did not start")
CELLS = list(itertools.product((0, 1), repeat=3))


def plan_of(tmp_path, more="", design="", delta="5%"):
    file = tmp_path / "study.toml"
    file.write_text(STUDY.format(more=more, design=design, delta=delta))
    return resolve(file, None, budget=None, without=None)[0]


def texts_of(plan, quantile):
    """Return the sentences of a document with this percentile only."""
    sample = sample_attributions.typed(sample_attributions.small())
    only = msgspec.structs.replace(sample.loads[0], cells=[], drift=None, quantiles={"p99": quantile})
    advice = msgspec.structs.replace(sample.recommendation, text="none")
    return sentences.write_answer(plan, msgspec.structs.replace(sample, loads=[only], recommendation=advice))


def run(block, value):
    return RunValues(
        block, {"p50": 50.0, "p99": value, "mean": 60.0}, {"p50": 1.0, "p99": None}, 100, 0.3, 1.0
    )


def runs_of(truth, scatter=0.05, runs=10, seed=1):
    """Return ten runs of every cell; the cells of a block share the host's disturbance."""
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
    """A raises by half; b lowers by 30 % alone and raises by 40 % with a; c has no effect."""
    a, b, _ = cell
    return 200.0 * (1.5 if a else 1.0) * ((1.4 if a else 0.7) if b else 1.0)


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    """Draw a quarter of the usual permutations: p values down to 0.002 can be told apart, which is enough here."""
    monkeypatch.setattr(family, "DRAWS", 500)


def answer_p99(plan, cells):
    return effects.answer_quantiles(plan, fit_models(plan, cells))[1]["low", "p99"]


def fit_models(plan, cells):
    return {("low", q): model.fit_model(plan, cells, q) for q in plan.labels}


def recommend(plan, cells):
    return recommendation(plan, fit_models(plan, cells), {"low": cells})


def effect_of(answer, term, coding="average"):
    return next(effect for effect in getattr(answer, coding) if effect.term == term)


def test_ratios_are_found_despite_disturbed_blocks(tmp_path):
    answer = answer_p99(plan_of(tmp_path), runs_of(product_truth))
    # On average over b and c: sqrt(1.5 * 1.5 * 2.0) = 2.12; over a: sqrt(0.7 * 1.4) = 0.99.
    a, b, c = (effect_of(answer, name) for name in "abc")
    assert a.verdict == "raises"
    assert a.share_low < math.sqrt(1.5 * 1.5 * 2.0) - 1.0 < a.share_high
    assert {b.verdict, c.verdict} <= {"negligible", "undecided"}
    corner = effect_of(answer, "b", "corner")
    assert corner.verdict == "lowers"
    assert corner.share_low < -0.3 < corner.share_high
    assert effect_of(answer, "a:b", "corner").share_low < 1.0 < effect_of(answer, "a:b", "corner").share_high


def test_a_model_without_an_interaction_that_matters_says_which_cell_deviates(tmp_path):
    plan = plan_of(tmp_path)
    alone = replace(plan.design, terms=tuple(term for term in plan.design.terms if len(term) < 2))
    smaller = replace(plan, design=alone)
    bent = answer_p99(smaller, runs_of(product_truth))
    assert (bent.fit.spare, bent.fit.p < 0.01) == (4, True)
    (reason,) = [one for one in texts_of(smaller, bent).reasons if one.code == "model-misfit"]
    assert reason.values["levels"] == bent.fit.worst
    # On logarithms a:b is log 2, a quarter of which is in each of its cells.
    both = (bent.fit.worst["a"] == "2") == (bent.fit.worst["b"] == "spin")
    assert bent.fit.deviation_share == pytest.approx(2.0**0.25 - 1.0 if both else 2.0**-0.25 - 1.0, abs=0.05)
    straight = answer_p99(smaller, runs_of(lambda cell: 200.0 * 1.5 ** cell[0]))
    assert straight.fit.p > 0.01
    assert not [one for one in texts_of(smaller, straight).reasons if one.code == "model-misfit"]
    assert answer_p99(plan, runs_of(product_truth)).fit.p is None, "a coefficient for every cell"


def test_effects_in_microseconds_add_up(tmp_path):
    def truth(cell):
        return 200.0 + 60.0 * cell[0] - 40.0 * cell[1]

    answer = answer_p99(plan_of(tmp_path, 'scale = "us"'), runs_of(truth, scatter=0.02))
    for term, value in (("a", 60.0), ("b", -40.0)):
        found = effect_of(answer, term, "corner")
        assert found.low < value < found.high
        assert found.share == pytest.approx(found.value / effect_of(answer, "(Intercept)", "corner").value)


def test_a_smallest_effect_in_microseconds_needs_an_additive_scale(tmp_path):
    plan = plan_of(tmp_path, 'scale = "us"', delta="40us")
    answer = answer_p99(plan, runs_of(lambda cell: 200.0 + 30.0 * cell[0], scatter=0.005))
    assert effect_of(answer, "a").verdict == "negligible", "30 us, where 40 matter"
    with raises(UsageError, "bad-value", key="delta", value="20us", scale="ratio"):
        plan_of(tmp_path, delta="20us")


def test_an_unmeasured_percentile_cannot_be_optimised(tmp_path):
    with raises(UsageError, "unknown-name", key="confirm.quantile", name="p99.9", known=["p50", "p99"]):
        plan_of(tmp_path, design='[confirm]\nquantile = "p99.9"')


def test_an_effect_that_changes_its_sign_is_a_reversal(tmp_path):
    (reversal,) = list(answer_p99(plan_of(tmp_path), runs_of(product_truth)).reversals)
    assert (reversal.factor, reversal.level, reversal.by) == ("b", "spin", "a")
    assert reversal.effects_us[0].value < 0.0 < reversal.effects_us[1].value


def test_the_best_cell_comes_first_and_indistinguishable_cells_are_tied(tmp_path):
    plan = plan_of(tmp_path)
    ranking = answer_p99(plan, runs_of(product_truth)).best
    assert [row.levels["a"] for row in ranking[:2]] == ["1", "1"]
    assert {row.levels["b"] for row in ranking[:2]} == {"spin"}
    assert [row.tied for row in ranking] == [True, True] + [False] * 6


def test_a_failed_cell_removes_only_its_own_terms(tmp_path):
    cells = runs_of(product_truth)
    cells[1, 1, 1] = CellRuns((1, 1, 1), failure=FAILED)
    answer = answer_p99(plan_of(tmp_path), cells)
    assert effect_of(answer, "a").verdict == "raises"
    assert not [effect for effect in answer.corner if effect.factors == ["a", "b", "c"]]
    assert all(row.levels != {"a": "2", "b": "spin", "c": "128"} for row in answer.best)


def cells_without_figures(load, cells):
    return reasons.cells_without_figures(SimpleNamespace(loads=[SimpleNamespace(name=load, cells=cells)]))


def test_cells_without_a_figure_give_one_reason_per_load():
    failures = {"x": None, "y": FAILED.document(), "z": FAILED.document(), "w": FAILED.document()}
    cells = [
        SimpleNamespace(levels={"a": "1", "b": b}, failure=failure, runs=4, invalid=0)
        for b, failure in failures.items()
    ]
    (reason,) = cells_without_figures("high", cells)
    assert reason.code == "failed-cell"
    first = {"load": "high", "levels": {"a": "1", "b": "y"}, "why": "not-started"}
    assert reason.values == first | {"failed": 3, "cells": 4}


def test_many_distorted_runs_give_a_reason():
    few, many = (
        SimpleNamespace(levels={"a": "1"}, failure=None, runs=8, invalid=invalid) for invalid in (2, 3)
    )
    assert cells_without_figures("low", [few]) == []
    (reason,) = cells_without_figures("low", [many])
    assert (reason.code, reason.values) == (
        "distorted-runs",
        {"load": "low", "distorted": 3, "runs": 11},
    )


def test_an_overloaded_or_late_cell_is_not_compared(tmp_path):
    cells = runs_of(product_truth)
    cells[1, 0, 0].runs[0].values["p99"] = math.inf
    cells[0, 1, 0].failure = FAILED
    found = model.fit_model(plan_of(tmp_path), cells, "p99")
    assert set(found.runs) == set(CELLS) - {(1, 0, 0), (0, 1, 0)}


def test_forbidden_cells_are_neither_predicted_nor_recommended(tmp_path):
    plan = plan_of(tmp_path, design='forbidden = [{ a = 1, b = "spin" }]')
    cells = {
        cell: cell_runs for cell, cell_runs in runs_of(product_truth).items() if cell in plan.design.cells
    }
    answer = answer_p99(plan, cells)
    for row in (*answer.predicted, *answer.best):
        assert (row.levels["a"], row.levels["b"]) != ("1", "spin")


def test_the_recommended_setting_is_significantly_lower_and_changes_least(tmp_path):
    plan = plan_of(tmp_path)
    found = recommend(plan, runs_of(product_truth))
    assert found.outcome == "better"
    assert found.levels == {"a": "1", "b": "spin", "c": "64"}, "c does nothing: it is left"
    assert found.gain.low < 0.7 < found.gain.high < 1.0


def test_a_cell_with_two_runs_or_none_is_never_recommended(tmp_path):
    plan = plan_of(tmp_path)
    alone = replace(plan.design, terms=tuple(term for term in plan.design.terms if len(term) < 2))
    smaller = replace(plan, design=alone)  # a model that predicts every cell, also those without runs

    def truth(cell):
        return 200.0 * 0.7 ** cell[0] * 0.7 ** cell[1]

    for runs in (2, 0):
        cells = runs_of(truth)
        for cell in ((1, 1, 0), (1, 1, 1)):  # the lowest ones
            cells[cell].runs[:] = cells[cell].runs[:runs]
        found = recommend(smaller, cells)
        assert found.outcome == "better"
        assert (found.levels["a"], found.levels["b"]) != ("2", "spin"), runs


def test_too_few_runs_leave_the_recommendation_open_with_the_missing_blocks(tmp_path):
    plan = plan_of(tmp_path)
    cells = runs_of(product_truth, runs=2)
    for runs in cells.values():
        runs.invalid = 2  # every other run is distorted
    found = recommend(plan, cells)
    assert (found.outcome, found.more_blocks) == ("open", 2)


def test_no_setting_is_recommended_if_the_present_one_is_tied(tmp_path):
    found = recommend(plan_of(tmp_path), runs_of(lambda cell: 200.0, scatter=0.2))
    assert (found.outcome, found.levels) == ("tied", None)


def test_an_uncertain_candidate_is_named_with_the_blocks_that_would_decide(tmp_path):
    plan = plan_of(tmp_path)
    cells = runs_of(lambda cell: 200.0 * 0.85 ** cell[1], scatter=0.2, runs=4, seed=3)
    found = recommend(plan, cells)
    assert found.outcome == "tied"
    assert found.candidate == answer_p99(plan, cells).best[0].levels
    assert found.more_blocks > 0


def test_a_present_setting_that_is_the_lowest_is_kept(tmp_path):
    found = recommend(plan_of(tmp_path), runs_of(lambda cell: 200.0 * (1.0 + sum(cell))))
    assert found.outcome == "present"


def test_a_cost_above_the_gain_is_named_first(tmp_path):
    """B lowers p99 by 30 % and makes p50 six times as long."""
    plan = plan_of(tmp_path)
    cells = runs_of(product_truth)
    for cell, cell_runs in cells.items():
        for one_run in cell_runs.runs:
            one_run.values["p50"] = one_run.values["p99"] * (1.5 if cell[1] else 0.175)
    found = recommend(plan, cells)
    assert found.levels["b"] == "spin"
    (price,) = found.prices
    assert price.more_than_gained
    assert price.shown
    assert price.ratio.value == pytest.approx(6.0, rel=0.1)
    assert found.text.index("p50") < found.text.index("b = spin"), "the cost comes first"


def test_a_setting_that_fails_at_another_load_is_not_recommended(tmp_path):
    plan = plan_of(tmp_path)
    cells = runs_of(product_truth)
    at_high_load = {cell: CellRuns(cell, list(cell_runs.runs)) for cell, cell_runs in cells.items()}
    for cell in at_high_load:
        if cell[1]:
            at_high_load[cell].failure = FAILED
    found = recommendation(plan, fit_models(plan, cells), {"low": cells, "high": at_high_load})
    assert found.levels is None


def test_verdicts_follow_the_adjusted_p(tmp_path):
    """Eighty effects of size zero: some intervals exclude zero, but no effect is reported to raise or lower."""
    plan = plan_of(tmp_path)
    excluded = 0
    for seed in range(12):
        found = fit_models(plan, runs_of(lambda cell: 200.0, seed=seed))
        _, rows = effects.judge_effects(plan, found, "average", {})
        for row in rows["low", "p99"][1:]:
            excluded += row.effect.low > 0.0 or row.effect.high < 0.0
            assert row.verdict in ("negligible", "undecided")
    assert excluded, "no interval excludes zero by chance: these seeds test nothing"


def test_effects_in_microseconds_are_relative_to_the_low_level(tmp_path):
    """A adds 300 us to 165 us, and not its ratio times the mean of all cells (514 us)."""

    def truth(cell):
        return 165.0 + 300.0 * cell[0]

    answer = answer_p99(plan_of(tmp_path), runs_of(truth, scatter=0.01))
    for coding in ("average", "corner"):
        found = effect_of(answer, "a", coding)
        assert found.low < 300.0 < found.high
        assert found.base == pytest.approx(165.0, rel=0.12)
        assert found.base * found.share == pytest.approx(found.value)


@pytest.mark.parametrize(("before", "after"), [(484.0, 185.0), (676.0, 2_480.0)])
@pytest.mark.parametrize("coding", ["average", "corner"])
def test_a_share_is_relative_to_the_figure_before_the_change(before, after, coding, tmp_path):
    """From 484 to 185 us is 62 % less; relative to the mean of all cells it would be 89 %."""
    folder = tmp_path / f"{before}"
    folder.mkdir()

    def truth(cell):
        return before + (after - before) * cell[0]

    found = effect_of(answer_p99(plan_of(folder, 'scale = "us"'), runs_of(truth, scatter=0.01)), "a", coding)
    assert found.share == pytest.approx(after / before - 1.0, rel=0.1)
    assert found.share_low < found.share < found.share_high


def test_an_interaction_is_the_difference_from_the_sum_of_its_parts(tmp_path):
    """B adds 500 us only together with A: 165, 465, 165 and 965 us."""

    def truth(cell):
        return 165.0 + 300.0 * cell[0] + 500.0 * cell[0] * cell[1]

    for coding in ("average", "corner"):
        found = effect_of(answer_p99(plan_of(tmp_path), runs_of(truth, scatter=0.01)), "a:b", coding)
        assert found.base == pytest.approx(465.0, rel=0.12)
        assert found.low < 500.0 < found.high
        assert found.base * found.share == pytest.approx(found.value)


def test_a_control_that_drifts_is_found():
    steady = CellRuns((0,), [run(i, 100.0 + (-1) ** i) for i in range(1, 11)])
    rising = CellRuns((0,), [run(i, 100.0 + 3.0 * i) for i in range(1, 11)])
    assert not drift_of(steady, "p99").drifting
    found = drift_of(rising, "p99")
    assert found.drifting
    assert found.share_per_block == pytest.approx(3.0 / 116.5)
    assert drift_of(CellRuns((0,)), "p99") is None


def test_factors_with_too_few_runs_are_undecided(tmp_path):
    plan = plan_of(tmp_path)
    runs = runs_of(lambda cell: 200.0 * (3.0 if cell[0] else 1.0), scatter=0.01)
    few = {cell: CellRuns(cell, cell_runs.runs[: 1 if cell[0] else 10]) for cell, cell_runs in runs.items()}
    texts = texts_of(plan, answer_p99(plan, few))
    (reason,) = [reason for reason in texts.reasons if reason.code == "undecided-factors"]
    assert (texts.verdict, reason.values["more_runs"]) == ("open", None)
    lost_terms = {term[0] for term in model.fit_model(plan, few, "p99").fit.lost if len(term) == 1}
    assert lost_terms
    assert lost_terms <= set(reason.values["factors"])


def test_a_study_continues_while_cells_have_too_few_runs(tmp_path, monkeypatch):
    file = tmp_path / "study.toml"
    file.write_text(STUDY.format(more="", design="", delta="5%").replace('"10"', '"4..10"'))
    plan = resolve(file, None, budget=None, without=None)[0]
    runs = runs_of(lambda cell: 200.0 * (3.0 if cell[0] else 1.0), scatter=0.001)
    few = {cell: CellRuns(cell, cell_runs.runs[: 1 if cell[0] else 10]) for cell, cell_runs in runs.items()}
    last_look, stopping = plan.looks.looks[-2], import_module("hindmost.commands.attribute.stopping")
    for cell_runs, stops in ((runs, True), (few, False)):
        monkeypatch.setattr(stopping, "runs_of", lambda runner, load, cell_runs=cell_runs: cell_runs)
        assert stopping.should_stop(SimpleNamespace(plan=plan), last_look) is stops


def test_undecided_factors_give_a_reason_with_the_missing_runs(tmp_path):
    plan = plan_of(tmp_path)
    quantile = answer_p99(
        plan, runs_of(lambda cell: 200.0 * (1.06 if cell[0] else 1.0), scatter=0.2, runs=3, seed=2)
    )
    texts = texts_of(plan, quantile)
    assert (texts.verdict, len(texts.summary)) == ("open", 3)
    assert (texts.headline, texts.summary[1]) == (texts.summary[0], "none")
    (reason,) = [reason for reason in texts.reasons if reason.code == "undecided-factors"]
    undecided = {
        effect.factors[0]: effect.more_runs
        for effect in quantile.average
        if effect.verdict == "undecided" and len(effect.factors) == 1
    }
    assert reason.values["factors"] == list(undecided)
    assert reason.values["more_runs"] == max(runs for runs in undecided.values() if runs)
