"""Order among service times is recorded if it is real and helps, and not if it is chance."""

import numpy as np
import pytest
from autoregression import autoregressive
from rows import each_row
from scipy.special import ndtr

from hindmost.commands.clone.fit.order.successive import find_order

N = 30_000


def exponential_with(rho, seed=1):
    """Return exponential times of mean 100 us whose normal scores are autoregressive."""
    draws = np.random.default_rng(seed)
    scores = autoregressive(draws.standard_normal(N) * np.sqrt(1 - rho * rho), rho)
    return -100.0 * np.log1p(-np.clip(ndtr(scores), 0, 1 - 1e-12))


@each_row("seed", [1, 2, 3])
def test_independent_times_get_no_order(seed):
    order = find_order(exponential_with(0.0, seed))
    assert order.autocorrelation == 0.0
    assert order.regimes is None
    assert order.found == pytest.approx(0.0, abs=0.015)


@pytest.mark.parametrize("rho", [0.5, 0.8])
def test_a_planted_autocorrelation_is_found_and_recorded(rho):
    order = find_order(exponential_with(rho))
    assert order.autocorrelation == pytest.approx(rho, abs=0.02)
    assert order.interval[0] < rho < order.interval[1]
    assert order.errors["autoregression"] < 0.5 * order.errors["independent"]
    assert order.document() == {"autocorrelation": pytest.approx(rho, abs=0.02)}


def test_planted_regimes_are_found_with_factors_and_durations():
    draws = np.random.default_rng(3)
    states = np.repeat(np.arange(100) % 2, draws.geometric(1 / np.tile([1_500, 500], 50)))[:N]
    us = 100 * np.exp(0.3 * draws.standard_normal(states.size)) * np.array([1.0, 1.8])[states]
    order = find_order(us)
    assert order.regimes is not None
    assert order.regimes.factors == pytest.approx((1.0, 1.8), rel=0.04)
    assert order.regimes.stays == pytest.approx((1_500, 500), rel=0.4)
    assert order.errors["independent"] > 2 * min(order.errors.values())
    # Within a regime the times are independent.
    within = us / order.regimes.factor
    assert np.log(within).std() == pytest.approx(0.3, rel=0.1)


def test_overlapping_components_need_a_higher_autocorrelation():
    from hindmost.commands.clone.fit.laws.families import Lognormal, Mixture
    from hindmost.commands.clone.fit.order.copula import _times, score_autocorrelation
    from hindmost.commands.clone.fit.order.successive import autocorrelation, normal_scores

    law = Mixture((0.6, 0.4), (Lognormal(4.0, 0.9), Lognormal(4.6, 0.4)))
    score_rho = score_autocorrelation(law, 0.5)
    assert score_rho > 0.52
    scores = autoregressive(
        np.random.default_rng(9).standard_normal(N) * np.sqrt(1 - score_rho * score_rho), score_rho
    )
    times = _times(law, ndtr(scores))
    assert autocorrelation(normal_scores(times), 1) == pytest.approx(0.5, abs=0.02)
    # The marginal law is unchanged.
    assert times.mean() == pytest.approx(law.mean, rel=0.03)


def test_the_engine_draws_from_the_fitted_order():
    import json

    from hindmost import _engine
    from hindmost.commands.clone.fit import Log, fit_clone

    fit = fit_clone(Log("t.csv", "0" * 64, "t", exponential_with(0.6)))
    rho = fit.clone.document["order"]["autocorrelation"]
    assert rho == pytest.approx(0.6, abs=0.05)
    design = {
        "points": [{"seed": 1}],
        "arrivals": {"kind": "closed", "clients": 1, "think_us": 0.0},
        "requests": N,
        "warmup": 0,
        "sections": 1,
        "quantiles": [0.5],
        "backlog": True,
    }
    columns = dict(_engine.simulate_columns(fit.clone.text, json.dumps(design)))
    service_us = (np.frombuffer(columns["finish_ns"]) - np.frombuffer(columns["start_ns"])) / 1e3
    order = find_order(service_us)
    assert order.found == pytest.approx(0.6, abs=0.03)
    assert service_us.mean() == pytest.approx(100.0, rel=0.05)
