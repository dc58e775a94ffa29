"""Pairs of different precision: their weights cost no coverage, and imprecise pairs do not make intervals wide."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hindmost.stats.ranks import signed_rank_interval
from hindmost.stats.runs.contrast import LEVEL, contrasts
from hindmost.stats.runs.looks import error_of_look, plan_looks
from hindmost.stats.runs.pair_errors import pair_errors

BETWEEN, EFFECT = 0.03, 0.1
"""Standard deviation of log ratios between pairs, and their true mean."""


def draw_pairs(g: np.random.Generator, pairs: int, worst: float) -> tuple[np.ndarray, np.ndarray]:
    """Log ratios, and their errors within pairs, which are between 1 % and `worst`."""
    within = np.exp(g.uniform(math.log(0.01), math.log(worst), pairs))
    return EFFECT + g.normal(0.0, BETWEEN, pairs) + g.normal(0.0, within), within


@pytest.mark.parametrize(
    "studies", [200, pytest.param(10_000, marks=[pytest.mark.nightly, pytest.mark.timeout(3600)])]
)
@pytest.mark.parametrize("pairs", [8, 16])
def test_weighted_intervals_cover_and_are_shorter_if_some_pairs_are_imprecise(
    pairs: int, studies: int
) -> None:
    g = np.random.default_rng(pairs)
    covered, widths = 0, np.empty((studies, 2))
    for study in range(studies):
        gaps, within = draw_pairs(g, pairs, worst=0.5)
        _, low, high = signed_rank_interval(gaps, 0.95, pair_errors(gaps, within))
        covered += low <= EFFECT <= high
        plain = signed_rank_interval(gaps, 0.95)
        widths[study] = high - low, plain[2] - plain[1]
    assert covered / studies >= 0.95 - 4.0 * math.sqrt(0.05 * 0.95 / studies)
    weighted, equal = np.median(widths, axis=0)
    assert weighted < 0.75 * equal


def test_equal_errors_are_the_signed_ranks_of_textbooks() -> None:
    gaps = np.random.default_rng(1).normal(size=12)
    assert signed_rank_interval(gaps, 0.95, np.full(12, 0.3)) == pytest.approx(
        signed_rank_interval(gaps, 0.95)
    )


def test_an_unknown_error_counts_as_the_largest_and_unknown_errors_as_equal() -> None:
    gaps = np.zeros(3)
    assert pair_errors(gaps, [0.1, math.nan, 0.4]).tolist() == pytest.approx([0.1, 0.4, 0.4])
    assert pair_errors(gaps, [math.nan] * 3).tolist() == [1.0] * 3
    assert pair_errors(gaps, None).tolist() == [1.0] * 3
    assert pair_errors(np.array([0.1, math.inf, 0.2]), [0.1, 0.1, 0.4]).tolist() == [1.0] * 3


def test_imprecise_pairs_do_not_hide_a_slower_server() -> None:
    """Ten precise pairs are 10 % slower; three imprecise ones seem twice as fast."""
    first = {"p99": [100.0] * 13}
    second = {"p99": [110.0 + 0.1 * place for place in range(10)] + [50.0, 52.0, 54.0]}
    errors = {"p99": [0.01] * 10 + [1.0] * 3}
    assert contrasts(first, second, paired=True)["p99"].word == "undecided"
    weighted = contrasts(first, second, paired=True, errors=errors)["p99"]
    assert weighted.word == "slower"
    assert 1.08 < weighted.ratio.value < 1.12


def test_all_looks_together_spend_at_most_five_percent() -> None:
    assert sum(error_of_look(place) for place in range(100)) == pytest.approx(LEVEL)


@pytest.mark.parametrize("figures", [1, 4, 12])
def test_a_figure_can_be_decided_at_the_first_look_whatever_the_others_do(figures: int) -> None:
    """All pairs of one figure agree; those of each other figure have signs of their own."""
    pairs = plan_looks(figures)[0]
    g = np.random.default_rng(1)
    first = {f"p{place}": 100.0 * np.exp(g.normal(0.0, 0.2, pairs)) for place in range(figures)}
    second = {name: 100.0 * np.exp(g.normal(0.0, 0.2, pairs)) for name in first}
    second["p0"] = 1.5 * first["p0"] * np.exp(g.normal(0.0, 0.05, pairs))
    found = contrasts(first, second, paired=True, level=error_of_look(0))
    assert found["p0"].word == "slower"


@pytest.mark.parametrize(
    "studies", [40, pytest.param(2_000, marks=[pytest.mark.nightly, pytest.mark.timeout(3600)])]
)
def test_a_server_that_is_looked_at_three_times_seldom_differs_from_itself(studies: int) -> None:
    """Without a part of the error for each look it would in more than 10 % of studies."""
    alarms = 0
    looks = plan_looks(1)
    for seed in range(studies):
        g = np.random.default_rng(seed)
        first, second = np.exp(g.normal(0.0, 0.03, (2, looks[-1])))
        words = [
            contrasts({"p99": first[:look]}, {"p99": second[:look]}, paired=True, level=error_of_look(place))[
                "p99"
            ].word
            for place, look in enumerate(looks)
        ]
        alarms += any(word in ("slower", "faster") for word in words)
    assert alarms / studies <= 0.05 + 4.0 * math.sqrt(0.05 * 0.95 / studies)
