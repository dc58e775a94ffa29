"""Multiple comparisons with the best, verdicts, and the subsequent confirmation."""

import math

import numpy as np
import pytest
from messages import raises
from table_iv import DESIGN, cells_of_table_iv

from hindmost.errors import ArgumentError
from hindmost.stats import (
    Estimate,
    Factorial,
    best_differences,
    control_differences,
    decide,
    fit_runs,
    more_runs,
)


def test_all_distances_from_the_best_are_covered_together() -> None:
    """Cells with different scatter, two of which are equally good."""
    random = np.random.default_rng(1)
    design = Factorial({"a": 2, "b": 3})
    truth = dict(zip(design.cells, [100.0, 100.0, 102.0, 104.0, 110.0, 120.0], strict=True))
    tries, together, tied = 60, 0, 0
    for seed in range(tries):
        runs = {cell: random.normal(value, 1.0 + value / 40.0, 6) for cell, value in truth.items()}
        differences = best_differences(fit_runs(runs, design), draws=1_000, seed=seed)
        behind = {c: v - min(o for d, o in truth.items() if d != c) for c, v in truth.items()}
        together += all(
            difference.low <= behind[difference.cell] <= difference.high for difference in differences
        )
        tied += all(difference.tied for difference in differences if truth[difference.cell] == 100.0)
        assert differences[0].behind <= 0.0 <= differences[1].behind
    # Of 60 at 95 %: fewer in one seed of 1,300. The bounds are conservative here.
    assert min(together, tied) >= 51


def test_the_best_cell_of_table_iv_is_chosen_or_tied() -> None:
    random = np.random.default_rng(2)
    truth = cells_of_table_iv(0.99)
    for seed in range(10):
        runs = {cell: value * random.lognormal(0.0, 0.05, 30) for cell, value in truth.items()}
        differences = best_differences(fit_runs(runs, DESIGN, scale="log"), draws=2_000, seed=seed)
        assert next(
            difference for difference in differences if difference.cell == min(truth, key=truth.__getitem__)
        ).tied
        assert not differences[-1].tied


def test_only_allowed_cells_are_compared() -> None:
    design = Factorial(["a", "b"])
    runs = {cell: [10.0 * sum(cell) + v for v in (0.0, 1.0, 2.0)] for cell in design.cells}
    differences = best_differences(fit_runs(runs, design), among=[(0, 1), (1, 1)])
    assert [cell.cell for cell in differences] == [(0, 1), (1, 1)]
    assert [cell.tied for cell in differences] == [True, False]
    with raises(ArgumentError, "bad-argument", argument="among"):
        best_differences(fit_runs(runs, design), among=[(0, 1)])


def test_cells_without_scatter_are_distinguished() -> None:
    differences = best_differences(fit_runs({(0,): [5.0, 5.0], (1,): [7.0, 7.0]}, Factorial(["a"])))
    assert [(cell.cell, cell.tied, cell.low, cell.high) for cell in differences] == [
        ((0,), True, -2.0, 0.0),
        ((1,), False, 0.0, 2.0),
    ]


def test_the_suggested_number_of_runs_decides_in_four_of_five_studies() -> None:
    random = np.random.default_rng(3)
    effect, scatter, runs = 4.0, 5.0, 6
    half = 2.228 * scatter * np.sqrt(2 / runs)
    estimate = Estimate(effect, effect - half, effect + half, runs)
    assert decide(estimate, 1.0) == "undecided"
    extra_runs = more_runs(estimate, 1.0, runs)
    design = Factorial(["a"])
    decided = [
        decide(
            fit_runs(
                {
                    (0,): random.normal(0, scatter, runs + extra_runs),
                    (1,): random.normal(effect, scatter, runs + extra_runs),
                },
                design,
            ).effects()[1],
            1.0,
        )
        == "raises"
        for _ in range(200)
    ]
    assert np.mean(decided) == pytest.approx(0.85, abs=0.1)  # slightly more, because t shrinks as well


def test_settings_below_the_present_one_are_found_with_few_false_ones() -> None:
    """Five cells, of which one is 20 % lower; runs scatter by 10 %; at most 5 % of studies have a false one."""
    random = np.random.default_rng(7)
    tries, hits, false = 60, 0, 0
    for seed in range(tries):
        runs = {(i,): random.lognormal(math.log(80.0 if i == 4 else 100.0), 0.1, 6) for i in range(5)}
        fit = fit_runs(runs, Factorial({"a": 5}), scale="log")
        compared = control_differences([fit], (0,), [(1,), (2,), (3,), (4,)], seed=seed)
        hits += compared[3].lower
        false += any(difference.lower or difference.higher for difference in compared[:3])
    assert hits / tries > 0.5
    assert false <= 9  # of 60 at 5 %: more in one seed of 1,000


def test_loads_are_compared_together() -> None:
    """10 % lower at each of two loads: neither shows it alone, both together do."""
    random = np.random.default_rng(8)
    alone, together = 0, 0
    for _ in range(40):
        runs = [{(i,): random.lognormal(-0.1 * i, 0.1, 8) for i in (0, 1)} for _ in range(2)]
        fits = [fit_runs(cells, Factorial(["a"]), scale="log") for cells in runs]
        alone += control_differences(fits[:1], (0,), [(1,)])[0].lower
        together += control_differences(fits, (0,), [(1,)])[0].lower
    assert together > alone + 6


def test_the_control_is_not_compared_with_itself() -> None:
    fit = fit_runs({(0,): [1.0, 2.0], (1,): [2.0, 3.0]}, Factorial(["a"]))
    with raises(ArgumentError, "bad-argument", argument="others"):
        control_differences([fit], (0,), [(0,), (1,)])
