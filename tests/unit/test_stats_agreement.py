"""Agreement of two latencies of the same requests: constant and growing differences."""

import numpy as np
import pytest
from messages import raises
from rows import each_row

from hindmost.errors import ArgumentError
from hindmost.stats import agreement, constancy

LEVELS = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
RNG = np.random.default_rng(7)
LATENCIES_US = RNG.lognormal(3.4, 0.5, 50_000)


def test_a_constant_difference_is_the_same_at_every_quantile():
    result = agreement(LATENCIES_US + 5.0, LATENCIES_US, LEVELS)
    assert list(result.gap) == list(LEVELS)
    for name in LEVELS:
        assert result.gap[name] == pytest.approx(5.0)
        near = result.near[name]
        assert (near.low, near.median, near.high) == pytest.approx((5.0, 5.0, 5.0))
    assert constancy(result.gap) == pytest.approx(0.0, abs=1e-9)


def test_a_difference_that_grows_with_the_percentile_is_not_constant():
    result = agreement(1.1 * LATENCIES_US, LATENCIES_US, LEVELS)
    assert constancy(result.gap) == pytest.approx(0.1 * (result.theirs["p99.9"] - result.theirs["p50"]))
    assert result.near["p99"].median == pytest.approx(0.1 * result.theirs["p99"], rel=0.05)


def test_noise_of_single_requests_affects_differences_more_than_quantiles():
    noise = RNG.normal(0.0, 3.0, LATENCIES_US.size)
    result = agreement(LATENCIES_US + 5.0 + noise, LATENCIES_US, LEVELS)
    near = result.near["p50"]
    assert near.high - near.low == pytest.approx(2 * 1.645 * 3.0, rel=0.1)
    assert abs(result.gap["p50"] - 5.0) < 0.5


def test_requests_are_compared_one_by_one_not_by_rank():
    # Ranks are reversed: the quantiles are equal, the requests are not.
    ordered = np.sort(LATENCIES_US)
    result = agreement(ordered[::-1], ordered, LEVELS)
    assert constancy(result.gap) == 0.0
    assert result.near["p99"].median < -0.5 * result.theirs["p99"]


@each_row(("count", "known"), [(19, []), (40, ["p50"]), (2_000, ["p50", "p95", "p99"])])
def test_quantiles_with_too_few_requests_above_them_are_left_out(count, known):
    result = agreement(LATENCIES_US[:count], LATENCIES_US[:count], LEVELS)
    assert list(result.gap) == list(result.near) == known


def test_different_requests_are_refused():
    with raises(ArgumentError, "bad-argument", argument="theirs"):
        agreement(LATENCIES_US, LATENCIES_US[:-1], LEVELS)
