"""The test of a smaller model: its size with blocks, and the interactions that it finds."""

from __future__ import annotations

import numpy as np
import pytest
from rejections import allowed_rejections

from hindmost.stats import Factorial, RunFit, find_misfit, fit_runs

MAIN_EFFECTS = Factorial(["a", "b", "c"], terms=[("a",), ("b",), ("c",)])
BLOCKS = 10


def study(random: np.random.Generator, interaction: float, blocks: bool = True) -> RunFit:
    """Fit main effects to ratios; the effect of a differs between blocks."""
    level = random.normal(0.0, 0.1, BLOCKS)
    slope = 0.1 + random.normal(0.0, 0.05, BLOCKS)
    runs = {
        cell: np.exp(
            level + slope * cell[0] + interaction * cell[1] * cell[2] + random.normal(0.0, 0.03, BLOCKS)
        )
        for cell in MAIN_EFFECTS.cells
    }
    of_block = {cell: list(range(BLOCKS)) for cell in runs}
    return fit_runs(runs, MAIN_EFFECTS, blocks=of_block if blocks else None, scale="log")


@pytest.mark.parametrize("tries", [300, pytest.param(3_000, marks=pytest.mark.nightly)])
def test_a_right_model_is_rejected_at_most_once_in_twenty(tries: int) -> None:
    random = np.random.default_rng(1)
    ps = [find_misfit(study(random, 0.0), draws=400).p for _ in range(tries)]
    assert sum(p is not None and p < 0.05 for p in ps) <= allowed_rejections(tries)[-1]


def test_an_interaction_that_the_model_leaves_out_is_found() -> None:
    found = find_misfit(study(np.random.default_rng(2), 0.2))
    assert found.spare == 4
    assert found.p is not None
    assert found.p < 0.01
    # Half of b:c is in each main effect, a quarter of it remains in every cell.
    assert found.cell is not None
    assert found.deviation == pytest.approx(0.05 if found.cell[1] == found.cell[2] else -0.05, abs=0.02)


def test_a_coefficient_for_every_cell_leaves_nothing_to_test() -> None:
    runs = {cell: [1.0 + sum(cell), 2.0 + sum(cell)] for cell in MAIN_EFFECTS.cells}
    assert find_misfit(fit_runs(runs, Factorial(["a", "b", "c"]))).p is None
    once = {cell: of[:1] for cell, of in runs.items()}
    found = find_misfit(fit_runs(once, MAIN_EFFECTS))
    assert (found.spare, found.p) == (4, None)
