"""Split plots: what one change of a setting brings is shared by the runs that follow, and belongs to its error."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest
from rejections import allowed_rejections

from hindmost.commands.attribute.design import Factor, full, schedule
from hindmost.stats import Effect, Factorial, RunFit, coefficient_ps, fit_runs

DESIGN = Factorial(["hard", "b", "c"])
BLOCKS = 10
OF_BLOCK = {cell: list(range(BLOCKS)) for cell in DESIGN.cells}
BLOCK, CHANGE, RUN = 0.03, 0.10, 0.05
"""Standard deviations of blocks, of what a change brings, and of runs after one change."""
EFFECTS = {"hard": 0.2, "b": 0.1}


def study(random: np.random.Generator, hard: float = EFFECTS["hard"]) -> Mapping[tuple[int, ...], np.ndarray]:
    """Return runs of all cells on the scale of logarithms, whose order the schedule decides."""
    planned = [Factor("hard", ("0", "1"), change_s=60.0), Factor("b", ("0", "1")), Factor("c", ("0", "1"))]
    runs: dict[tuple[int, ...], list[float]] = {cell: [] for cell in DESIGN.cells}
    block = level = -1
    brought = warm = 0.0
    for run in schedule(full(planned), BLOCKS, int(random.integers(2**31)), controls=0):
        if (run.block, run.cell[0]) != (block, level):
            warm = random.normal(0.0, BLOCK) if run.block != block else warm
            block, level = run.block, run.cell[0]
            brought = random.normal(0.0, CHANGE)
        effect = hard * level + EFFECTS["b"] * run.cell[1]
        runs[run.cell].append(effect + warm + brought + random.normal(0.0, RUN))
    return {cell: np.array(values) for cell, values in runs.items()}


def effect_of(fit: RunFit, name: str) -> Effect:
    return next(one for one in fit.effects("average") if one.name == name)


@pytest.mark.parametrize("tries", [300, pytest.param(3_000, marks=pytest.mark.nightly)])
def test_intervals_cover_by_blocks_and_not_as_if_all_runs_were_in_random_order(tries: int) -> None:
    random = np.random.default_rng(1)
    missed = dict.fromkeys(("hard", "b", "hard in random order"), 0)
    for _ in range(tries):
        runs = study(random)
        split, free = fit_runs(runs, DESIGN, blocks=OF_BLOCK), fit_runs(runs, DESIGN)
        for name, fit in (("hard", split), ("b", split), ("hard in random order", free)):
            one = effect_of(fit, name.split()[0])
            missed[name] += not one.low <= EFFECTS[one.name] <= one.high
    least, most = allowed_rejections(tries, 0.03)[0], allowed_rejections(tries, 0.05)[-1]
    assert least <= missed["hard"] <= most
    assert least <= missed["b"] <= most
    assert missed["hard in random order"] > 0.15 * tries


def test_the_interval_of_the_hard_factor_is_that_of_the_whole_plot_analysis() -> None:
    """The textbook's: the mean square of whole plots within blocks, with blocks - 1 degrees of freedom."""
    random = np.random.default_rng(2)
    brought = 0.1 * random.choice([-1.0, 1.0], (BLOCKS, 2))  # none so far away that it would be bent
    runs = {
        cell: brought[:, cell[0]] + 0.02 * random.choice([-1.0, 1.0], BLOCKS) + 0.2 * cell[0]
        for cell in DESIGN.cells
    }
    one = effect_of(fit_runs(runs, DESIGN, blocks=OF_BLOCK), "hard")
    means = [np.mean([runs[cell] for cell in DESIGN.cells if cell[0] == level], axis=0) for level in (0, 1)]
    difference = means[1] - means[0]
    assert one.value == pytest.approx(difference.mean())
    assert one.error == pytest.approx(difference.std(ddof=1) / math.sqrt(BLOCKS))
    assert one.degrees == pytest.approx(BLOCKS - 1)


@pytest.mark.parametrize("tries", [200, pytest.param(2_000, marks=pytest.mark.nightly)])
def test_whole_plots_are_exchanged_for_terms_of_the_hard_factor(tries: int) -> None:
    random = np.random.default_rng(3)
    rejected = dict.fromkeys(("hard", "c", "hard:c", "hard by runs"), 0)
    for seed in range(tries):
        fit = fit_runs(study(random, hard=0.0), DESIGN, blocks=OF_BLOCK)
        split = dict(coefficient_ps(fit, draws=199, seed=seed, hard_to_change=("hard",)))
        ps = {column.name: p for column, p in split.items()}
        by_runs = {column.name: p for column, p in coefficient_ps(fit, draws=199, seed=seed)}
        for name in rejected:
            p = by_runs["hard"] if name == "hard by runs" else ps[name]
            rejected[name] += p <= 0.05
    for name in ("hard", "c", "hard:c"):
        assert rejected[name] <= allowed_rejections(tries)[-1], name
    assert rejected["hard by runs"] > 0.15 * tries


def test_an_effect_of_the_hard_factor_is_found_by_exchange() -> None:
    fit = fit_runs(study(np.random.default_rng(4), hard=0.5), DESIGN, blocks=OF_BLOCK)
    ps = {column.name: p for column, p in coefficient_ps(fit, hard_to_change=("hard",))}
    assert ps["hard"] < 0.01
    assert ps["c"] > 0.01
