"""Tests made together: false alarms of the whole family, and the gain of the step-down procedure."""

import numpy as np
import pytest
from messages import raises

from hindmost.errors import ArgumentError
from hindmost.stats import Factorial, fit_runs, holm_families, joint_draws, simultaneous, step_down


def family(random: np.random.Generator, runs: int, shift: float = 0.0) -> list:
    """Three quantiles of the same runs, correlated .8, of a 2^3 factorial; `shift` is the effect of factor a."""
    design = Factorial(["a", "b", "c"])
    mixing = np.linalg.cholesky(np.full((3, 3), 0.8) + 0.2 * np.eye(3))
    values = {
        cell: 100.0 + shift * cell[0] + 5.0 * random.standard_normal((runs, 3)) @ mixing.T
        for cell in design.cells
    }
    return [fit_runs({cell: y[:, q] for cell, y in values.items()}, design) for q in range(3)]


def statistics(fits: list) -> tuple[list[float], list[float]]:
    effects = [effect for fit in fits for effect in fit.effects()[1:]]
    return [effect.value / effect.error for effect in effects], [effect.p for effect in effects]


@pytest.mark.parametrize("runs", [3, pytest.param(20, marks=pytest.mark.nightly)])
def test_false_alarms_of_a_family_stay_below_their_level(runs: int) -> None:
    random = np.random.default_rng(runs)
    tries, by_holm, by_steps, outside = 60, 0, 0, 0
    for seed in range(tries):
        fits = family(random, runs)
        t, ps = statistics(fits)
        draws = joint_draws(fits, draws=300, seed=seed)
        by_holm += min(holm_families([ps])[0]) < 0.05
        by_steps += min(step_down(t, draws)) < 0.05
        outside += max(abs(x) for x in t) > simultaneous(draws)
    assert max(by_holm, by_steps, outside) <= 9  # of 60 at 5 %: more in one seed of 1,000
    assert by_steps > 0


def test_step_down_finds_more_than_holm_if_tests_are_correlated() -> None:
    random = np.random.default_rng(5)
    counts = {"holm": 0, "steps": 0}
    for seed in range(20):
        fits = family(random, 8, shift=7.0)
        t, ps = statistics(fits)
        places = [i for i, e in enumerate(e for f in fits for e in f.effects()[1:]) if e.name == "a"]
        steps = step_down(t, joint_draws(fits, draws=1_000, seed=seed))
        counts["holm"] += sum(holm_families([ps])[0][i] < 0.05 for i in places)
        counts["steps"] += sum(steps[i] < 0.05 for i in places)
    assert counts["steps"] > counts["holm"] > 0


def test_table_iv_keeps_eight_of_nine() -> None:
    """The p99 column of Treadmill's Table IV: nine of 15 p-values below .05, eight after Holm."""
    ps = [1e-6, 1e-4, 0.354, 1.1e-4, 0.0637, 1e-6, 0.0691, 3.3e-4, 0.029]
    ps += [1e-6, 0.87, 0.359, 1e-6, 0.796, 2.5e-4]
    assert sum(p < 0.05 for p in ps) == 9
    (adjusted,) = holm_families([ps])
    assert sum(p < 0.05 for p in adjusted) == 8
    assert adjusted[8] == pytest.approx(0.203)


def test_draws_of_other_runs_are_refused() -> None:
    design = Factorial(["a"])
    fit = fit_runs({(0,): [1.0, 2.0], (1,): [1.0, 2.0]}, design)
    other = fit_runs({(0,): [1.0, 2.0, 3.0], (1,): [1.0, 2.0]}, design)
    with raises(ArgumentError, "bad-argument", argument="fits"):
        joint_draws([fit, other])
    with raises(ArgumentError, "bad-argument", argument="t"):
        step_down([1.0, 2.0], joint_draws([fit]))
