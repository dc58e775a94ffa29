"""Effects of factors: Treadmill's Table IV as planted truth, fractions, lost cells, blocks."""

import numpy as np
import pytest
from messages import raises
from rows import each_row
from table_iv import DESIGN, FACTORS, TABLE_IV, cells_of_table_iv

from hindmost.errors import ArgumentError
from hindmost.stats import Factorial, find_crossings, fit_runs

P99 = cells_of_table_iv(0.99)


def runs_of(cells: dict, random: np.random.Generator, runs: int, sd: float = 0.05) -> dict:
    return {cell: value * random.lognormal(-(sd**2) / 2, sd, runs) for cell, value in cells.items()}


def test_sums_of_table_iv_equal_those_in_the_papers_text() -> None:
    base = P99[0, 0, 0, 0]
    assert P99[0, 0, 1, 1] - base == -37  # "29 + -8 + -58"
    assert P99[0, 1, 1, 1] - base == 1
    assert P99[1, 0, 1, 0] - base == -9
    assert cells_of_table_iv(0.95)[1, 1, 0, 0] == 172


def test_planted_effects_are_recovered_within_their_intervals() -> None:
    random = np.random.default_rng(4)
    tries, hit = 80, 0
    for _ in range(tries):
        effects = fit_runs(runs_of(P99, random, 10), DESIGN).effects()
        truths = TABLE_IV[0.99]
        hit += sum(e.low <= truth <= e.high for e, truth in zip(effects, truths, strict=True))
    # 1,280 intervals, dependent within a try: five standard errors, as if they were independent.
    assert abs(hit / (16 * tries) - 0.95) < 0.03


def test_an_absent_effect_is_seldom_announced() -> None:
    random = np.random.default_rng(5)
    tries, alarms = 100, 0
    for _ in range(tries):
        runs = {cell: random.normal(100.0, 5.0, 5) for cell in DESIGN.cells}
        alarms += any(effect.adjusted < 0.05 for effect in fit_runs(runs, DESIGN).effects()[1:])
    assert alarms <= 13  # of 100 at 5 %: more in one seed of 1,000


def test_average_effects_are_more_precise_than_corner_effects() -> None:
    """Both codings from the same runs: an average effect's error is a corner effect's divided by the square root of 8."""
    random = np.random.default_rng(6)
    runs = {cell: random.normal(100.0 + 8.0 * cell[0], 5.0, 20) for cell in DESIGN.cells}
    fit = fit_runs(runs, DESIGN)
    corner, average = fit.effects()[1], fit.effects("average")[1]
    assert corner.name == average.name == "numa"
    assert corner.error / average.error == pytest.approx(np.sqrt(8.0), rel=0.3)
    mean = {level: np.mean([runs[c].mean() for c in runs if c[0] == level]) for level in (0, 1)}
    assert average.value == pytest.approx(mean[1] - mean[0])


def test_with_two_levels_the_average_coding_is_half_the_contrast_of_minus_and_plus() -> None:
    random = np.random.default_rng(1)
    runs = {cell: random.normal(100.0, 9.0, 3) for cell in Factorial(["a", "b", "c"]).cells}
    means = np.array([values.mean() for values in runs.values()])
    signs = {cell: [2 * v - 1 for v in cell] for cell in runs}
    for effect in fit_runs(runs, Factorial(["a", "b", "c"])).effects("average")[1:]:
        places = ["abc".index(name) for name in effect.term]
        column = np.array([np.prod([signs[cell][i] for i in places]) for cell in runs])
        assert effect.value == pytest.approx(2.0 * (column @ means) / 8.0)


def test_a_saturated_model_predicts_the_cells_exactly() -> None:
    random = np.random.default_rng(7)
    design = Factorial({"a": 2, "b": 3, "c": 2})
    runs = {cell: random.normal(50.0, 5.0, 4) for cell in design.cells}
    for cell in fit_runs(runs, design).predicted():
        assert cell.value == pytest.approx(runs[cell.cell].mean())
        assert cell.low < cell.value < cell.high
        assert cell.runs == 4


def test_a_fraction_predicts_cells_that_it_never_ran() -> None:
    """A half of 2^5 by abcde = +1, with main effects and pairs: half of the cells run, all are predicted."""
    factors = ["a", "b", "c", "d", "e"]
    pairs = [(x, y) for i, x in enumerate(factors) for y in factors[i + 1 :]]
    design = Factorial(factors, terms=[*((f,) for f in factors), *pairs])
    truth = dict(zip(design.cells, design.matrix(design.cells) @ np.arange(1.0, 17.0), strict=True))
    half = [cell for cell in design.cells if sum(cell) % 2]
    random = np.random.default_rng(8)
    tries, hit, inside = 80, 0, 0
    for _ in range(tries):
        runs = {cell: random.normal(100.0 + truth[cell], 5.0, 3) for cell in half}
        fit = fit_runs(runs, design)
        assert fit.lost == ()
        hit += sum(e.low <= t <= e.high for e, t in zip(fit.effects()[1:], np.arange(2.0, 17.0), strict=True))
        inside += sum(p.low <= 100 + truth[p.cell] <= p.high for p in fit.predicted() if p.runs == 0)
    # 1,200 intervals, dependent within a try: five standard errors, as if they were independent.
    assert hit / (15 * tries) == pytest.approx(0.95, abs=0.031)
    assert inside / (16 * tries) == pytest.approx(0.95, abs=0.031)


def test_weights_by_runs_cover_where_weights_by_estimated_variances_do_not() -> None:
    """Main effects from half of the cells, five runs each; one level scatters three times as much."""
    random = np.random.default_rng(14)
    design = Factorial(list("abcd"), terms=[(name,) for name in "abcd"])
    tries, hit = 150, {"runs": 0.0, "variances": 0.0}
    for _ in range(tries):
        runs = {cell: random.normal(100.0, 3.0 + 6.0 * cell[0], 5) for cell in design.cells}
        for weights in hit:
            effects = fit_runs(runs, design, weights=weights).effects("average")[1:]
            hit[weights] += np.mean([e.low <= 0.0 <= e.high for e in effects])
    # 600 nearly independent intervals: four standard errors.
    assert hit["runs"] / tries == pytest.approx(0.95, abs=0.036)
    assert hit["variances"] / tries < 0.93


def test_a_lost_cell_takes_the_largest_interaction_with_it() -> None:
    random = np.random.default_rng(9)
    runs = runs_of(P99, random, 5)
    runs[1, 1, 1, 1] = []
    fit = fit_runs(runs, DESIGN)
    assert fit.lost == (FACTORS,)
    assert fit.empty == ((1, 1, 1, 1),)
    assert len(fit.effects()) == 15
    assert next(cell for cell in fit.predicted() if cell.cell == (1, 1, 1, 1)).runs == 0
    del runs[0, 0, 0, 0]
    lost = fit_runs(runs, DESIGN).lost
    assert FACTORS in lost
    assert len(lost) == 2


def test_an_infinitely_late_cell_is_excluded_and_named() -> None:
    runs = {cell: [100.0, 101.0, 103.0] for cell in Factorial(["a", "b"]).cells}
    runs[1, 1] = [100.0, float("inf"), 100.0]
    fit = fit_runs(runs, Factorial(["a", "b"]))
    assert (fit.late, fit.empty, fit.lost) == (((1, 1),), (), (("a", "b"),))


def test_one_run_borrows_its_scatter_from_the_other_cells() -> None:
    runs = {(0, 0): [9.0, 11.0], (0, 1): [19.0, 21.0], (1, 0): [30.0], (1, 1): [39.0, 41.0]}
    effect = fit_runs(runs, Factorial(["a", "b"])).effects()[1]
    # Three variances of 2 with one degree of freedom each: a = 2/2 of its own cell, and 2 from all three.
    assert effect.error == pytest.approx(np.sqrt(3.0))
    assert effect.degrees == pytest.approx(9.0 / ((5 / 3) ** 2 + (2 / 3) ** 2 + (2 / 3) ** 2))


def test_without_a_second_run_errors_come_from_the_misfit_of_a_smaller_model() -> None:
    """Eight cells, one run each, main effects: as in ordinary least squares."""
    random = np.random.default_rng(3)
    design = Factorial(["a", "b", "c"], terms=[("a",), ("b",), ("c",)])
    runs = {cell: [float(random.normal(10.0, 1.0))] for cell in design.cells}
    effects = fit_runs(runs, design).effects()
    x = design.matrix(design.cells)
    y = np.array([runs[cell][0] for cell in design.cells])
    b, residuals, *_ = np.linalg.lstsq(x, y, rcond=None)
    errors = np.sqrt(np.diag(np.linalg.inv(x.T @ x)) * residuals[0] / 4)
    assert [e.value for e in effects] == pytest.approx(b.tolist())
    assert [e.error for e in effects] == pytest.approx(errors.tolist())
    assert effects[1].degrees == pytest.approx(4.0)


def test_effects_on_logarithms_are_shares() -> None:
    runs = {(0,): [100.0, 100.0 * 1.02, 100.0 / 1.02], (1,): [80.0, 80.0 * 1.02, 80.0 / 1.02]}
    effect = fit_runs(runs, Factorial(["turbo"]), scale="log").effects()[1]
    value, low, high = effect.share
    assert value == pytest.approx(-0.2)
    assert -0.3 < low < value < high < -0.1
    with raises(ArgumentError, "bad-argument", argument="scale"):
        fit_runs(runs, Factorial(["turbo"])).effects()[1].share  # noqa: B018


def test_differences_between_blocks_widen_no_comparison() -> None:
    """The host drifts by 20 % over ten blocks, runs scatter by 1 %: coverage and width of intervals."""
    random = np.random.default_rng(10)
    design = Factorial(["a", "b", "c"])
    tries, hit, narrower = 80, 0, 0
    for _ in range(tries):
        drift = random.normal(0.0, 10.0, 6)
        sd = {cell: 1.0 + 2.0 * cell[0] for cell in design.cells}
        runs = {
            cell: 100.0 + 5.0 * cell[0] + drift + random.normal(0.0, sd[cell], 6) for cell in design.cells
        }
        blocks = {cell: range(6) for cell in design.cells}
        blocked = fit_runs(runs, design, blocks=blocks)
        plain = fit_runs(runs, design)
        truth = [100.0, 5.0, *[0.0] * 6]
        inside = [e.low <= t <= e.high for e, t in zip(blocked.effects("corner"), truth, strict=True)]
        hit += sum(inside[1:])
        narrower += blocked.effects()[1].error < plain.effects()[1].error / 2.0
    assert hit / (7 * tries) == pytest.approx(0.95, abs=0.037)  # four standard errors of 560
    assert narrower > 0.9 * tries


def test_a_block_that_lost_a_run_is_still_used() -> None:
    random = np.random.default_rng(11)
    design = Factorial(["a", "b"])
    drift = np.linspace(0.0, 100.0, 8)
    runs = {
        cell: (50.0 + 3.0 * cell[1] + drift + random.normal(0.0, 0.5, 8)).tolist() for cell in design.cells
    }
    blocks = {cell: list(range(8)) for cell in design.cells}
    del runs[1, 1][0], blocks[1, 1][0]  # the quickest block: means of the rest would mislead by 7
    effect = fit_runs(runs, design, blocks=blocks).effects()[3]
    assert abs(effect.value) < 2.0
    assert effect.low < 0.0 < effect.high


def test_the_papers_change_of_sign_is_found() -> None:
    """Interrupts on all nodes and the governor (Table IV, p99; averaged over numa and turbo): +27 and -10 us."""
    crossings = find_crossings(fit_runs(runs_of(P99, np.random.default_rng(12), 30), DESIGN))
    nic = next(crossing for crossing in crossings if (crossing.factor, crossing.by) == ("nic", "dvfs"))
    assert nic.shown
    without, with_it = nic.effects
    assert without.low < 27.0 < without.high
    assert with_it.low < -10.25 < with_it.high < 0.0
    for crossing in crossings:
        lowers, raises_ = crossing.effects[crossing.lowers_at], crossing.effects[crossing.raises_at]
        assert lowers.value < 0 < raises_.value


def test_a_sign_that_does_not_change_is_seldom_reported_as_changing() -> None:
    random = np.random.default_rng(13)
    design = Factorial(["a", "b", "c"])
    tries, alarms = 80, 0
    for _ in range(tries):
        runs = {cell: random.normal(100.0 + 6.0 * cell[0] * cell[1], 4.0, 6) for cell in design.cells}
        alarms += any(crossing.shown for crossing in find_crossings(fit_runs(runs, design)))
    assert alarms <= 11  # of 80 at 5 %: more in one seed of 1,000


@each_row(
    ("runs", "options", "fields"),
    [
        ({(0,): [1.0], (1,): [1.0]}, {}, {"argument": "runs"}),
        ({(0,): [1.0, 2.0], (2,): [1.0, 2.0]}, {}, {"argument": "cells", "cell": [2]}),
        ({(0,): [], (1,): [float("inf")]}, {}, {"argument": "runs"}),
        ({(0,): [1.0, 2.0], (1,): [-1.0, 2.0]}, {"scale": "log"}, {"argument": "runs"}),
        (
            {(0,): [1.0, 2.0], (1,): [1.0, 2.0]},
            {"blocks": {(0,): [1, 2]}},
            {"argument": "blocks", "cell": [1]},
        ),
    ],
)
def test_runs_without_enough_information_are_refused(runs, options, fields) -> None:
    with raises(ArgumentError, "bad-argument", **fields):
        fit_runs(runs, Factorial(["a"]), **options)


@each_row(
    ("levels", "terms", "fields"),
    [
        (["a", "a"], None, {"argument": "factors"}),
        ({"a": 1}, None, {"argument": "levels"}),
        (["a", "b"], [("c",)], {"argument": "terms", "name": "c"}),
        (["a", "b"], [("a",), ("a", "b")], {"argument": "terms", "missing": ["b"]}),
        (["a", "b"], [("a", "a")], {"argument": "terms", "name": None, "missing": None}),
    ],
)
def test_invalid_models_are_refused(levels, terms, fields) -> None:
    with raises(ArgumentError, "bad-argument", **fields):
        Factorial(levels, terms)
