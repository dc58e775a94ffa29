"""Wald's tests of several coefficients, by clusters and over blocks: degrees of freedom, size, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from messages import raises
from rejections import allowed_rejections
from rows import each_row

from hindmost.errors import ArgumentError
from hindmost.stats import Factorial, QuantileRegression, RunFit, fit_runs
from hindmost.stats.factors.noise import BlockNoise
from hindmost.stats.tables import chi_square_tail

Floats = np.ndarray


def categories(group: Floats) -> Floats:
    return np.column_stack([group == 1, group == 2]).astype(float)


def test_one_coefficient_alone_has_the_p_of_its_interval() -> None:
    random = np.random.default_rng(1)
    run = np.repeat(np.arange(14), 30)
    x = np.column_stack([run % 2, random.normal(size=run.size)])
    y = x.sum(axis=1) + random.normal(0.0, 0.5, 14)[run] + random.exponential(1.0, run.size)
    for clusters in (run, None):
        model = QuantileRegression([0.5, 0.9]).fit(x, y, clusters=clusters)
        for name in ("(Intercept)", "x0", "x1"):
            alone = [one for one in model.coefficients_ if one.name == name]
            for test, one in zip(model.test_jointly(name), alone, strict=True):
                assert test.p == pytest.approx(one.p, rel=1e-6, abs=1e-12)
                assert test.statistic == pytest.approx((one.value / one.error) ** 2)
                assert test.quantile == one.quantile


def test_categories_within_every_run_have_the_degrees_of_hotelling() -> None:
    """All runs have the same cells, so the statistic is T^2 of 12 runs: F(2, 12 - 2)."""
    random = np.random.default_rng(2)
    run, group = np.repeat(np.arange(12), 60), np.tile(np.repeat([0, 1, 2], 20), 12)
    y = random.normal(0.0, 1.0, 12)[run] + random.normal(0.0, 0.5, (12, 3))[run, group]
    y = y + random.exponential(1.0, run.size)
    (test,) = QuantileRegression(0.5).fit(categories(group), y, clusters=run).test_jointly("x0", "x1")
    assert (test.numerator, test.denominator) == (2, pytest.approx(10.0))
    assert test.reference == "F(2, 10)"


def test_independent_samples_have_chi_square() -> None:
    random = np.random.default_rng(3)
    group = random.integers(0, 3, 500)
    y = 2.0 * (group == 2) + random.exponential(1.0, 500)
    model = QuantileRegression(0.5).fit(categories(group), y)
    (test,) = model.test_jointly("x0", "x1")
    value, covariance = model.coef_, model.covariance_[1:, 1:]
    assert test.statistic == pytest.approx(value @ np.linalg.solve(covariance, value))
    assert test.p == pytest.approx(chi_square_tail(test.statistic, 2))
    assert (test.reference, test.denominator) == ("chi-square(2)", math.inf)
    assert test.p < 1e-6


def test_terms_of_a_formula_are_tested_each_by_itself() -> None:
    random = np.random.default_rng(4)
    run = np.repeat(np.arange(30), 20)
    data = {"run": run, "threads": np.array([1, 2, 4])[run % 3], "size": random.exponential(1.0, run.size)}
    data["y"] = (
        5.0 + 2.0 * data["size"] + random.normal(0.0, 0.2, 30)[run] + random.exponential(1.0, run.size)
    )
    model = QuantileRegression.from_formula("y ~ C(threads) * size", data, [0.5, 0.9], clusters="run")
    tests = model.test_terms()
    assert [(one.quantile, one.name, one.numerator) for one in tests] == [
        (tau, name, count)
        for tau in (0.5, 0.9)
        for name, count in (("C(threads)", 2), ("size", 1), ("C(threads):size", 2))
    ]
    whole = model.test_jointly("size", "C(threads):size")
    assert [one.numerator for one in whole] == [3, 3]
    assert max(one.p for one in whole) < 1e-4
    with raises(ArgumentError, "unknown-name", name="threads"):
        model.test_jointly("threads")
    with raises(ArgumentError, "missing-argument", argument="names"):
        model.test_jointly()


def test_what_the_samples_do_not_determine_is_not_tested() -> None:
    x = np.array([[0.0]] * 6 + [[1.0]] * 3)
    y = np.array([1.0, 2, 3, 2, 3, 4, 7, 8, 9])
    model = QuantileRegression().fit(x, y, clusters=[0, 0, 0, 1, 1, 1, 2, 2, 2])
    (test,) = model.test_jointly("(Intercept)", "x0")
    assert math.isnan(test.p)
    assert math.isnan(test.statistic)


@each_row("design", ["between runs", "within runs", "independent"])
@pytest.mark.parametrize("tries", [300, pytest.param(2_000, marks=pytest.mark.nightly)])
def test_a_true_null_is_rejected_once_in_twenty(design: str, tries: int) -> None:
    """Three categories without effect, next to a covariate with one; runs differ.

    A test by few runs may reject a little less often than its level: 2 to 5 %.
    """
    random = np.random.default_rng(5)
    runs, each = 18, 60
    run = np.repeat(np.arange(runs), each)
    spread = 0.0 if design == "independent" else 0.5
    rejected = 0
    for _ in range(tries):
        group = run % 3 if design == "between runs" else random.integers(0, 3, run.size)
        size = random.uniform(0.0, 2.0, run.size)
        y = 3.0 + size + random.normal(0.0, spread, runs)[run] + random.normal(0.0, 1.0, run.size)
        clusters = None if design == "independent" else run
        model = QuantileRegression(0.5).fit(np.column_stack([categories(group), size]), y, clusters=clusters)
        rejected += model.test_jointly("x0", "x1")[0].p < 0.05
    least, most = allowed_rejections(tries, 0.02)[0], allowed_rejections(tries, 0.05)[-1]
    assert least <= rejected <= most


LEVELS = Factorial({"threads": 3, "turbo": 2})


def blocks_of(random: np.random.Generator, count: int, effect: float = 0.0) -> RunFit:
    """Fit a factor of three levels whose effect differs between blocks, to logarithms."""
    level, slope = random.normal(0.0, 0.1, count), random.normal(0.0, 0.05, (count, 3))
    runs = {
        cell: np.exp(level + slope[:, cell[0]] + effect * (cell[0] == 2) + random.normal(0.0, 0.05, count))
        for cell in LEVELS.cells
    }
    return fit_runs(runs, LEVELS, blocks={cell: list(range(count)) for cell in runs}, scale="log")


def test_levels_of_a_factor_are_tested_over_blocks_as_by_hotelling() -> None:
    fit = blocks_of(np.random.default_rng(7), 9, effect=0.1)
    threads, both = fit.test_terms()
    assert (threads.term, both.term) == (("threads",), ("threads", "turbo"))
    rows = fit.coefficients("average")[1:3]
    assert isinstance(fit.between, BlockNoise)
    found, value = fit.between.by_block(rows), rows @ fit.between.cells
    squared = value @ np.linalg.solve(found.T @ found, value)
    assert (threads.numerator, threads.denominator) == (2, pytest.approx(9 - 2))
    assert threads.statistic == pytest.approx(squared * (9 - 2) / (2 * (9 - 1)))
    assert threads.p < 0.05


@pytest.mark.parametrize("tries", [300, pytest.param(3_000, marks=pytest.mark.nightly)])
def test_levels_without_effect_are_shown_once_in_twenty(tries: int) -> None:
    random = np.random.default_rng(8)
    rejected = sum(blocks_of(random, 8).test_terms()[0].p < 0.05 for _ in range(tries))
    assert rejected in allowed_rejections(tries)


def test_runs_without_blocks_have_no_joint_test() -> None:
    random = np.random.default_rng(9)
    assert fit_runs({cell: random.normal(10.0, 1.0, 5) for cell in LEVELS.cells}, LEVELS).test_terms() == []


def test_separate_tests_of_categories_reject_more_often_than_their_level() -> None:
    """Why a joint test: the smaller p of two categories is below 5 % in one of twelve studies."""
    random = np.random.default_rng(6)
    run = np.repeat(np.arange(18), 40)
    smaller = 0
    for _ in range(300):
        y = random.normal(0.0, 0.5, 18)[run] + random.normal(0.0, 1.0, run.size)
        model = QuantileRegression(0.5).fit(categories(run % 3), y, clusters=run)
        smaller += min(one.p for one in model.coefficients_[1:]) < 0.05
    assert smaller > allowed_rejections(300)[-1] - 15
