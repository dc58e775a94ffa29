"""Intervals and p-values of factors whose effect differs between blocks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from block_worlds import DESIGN, WORLDS, coverage, interacting

from hindmost.stats import Factorial, best_differences, control_differences, fit_runs, joint_draws, step_down

INTERACTING = "effect by block, sd 20 %"


def slack(questions: float) -> float:
    return 4.0 * math.sqrt(0.95 * 0.05 / questions)


def test_intervals_cover_an_effect_that_differs_between_blocks() -> None:
    ratio, us, nothing = coverage(INTERACTING, 8, 40, seed=1)
    assert min(ratio, us) >= 0.95 - slack(40)
    assert nothing >= 0.95 - slack(240)


@pytest.mark.nightly
@pytest.mark.parametrize("blocks", [5, 10, 20])
@pytest.mark.parametrize("world", WORLDS)
def test_intervals_cover_in_every_world_of_blocks(world: str, blocks: int) -> None:
    """Slow minutes are covered to .88: 5 to 20 runs cannot show what a tenth of them does."""
    floor = 0.88 if "slow" in world else 0.95 - slack(400)
    assert min(coverage(world, blocks, 400, seed=blocks)) >= floor


def test_a_study_of_factors_that_do_nothing_on_average_raises_few_false_alarms() -> None:
    random = np.random.default_rng(3)
    blocks = {cell: range(8) for cell in DESIGN.cells}
    tries, by_steps, by_control, tied = 30, 0, 0, 0
    for seed in range(tries):
        runs = {cell: values / (468 / 165) ** cell[0] for cell, values in interacting(0.2)(random, 8).items()}
        fit = fit_runs(runs, DESIGN, blocks=blocks, scale="log")
        t = [effect.value / effect.error for effect in fit.effects("average")[1:]]
        by_steps += min(step_down(t, joint_draws([fit], ["average"], 300, seed))) < 0.05
        differences = control_differences([fit], DESIGN.cells[0], DESIGN.cells[1:], seed=seed)
        by_control += any(difference.lower or difference.higher for difference in differences)
        best = best_differences(fit, draws=500, seed=seed)
        tied += next(difference.tied for difference in best if difference.cell == DESIGN.cells[0])
    assert max(by_steps, by_control, tries - tied) <= 6  # of 30 at 5 %: more in one seed of 1,000


def test_a_block_without_some_cells_counts_for_the_others() -> None:
    """With complete blocks: Student's t over the blocks' effects. A missing run costs about one degree of freedom."""
    random = np.random.default_rng(4)
    drift, own = random.normal(0.0, 1.0, 6), random.normal(0.0, 0.2, 6)
    runs = {(a,): 10.0 + a * (1.0 + own) + drift for a in (0, 1)}
    labels = {cell: list(range(6)) for cell in runs}
    effect = fit_runs(runs, Factorial(["a"]), blocks=labels).effects()[1]
    assert effect.degrees == pytest.approx(5.0)
    assert effect.value == pytest.approx(1.0 + own.mean(), abs=0.05)
    del labels[1,][0]
    less = fit_runs(runs | {(1,): runs[1,][1:]}, Factorial(["a"]), blocks=labels).effects()[1]
    assert less.degrees == pytest.approx(4.0)
    assert less.value == pytest.approx(1.0 + own[1:].mean(), abs=0.05)


def test_one_slow_run_in_a_hundred_hardly_moves_an_effect() -> None:
    random = np.random.default_rng(5)
    blocks = {cell: range(12) for cell in DESIGN.cells}
    runs = {cell: 100.0 * np.exp(0.05 * random.standard_normal(12)) for cell in DESIGN.cells}
    before = fit_runs(runs, DESIGN, blocks=blocks, scale="log").effects("average")[1]
    runs[1, 0, 1][3] *= 20.0
    after = fit_runs(runs, DESIGN, blocks=blocks, scale="log").effects("average")[1]
    assert abs(after.value - before.value) < before.error
    assert after.error < 1.5 * before.error
