"""How often two different servers are called equivalent, and two equivalent ones different."""

import numpy as np
import pytest
from messages import raises
from rows import each_row
from scipy import stats  # type: ignore[import-untyped]

from hindmost.errors import ArgumentError
from hindmost.stats import equivalence
from hindmost.stats.runs.equivalence import signed_rank_interval


def share_equivalent(ratio: float, margin: float, pairs: int, scatter: float, tries: int = 800) -> float:
    random = np.random.default_rng(1)
    theirs = np.exp(random.normal(0.0, scatter, (tries, pairs)))
    ours = ratio * np.exp(random.normal(0.0, scatter, (tries, pairs)))
    return np.mean(
        [equivalence(a, b, margin).outcome == "equivalent" for a, b in zip(ours, theirs, strict=True)]
    )


@pytest.mark.parametrize(("pairs", "ratio"), [(3, 1.05), (5, 0.95), (10, 1.05)])
def test_servers_at_the_margin_are_called_equivalent_in_one_case_of_twenty(pairs: int, ratio: float) -> None:
    # The standard error of a share of .05 over 800 is .0077; three of them.
    assert share_equivalent(ratio, 0.05, pairs, 0.01) <= 0.05 + 0.023


def test_equal_servers_are_called_equivalent_if_the_pairs_suffice() -> None:
    assert share_equivalent(1.0, 0.05, 5, 0.007) > 0.95
    assert share_equivalent(1.0, 0.05, 5, 0.10) < 0.10  # the noise is twice the margin: nothing is shown


def test_far_servers_are_called_different() -> None:
    random = np.random.default_rng(2)
    theirs = np.exp(random.normal(0.0, 0.01, (200, 5)))
    outcomes = [equivalence(1.2 * row, row[::-1], 0.05).outcome for row in theirs]
    assert outcomes.count("different") > 195


def test_a_run_stalled_by_the_host_does_not_hide_the_result_of_the_others() -> None:
    random = np.random.default_rng(4)
    ours = np.exp(random.normal(0.0, 0.02, (200, 12)))
    theirs = np.exp(random.normal(0.0, 0.02, (200, 12)))
    ours[:, 3] *= 3.0
    results = [equivalence(a, b, 0.05) for a, b in zip(ours, theirs, strict=True)]
    assert sum(result.outcome == "equivalent" for result in results) > 150
    assert np.median([result.ratio for result in results]) < 1.01


@pytest.mark.parametrize("law", ["normal", "t2"])
@pytest.mark.parametrize("pairs", [5, 12])
def test_signed_rank_intervals_cover_at_their_level(law: str, pairs: int) -> None:
    random = np.random.default_rng(5)
    draws = random.normal(size=(1_000, pairs)) if law == "normal" else random.standard_t(2, (1_000, pairs))
    coverage = np.mean([interval.low < 0.0 < interval.high for interval in map(signed_rank_interval, draws)])
    assert coverage >= 0.90 - 0.028  # three standard errors


@each_row("pairs", [5, 9, 30])
def test_signed_ranks_equal_those_of_scipy(pairs: int) -> None:
    """The interval ends where the test of a shift begins to reject."""
    x = np.random.default_rng(6).normal(0.3, 1.0, pairs)
    interval = signed_rank_interval(x)
    for end, inside in ((interval.low, 1e-9), (interval.high, -1e-9)):
        assert stats.wilcoxon(x - end - inside, method="exact").pvalue > 0.1
        assert stats.wilcoxon(x - end + inside, method="exact").pvalue <= 0.1
    assert interval.value == pytest.approx(np.median([(a + b) / 2 for n, a in enumerate(x) for b in x[n:]]))


@each_row("values", [[float("inf"), 1.0], [0.0, 1.0], [-1.0, 1.0]])
def test_values_without_a_ratio_are_refused(values: list[float]) -> None:
    with raises(ArgumentError, "bad-argument", argument="ours"):
        equivalence(values, [1.0, 1.0], 0.05)
