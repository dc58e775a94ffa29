"""Effects of factors: Treadmill's Table IV as a planted truth, coverage, false alarms."""

import numpy as np
import pytest

from hindmost.stats import Factorial

FACTORS = ("numa", "turbo", "dvfs", "nic")
TABLE_IV_P99 = {
    (): 355, ("numa",): 56, ("turbo",): -29, ("dvfs",): -8, ("nic",): 29, ("numa", "turbo"): 21,
    ("numa", "dvfs"): -57, ("numa", "nic"): -20, ("turbo", "dvfs"): 40, ("turbo", "nic"): 23,
    ("dvfs", "nic"): -58, ("numa", "turbo", "dvfs"): 3, ("numa", "turbo", "nic"): -14,
    ("numa", "dvfs", "nic"): 79, ("turbo", "dvfs", "nic"): 4, FACTORS: -83,
}  # fmt: skip
"""99th percentile of memcached at high load, microseconds (ISCA 2016)."""


def truth(design: Factorial) -> dict:
    vector = np.array([TABLE_IV_P99[term] for term in design.terms], dtype=float)
    return dict(zip(design.cells, design.matrix @ vector, strict=True))


def test_sums_of_table_iv_are_those_of_the_papers_text() -> None:
    cells = truth(Factorial(FACTORS))
    base = cells[0, 0, 0, 0]
    assert cells[0, 0, 1, 1] - base == -37  # "29 + -8 + -58"
    assert cells[0, 1, 1, 1] - base == 1
    assert cells[1, 0, 1, 0] - base == -9


def test_what_was_planted_is_recovered_with_its_intervals() -> None:
    random = np.random.default_rng(4)
    design = Factorial(FACTORS)
    cells = truth(design)
    tries, hit = 200, 0
    for _ in range(tries):
        runs = {cell: value * random.lognormal(0.0, 0.05, 10) for cell, value in cells.items()}
        for effect in design.effects(runs):
            hit += effect.low <= TABLE_IV_P99[effect.factors] <= effect.high
    # 3,200 intervals, dependent within a try; the mean of a lognormal is 0.1 % above its median, which is nothing.
    assert abs(hit / (16 * tries) - 0.95) < 0.02


def test_an_effect_that_is_not_there_is_seldom_announced() -> None:
    random = np.random.default_rng(5)
    design = Factorial(FACTORS)
    tries = 400
    alarms = 0
    for _ in range(tries):
        runs = {cell: random.normal(100.0, 5.0, 5) for cell in design.cells}
        alarms += any(effect.adjusted < 0.05 for effect in design.effects(runs)[1:])
    # The standard error of a share of .05 over 400 is .011; three of them.
    assert alarms / tries <= 0.05 + 0.033


def test_average_effects_are_known_better_than_corner_effects() -> None:
    """Both codings, from the same runs: a factor's error is half of a cell's, or its square root of two."""
    random = np.random.default_rng(6)
    runs = {cell: random.normal(100.0 + 8.0 * cell[0], 5.0, 20) for cell in Factorial(FACTORS).cells}
    corner = Factorial(FACTORS).effects(runs)[1]
    average = Factorial(FACTORS, "average").effects(runs)[1]
    assert corner.name == average.name == "numa"
    assert corner.error / average.error == pytest.approx(np.sqrt(8.0), rel=0.3)
    mean = {level: np.mean([runs[c].mean() for c in runs if c[0] == level]) for level in (0, 1)}
    assert average.value == pytest.approx(mean[1] - mean[0])


def test_a_model_of_all_effects_predicts_the_cells() -> None:
    random = np.random.default_rng(7)
    for coding in ("corner", "average"):
        design = Factorial(("a", "b", "c"), coding)
        runs = {cell: random.normal(50.0, 5.0, 4) for cell in design.cells}
        predicted = design.predicted(design.effects(runs))
        for cell, values in runs.items():
            assert predicted[cell] == pytest.approx(values.mean())


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        ({(0,): [1.0, 2.0]}, r"cell \(1,\) needs two finite values"),
        ({(0,): [1.0, 2.0], (1,): [1.0]}, r"cell \(1,\) needs two finite values"),
        ({(0,): [1.0, 2.0], (1,): [1.0, float("inf")]}, r"cell \(1,\)"),
        ({(0,): [1.0, 2.0], (1,): [1.0, 2.0], (0, 1): [1.0]}, r"no cell \(0, 1\)"),
    ],
)
def test_runs_that_cannot_tell_are_refused(runs, words) -> None:
    with pytest.raises(ValueError, match=words):
        Factorial(["a"]).effects(runs)
