"""Aggregation, ownership of the tail, variance components, two states, run order."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from messages import raises
from rows import each_row

from hindmost.errors import ArgumentError
from hindmost.stats import (
    find_owner,
    modality,
    order_effect,
    run_value,
    sections_allowed,
    variance_components,
    within_variance,
)
from hindmost.stats.runs.modality import best_split, critical_separation
from hindmost.stats.runs.order import _exact_p

RunLaw = Any

# --- aggregate


@each_row(
    ("values", "how", "expected"),
    [
        ([30.0], "mean", 30.0),
        ([30.0, 31.0, 50.0], "mean", 37.0),
        ([30.0, 31.0, 50.0], "median", 31.0),
        ([30.0, 32.0, 50.0, 31.0], "median", 31.5),
        ([30.0, math.inf], "mean", math.inf),
        ([30.0, math.inf], "median", math.inf),
        ([30.0, 31.0, math.inf], "median", 31.0),
        ([math.inf, math.inf], "median", math.inf),
    ],
)
def test_run_value_combines_clients(values: list[float], how: Any, expected: float) -> None:
    assert run_value(values, how) == expected


def test_unknown_aggregate_lists_the_right_ones() -> None:
    with raises(ArgumentError, "bad-argument", argument="how", value="max", known=["mean", "median"]):
        run_value([1.0], "max")  # type: ignore[arg-type]
    with raises(ArgumentError, "bad-argument", argument="values"):
        run_value([math.nan])


# --- ownership


@each_row(
    ("above", "total", "owner"),
    [
        ([4_000, 1_000], [50_000, 50_000], 0),
        ([600, 400], [50_000, 50_000], None),  # 60 % of two: too little to matter
        ([50, 20], [3_500, 3_500], None),  # 71 %, but too few bursts to decide
        ([100, 100, 700, 100], [25_000] * 4, 2),
        ([400, 200, 200, 200], [25_000] * 4, None),
        ([9_000, 1_000], [900_000, 100_000], None),  # 90 % of the slowest, but it sends 90 %
        ([5_000, 5_000], [900_000, 100_000], 1),
        ([1_000], [100_000], None),
        ([0, 0], [100, 100], None),
    ],
)
def test_an_owner_is_named_if_it_matters_and_is_not_chance(
    above: list[int], total: list[int], owner: int | None
) -> None:
    assert find_owner(above, total).owner == owner


def test_a_tail_that_changes_owner_from_run_to_run_has_no_owner() -> None:
    total = np.full((6, 2), 50_000)
    moving = [[950, 50], [60, 940], [900, 100], [930, 70], [940, 60], [920, 80]]
    steady = [[750, 250], [740, 260], [800, 200], [730, 270], [780, 220], [760, 240]]
    result = find_owner(moving, total)
    assert (result.owner, max(result.shares) > 2 / 3) == (None, True)
    assert find_owner(steady, total).owner == 0


def test_bursts_on_fair_clients_raise_no_false_alarm() -> None:
    """10 runs x 4 fair clients, bursts of mean 40, 300 trials: 0.1 % nominal (more than two: one seed in 280), and the
    difference must matter as well.

    A plain chi-square test at the same level raises an alarm in most trials.
    """
    g = np.random.default_rng(12)
    total = np.full((10, 4), 25_000)
    alarms = plain = 0
    for _ in range(300):
        bursts = g.poisson(6.0, (10, 4))
        above = np.array([[g.geometric(1 / 40, k).sum() for k in row] for row in bursts])
        result = find_owner(above, total)
        alarms += result.owner is not None
        expected = above.sum() / 4
        plain += float(((above.sum(axis=0) - expected) ** 2 / expected).sum()) > 16.27
    assert alarms <= 2
    assert plain > 150


@each_row(
    ("above", "total", "argument"),
    [
        ([1, 2], [10], "counts_total"),
        ([], [], "counts_total"),
        ([-1, 2], [10, 10], "counts_above"),
        ([11, 2], [10, 10], "counts_above"),
        ([0, 2], [0, 10], "counts_above"),
    ],
)
def test_impossible_counts_are_refused(above: list[int], total: list[int], argument: str) -> None:
    with raises(ArgumentError, "bad-argument", argument=argument):
        find_owner(above, total)


# --- variance


def test_components_recover_planted_standard_deviations() -> None:
    """2,000 runs, between sd 5, ten sections of noise sd 6 each: within sd 1.9, known to 2 % (1 se)."""
    g = np.random.default_rng(3)
    truth = g.normal(100.0, 5.0, (2_000, 1))
    sections = truth + g.normal(0.0, 6.0, (2_000, 10))
    c = variance_components(sections.mean(axis=1), [within_variance(row) for row in sections])
    assert c.between_sd == pytest.approx(5.0, rel=0.07)
    assert c.within_sd == pytest.approx(6.0 / math.sqrt(10.0), rel=0.02)
    assert c.between_share == pytest.approx(25.0 / 28.6, abs=0.02)


def test_sections_respect_autocorrelation_that_fades_within_them() -> None:
    """AR(.9) requests: the variance of the run's median is far above the formula for independent ones."""
    g = np.random.default_rng(8)
    runs, samples, k = 200, 8_000, 10
    noise = g.normal(size=(runs, samples))
    x = np.empty_like(noise)
    x[:, 0] = noise[:, 0]
    for i in range(1, samples):
        x[:, i] = 0.9 * x[:, i - 1] + math.sqrt(0.19) * noise[:, i]
    truth = float(np.var(np.median(x, axis=1), ddof=1))
    estimate = float(np.mean([within_variance(np.median(r.reshape(k, -1), axis=1)) for r in x]))
    independent = math.pi / 2 / samples
    assert truth > 8.0 * independent
    assert estimate == pytest.approx(truth, rel=0.4)  # se of `truth` alone is 10 %


def test_runs_that_differ_by_sampling_only_have_no_between() -> None:
    c = variance_components([100.0, 100.1, 99.9], [4.0, 4.0, 4.0])
    assert c.between_share == 0.0
    assert c.between_sd == 0.0
    assert c.within_sd == 2.0


def test_unknown_variance_stays_unknown() -> None:
    assert variance_components([1.0, 2.0]).between_share is None
    assert variance_components([1.0, math.inf], [1.0, 1.0]).within_sd is None
    assert variance_components([1.0], [4.0]).within_sd == 2.0
    assert variance_components([5.0, 5.0], [0.0, 0.0]).between_share is None
    assert variance_components([1.0, 2.0], [None, None]).within_sd is None
    assert within_variance([1.0]) is None
    assert within_variance([1.0, math.inf]) is None
    with raises(ArgumentError, "bad-argument", argument="within", value=1, need=2):
        variance_components([1.0, 2.0], [1.0])


def test_short_runs_may_not_be_divided_for_the_far_tail() -> None:
    assert sections_allowed(100_000, 0.5) == 20
    assert sections_allowed(100_000, 0.999) == 5
    assert sections_allowed(10_000, 0.9999) == 0


# --- modality


@each_row("runs", [6, 11, 30, 64, 100])
def test_two_states_are_rarely_found_in_one_normal_state(runs: int) -> None:
    """False-alarm rate 1 %: 8,000 samples, bound 5 standard errors plus 10 % for the interpolated table."""
    x = np.sort(np.random.default_rng(runs).normal(size=(8_000, runs)), axis=1)
    alarms = float((best_split(x)[0] > critical_separation(runs)).mean())
    assert alarms == pytest.approx(0.01, abs=0.001 + 5.0 * math.sqrt(0.01 * 0.99 / 8_000))


def test_two_clear_states_are_found_from_ten_runs(laws: dict[str, RunLaw]) -> None:
    x = np.sort(laws["bimodal 2%"].draw(np.random.default_rng(1), (2_000, 10)), axis=1)
    assert float((best_split(x)[0] > critical_separation(10)).mean()) > 0.78


def test_heavy_tails_are_not_mistaken_for_two_states(laws: dict[str, RunLaw]) -> None:
    x = np.sort(laws["t3"].draw(np.random.default_rng(1), (4_000, 30)), axis=1)
    assert float((best_split(x)[0] > critical_separation(30)).mean()) < 0.012


def test_one_odd_run_is_an_outlier_not_a_state() -> None:
    note = modality([30.0, 30.1, 30.2, 29.9, 30.05, 30.15, 29.95, 45.0])
    assert note is not None
    assert not note.bimodal


def test_modality_gives_no_result_for_too_few_or_infinite_runs() -> None:
    assert modality([1.0, 2.0, 3.0, 4.0, 5.0]) is None
    assert modality([1.0, 2.0, 3.0, 4.0, 5.0, math.inf]) is None
    note = modality([7.0] * 8)
    assert note is not None
    assert not note.bimodal


# --- order


def test_exact_distribution_of_kendalls_score_matches_every_permutation() -> None:
    n = 6
    i, j = np.triu_indices(n, k=1)
    scores = np.array([int(np.sign(p[j] - p[i]).sum()) for p in map(np.array, permutations(range(n)))])
    for score in np.unique(np.abs(scores)):
        assert _exact_p(int(score), n) == pytest.approx(min(1.0, float((np.abs(scores) >= score).mean())))


def test_kendalls_p_equals_that_of_printed_tables() -> None:
    # Kendall, Rank Correlation Methods, appendix table 1: n = 10, S = 23 has an upper tail of .023.
    assert _exact_p(23, 10) == pytest.approx(2 * 0.0233, abs=2e-4)


def test_exchangeable_runs_seldom_look_like_drift() -> None:
    """False-alarm rate at most 1 %: 500 trials, 4 standard errors."""
    g = np.random.default_rng(5)
    alarms = sum(bool((e := order_effect(g.exponential(size=10))) and e.drifting) for _ in range(500))
    assert alarms <= 5 + 4 * math.sqrt(5)


def test_drift_of_one_sd_over_the_study_is_found_with_thirty_runs() -> None:
    g = np.random.default_rng(6)
    effect = order_effect(100.0 + 0.2 * np.arange(30) + g.normal(0.0, 1.5, 30))
    assert effect is not None
    assert effect.drifting
    assert effect.slope == pytest.approx(0.2, abs=0.1)


def test_ties_and_infinite_runs_are_ranked_not_refused() -> None:
    flat = order_effect([5.0] * 8)
    assert flat is not None
    assert (flat.tau, flat.p_value, flat.slope) == (0.0, 1.0, 0.0)
    late = order_effect([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, math.inf, math.inf, math.inf])
    assert late is not None
    assert late.drifting
    assert order_effect([math.inf] * 7).slope is None  # type: ignore[union-attr]
    assert order_effect([1.0, 2.0, 3.0, 4.0, 5.0]) is None
