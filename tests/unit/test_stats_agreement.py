"""Two latencies of the same requests: a constant is told from what grows."""

import numpy as np
import pytest
from messages import raises
from rows import each_row

from hindmost.errors import ArgumentError
from hindmost.stats import agreement, constancy

LEVELS = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
RNG = np.random.default_rng(7)
SEEN = RNG.lognormal(3.4, 0.5, 50_000)


def test_a_constant_is_constant_at_every_quantile_and_for_every_request():
    found = agreement(SEEN + 5.0, SEEN, LEVELS)
    assert list(found.gap) == list(LEVELS)
    for name in LEVELS:
        assert found.gap[name] == pytest.approx(5.0)
        near = found.near[name]
        assert (near.low, near.median, near.high) == pytest.approx((5.0, 5.0, 5.0))
    assert constancy(found.gap) == pytest.approx(0.0, abs=1e-9)


def test_what_grows_with_the_percentile_is_no_constant():
    found = agreement(1.1 * SEEN, SEEN, LEVELS)
    assert constancy(found.gap) == pytest.approx(0.1 * (found.theirs["p99.9"] - found.theirs["p50"]))
    assert found.near["p99"].median == pytest.approx(0.1 * found.theirs["p99"], rel=0.05)


def test_noise_of_single_requests_shows_request_by_request_and_hardly_in_the_curves():
    noise = RNG.normal(0.0, 3.0, SEEN.size)
    found = agreement(SEEN + 5.0 + noise, SEEN, LEVELS)
    near = found.near["p50"]
    assert near.high - near.low == pytest.approx(2 * 1.645 * 3.0, rel=0.1)
    assert abs(found.gap["p50"] - 5.0) < 0.5


def test_requests_are_compared_with_themselves_not_by_rank():
    # The slowest for us are the fastest for them: the curves are the same, the requests are not.
    ordered = np.sort(SEEN)
    found = agreement(ordered[::-1], ordered, LEVELS)
    assert constancy(found.gap) == 0.0
    assert found.near["p99"].median < -0.5 * found.theirs["p99"]


@each_row(("count", "known"), [(19, []), (40, ["p50"]), (2_000, ["p50", "p95", "p99"])])
def test_quantiles_with_too_few_requests_beyond_are_left_out(count, known):
    found = agreement(SEEN[:count], SEEN[:count], LEVELS)
    assert list(found.gap) == list(found.near) == known


def test_other_requests_are_refused():
    with raises(ArgumentError, "bad-argument", argument="theirs"):
        agreement(SEEN, SEEN[:-1], LEVELS)
