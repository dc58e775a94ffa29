"""Closed forms of the intervals over runs, and their results where nothing can be known."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from messages import raises
from rows import each_row

from hindmost.errors import ArgumentError
from hindmost.stats import Estimate, mean_interval, median_interval, smallest_n_for_median
from hindmost.stats.tables import t_quantile

# Darwin's maize: height differences in eighths of an inch (Fisher, The Design of Experiments, 1935, III).
DARWIN = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]


def test_t_interval_reproduces_fishers_analysis_of_darwins_maize() -> None:
    # Fisher: mean 20.933, standard error 9.746; t = 2.148 against 2.145, so the interval just excludes 0.
    estimate = mean_interval(DARWIN, skew_guard=False)
    assert estimate.value == pytest.approx(20.933, abs=5e-4)
    assert estimate.half_width == pytest.approx(2.1448 * 9.746, abs=5e-3)
    assert 0.0 < estimate.low < 0.1


@each_row(
    ("degrees", "probability", "expected"),
    [(1, 0.975, 12.7062), (4, 0.975, 2.7764), (9, 0.975, 2.2622), (9, 0.95, 1.8331), (29, 0.995, 2.7564)],
)
def test_t_quantiles_equal_those_of_printed_tables(degrees: int, probability: float, expected: float) -> None:
    assert t_quantile(degrees, probability) == pytest.approx(expected, abs=5e-5)


def test_two_runs_have_a_huge_interval() -> None:
    estimate = mean_interval([99.0, 101.0])
    assert estimate.half_width == pytest.approx(12.7062, abs=1e-3)  # sd / sqrt(2) = 1


def test_symmetric_runs_need_no_guard() -> None:
    values = [98.0, 99.0, 100.0, 101.0, 102.0]
    with_guard, plain = mean_interval(values), mean_interval(values, skew_guard=False)
    assert (with_guard.low, with_guard.high) == pytest.approx((plain.low, plain.high), rel=1e-12)


def test_guard_extends_the_interval_towards_the_longer_tail_only() -> None:
    right = [30.1, 31.0, 30.4, 33.9, 30.6, 30.2, 30.3, 30.5]
    with_guard, plain = mean_interval(right), mean_interval(right, skew_guard=False)
    assert with_guard.low == plain.low
    assert with_guard.high > plain.high
    mirrored = mean_interval([-v for v in right])
    assert (mirrored.low, mirrored.high) == pytest.approx((-with_guard.high, -with_guard.low))


def test_guard_solves_halls_transformation() -> None:
    """The far end is where Hall's cubic, T + gT^2/3r + g^2T^3/27r^2 + g/6r with r = sqrt(n), equals -t."""
    x = np.array([30.1, 31.0, 30.4, 33.9, 30.6, 30.2, 30.3, 30.5])
    n, sd = x.size, x.std(ddof=1)
    g = n / ((n - 1) * (n - 2)) * (((x - x.mean()) / sd) ** 3).sum()
    root = math.sqrt(n)
    t = (x.mean() - mean_interval(x).high) / sd * root
    cubic = t + g * t**2 / (3 * root) + g**2 * t**3 / (27 * n) + g / (6 * root)
    assert cubic == pytest.approx(-t_quantile(n - 1, 0.975), rel=1e-9)


def test_one_run_has_no_interval() -> None:
    for estimate in (mean_interval([31.0]), median_interval([31.0])):
        assert not estimate.known
        assert estimate.relative_half_width == math.inf


def test_equal_runs_have_an_interval_of_zero_width() -> None:
    estimate = mean_interval([0.1] * 11)
    assert estimate.half_width == pytest.approx(0.0, abs=1e-15)


def test_one_censored_run_makes_the_mean_infinite_but_bounds_it_below() -> None:
    finite = [30.0, 31.0, 32.0, 33.0]
    estimate = mean_interval([*finite, math.inf])
    assert estimate.value == math.inf
    assert estimate.high == math.inf
    assert estimate.low == pytest.approx(mean_interval([*finite, 33.0]).low)
    assert estimate.relative_half_width == math.inf


def test_only_censored_runs_are_infinite_throughout() -> None:
    estimate = mean_interval([math.inf, math.inf])
    assert (estimate.value, estimate.low, estimate.high) == (math.inf, math.inf, math.inf)


@each_row(
    ("n", "confidence", "rank"),
    # Printed tables of the sign test: n 6 -> 1, 8 -> 1, 9 -> 2, 10 -> 2, 12 -> 3, 15 -> 4, 20 -> 6, 30 -> 10.
    [
        *((6, 0.95, 1), (8, 0.95, 1), (9, 0.95, 2), (10, 0.95, 2), (12, 0.95, 3), (15, 0.95, 4)),
        *((20, 0.95, 6), (30, 0.95, 10), (10, 0.99, 1), (15, 0.99, 3)),
    ],
)
def test_median_interval_uses_the_order_statistics_of_the_sign_test(
    n: int, confidence: float, rank: int
) -> None:
    estimate = median_interval(list(range(1, n + 1)), confidence)
    assert (estimate.low, estimate.high) == (rank, n + 1 - rank)


@each_row("confidence", [0.8, 0.9, 0.95, 0.99])
def test_smallest_n_for_the_median_is_the_first_with_an_interval(confidence: float) -> None:
    n = smallest_n_for_median(confidence)
    assert median_interval(list(range(n)), confidence).known
    assert not median_interval(list(range(n - 1)), confidence).known


def test_median_survives_a_minority_of_censored_runs() -> None:
    estimate = median_interval([30.0, 31.0, 32.0, 33.0, 34.0, 35.0, math.inf])
    assert (estimate.value, estimate.low, estimate.high) == (33.0, 30.0, math.inf)


@each_row("values", [[], [math.nan, 1.0], [-math.inf, 1.0], [[1.0, 2.0]]])
def test_bad_run_values_are_refused(values: list[float]) -> None:
    with raises(ArgumentError, "bad-argument", argument="values"):
        mean_interval(values)


@each_row(
    ("args", "argument"),
    [
        ((1.0, 0.0, 2.0, 0), "n"),
        ((1.0, 0.0, 2.0, 3, 1.0), "confidence"),
        ((math.nan, 0.0, 2.0, 3), "value"),
        ((1.0, math.nan, 2.0, 3), "high"),
        ((3.0, 0.0, 2.0, 3), "value"),
    ],
)
def test_contradictory_estimates_cannot_be_made(args: tuple[float, ...], argument: str) -> None:
    with raises(ArgumentError, "bad-argument", argument=argument):
        Estimate(*args)  # type: ignore[arg-type]


def test_scipy_is_not_loaded_before_an_interval_is_computed() -> None:
    code = "import sys, hindmost.stats; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
