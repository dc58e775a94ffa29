"""Differences at the low level recover the planted ones, cover at their level, and agree with the ratio.

Seeded; bounds allow 4 standard errors.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from messages import raises

from hindmost.errors import ArgumentError
from hindmost.stats import Factorial, fit_runs, low_level_difference

DESIGN = Factorial(["slow", "other"])


def study(g: np.random.Generator, runs: int, sd: float) -> dict[tuple[int, int], np.ndarray]:
    """--slow adds 300 us to 165 us; the other factor adds 20 %; runs scatter geometrically by sd."""
    return {
        (slow, other): (165.0 + 300.0 * slow) * 1.2**other * g.lognormal(0.0, sd, runs)
        for slow in (0, 1)
        for other in (0, 1)
    }


def coverage(runs: int, sd: float, studies: int, seed: int) -> float:
    g, hits = np.random.default_rng(seed), 0
    for _ in range(studies):
        fit = fit_runs(study(g, runs, sd), DESIGN, scale="log")
        difference = low_level_difference(fit, "slow", {"other": 0})
        hits += difference.low <= 300.0 <= difference.high
    return hits / studies


@pytest.mark.parametrize(("runs", "sd"), [(3, 0.05), (5, 0.2)])
def test_planted_difference_is_covered(runs: int, sd: float) -> None:
    assert coverage(runs, sd, 50, seed=1) >= 0.95 - 4.0 * math.sqrt(0.95 * 0.05 / 50)


@pytest.mark.nightly
@pytest.mark.parametrize("runs", [3, 5, 10])
@pytest.mark.parametrize("sd", [0.02, 0.1, 0.3])
def test_coverage_of_differences(runs: int, sd: float) -> None:
    assert coverage(runs, sd, 2_000, seed=runs) == pytest.approx(
        {3: 0.982, 5: 0.969, 10: 0.949}[runs], abs=0.02
    )


def test_a_slow_switch_is_reported_as_300_us_and_not_as_a_share_of_all_cells() -> None:
    fit = fit_runs(study(np.random.default_rng(2), 8, 0.01), DESIGN, scale="log")
    difference = low_level_difference(fit, "slow", {"other": 0})
    assert difference.value == pytest.approx(300.0, abs=6.0)
    assert difference.base == pytest.approx(165.0, abs=2.0)
    overall = math.exp(fit.table.y.mean()) * fit.simple_effect("slow", {"other": 0}).share[0]
    assert overall > 500.0


def test_a_difference_excludes_zero_where_the_ratio_excludes_one() -> None:
    g, same = np.random.default_rng(3), 0
    for _ in range(40):
        runs = {(slow,): g.lognormal(5.0 + 0.1 * slow, 0.1, 5) for slow in (0, 1)}
        fit = fit_runs(runs, Factorial(["slow"]), scale="log")
        ratio, difference = fit.simple_effect("slow", {}), low_level_difference(fit, "slow")
        same += (difference.low > 0.0) == (ratio.low > 0.0)
    assert same >= 38  # two may lie within the random error of the draws


def test_fit_in_the_unit_of_the_values_is_refused() -> None:
    fit = fit_runs({(0,): [1.0, 2.0], (1,): [2.0, 3.0]}, Factorial(["slow"]))
    with raises(ArgumentError, "bad-argument", argument="fit"):
        low_level_difference(fit, "slow")
