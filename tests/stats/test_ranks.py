"""Rank intervals of few and of many values, against their exact distribution and scipy's tests."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import brunnermunzel, mannwhitneyu, wilcoxon

from hindmost.stats import ranks
from hindmost.stats.shifts import _unequal, shift_interval


@pytest.mark.parametrize(("m", "n"), [(100, 100), (60, 140), (20, 180)])
def test_the_normal_law_replaces_the_exact_one_where_they_agree(m: int, n: int) -> None:
    normal = ranks._normal_cut(m * n / 2.0, m * n * (m + n + 1) / 12.0, 0.025)
    assert abs(ranks._rank_sum_cut(m, n, 0.025) - normal) <= 1
    k = ranks.EXACT
    normal = ranks._normal_cut(k * (k + 1) / 4.0, k * (k + 1) * (2 * k + 1) / 24.0, 0.025)
    assert abs(ranks._signed_rank_cut(k, 0.025) - normal) <= 1


@pytest.mark.parametrize(("m", "n"), [(8, 12), (600, 700)])
def test_the_ends_are_where_the_tests_begin_to_reject(m: int, n: int) -> None:
    g = np.random.default_rng(m)
    x, y = g.lognormal(0.0, 0.1, m), g.lognormal(0.2, 0.1, n)
    _, low, high = ranks.rank_sum_interval(x, y, 0.95)
    step = 0.001 * (high - low)
    assert mannwhitneyu(x + low + step, y).pvalue > 0.049
    assert mannwhitneyu(x + low - step, y).pvalue < 0.051
    gaps = g.normal(0.3, 1.0, n)
    _, low, high = ranks.signed_rank_interval(gaps, 0.95)
    step = 0.001 * (high - low)
    assert wilcoxon(gaps - low - step).pvalue > 0.049
    assert wilcoxon(gaps - low + step).pvalue < 0.051


@pytest.mark.parametrize(("m", "n"), [(12, 30), (300, 500)])
def test_shifts_of_samples_with_different_scatter_equal_those_of_the_brunner_munzel_test(
    m: int, n: int
) -> None:
    g = np.random.default_rng(n)
    x, y = g.normal(0.0, 3.0, m), g.normal(1.0, 1.0, n)
    ends = _unequal(x, y, 0.95)
    assert ends is not None
    for end, sign in zip(ends, (-1.0, 1.0), strict=True):
        step = 0.002 * sign
        assert brunnermunzel(x + end - step, y).pvalue > 0.05
        assert brunnermunzel(x + end + step, y).pvalue < 0.05


def test_thousands_of_runs_have_an_interval() -> None:
    g = np.random.default_rng(5)
    value, low, high = shift_interval(g.normal(0.0, 1.0, 1_500), g.normal(0.5, 1.0, 1_500))
    assert low < value < high
    assert low < 0.5 < high < low + 0.2
