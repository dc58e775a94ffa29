"""Order is written down where it is there and helps, and not where it is chance."""

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.special import ndtr

from hindmost.models.fit.order import find_order

N = 60_000


def exponential_with(rho, seed=1):
    """Exponential times of mean 100 us whose normal scores are autoregressive."""
    draws = np.random.default_rng(seed)
    scores = lfilter([1.0], [1.0, -rho], draws.standard_normal(N) * np.sqrt(1 - rho * rho))
    return -100.0 * np.log1p(-np.clip(ndtr(scores), 0, 1 - 1e-12))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_independent_times_get_no_order(seed):
    found = find_order(exponential_with(0.0, seed))
    assert found.autocorrelation == 0.0
    assert found.regimes is None
    assert found.found == pytest.approx(0.0, abs=0.015)


@pytest.mark.parametrize("rho", [0.5, 0.8])
def test_a_planted_autocorrelation_is_found_and_written_down(rho):
    found = find_order(exponential_with(rho))
    assert found.autocorrelation == pytest.approx(rho, abs=0.02)
    assert found.interval[0] < rho < found.interval[1]
    assert found.errors["autoregression"] < 0.5 * found.errors["independent"]
    assert found.document() == {"autocorrelation": pytest.approx(rho, abs=0.02)}


def test_planted_regimes_are_found_with_their_factor_and_their_stays():
    draws = np.random.default_rng(3)
    states = np.repeat(np.arange(100) % 2, draws.geometric(1 / np.tile([1_500, 500], 50)))[:N]
    us = 100 * np.exp(0.3 * draws.standard_normal(states.size)) * np.array([1.0, 1.8])[states]
    found = find_order(us)
    assert found.regimes is not None
    assert found.regimes.factors == pytest.approx((1.0, 1.8), rel=0.04)
    assert found.regimes.stays == pytest.approx((1_500, 500), rel=0.4)
    assert found.errors["independent"] > 2 * min(found.errors.values())
    # Within a regime the times are independent again.
    within = us / found.regimes.factor
    assert np.log(within).std() == pytest.approx(0.3, rel=0.1)
