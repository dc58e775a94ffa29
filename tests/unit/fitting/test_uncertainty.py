"""The uncertainty of a log is in the intervals of the clone's predictions, and a drifting log is noted."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.fit import fit_clone, read_log
from hindmost.commands.clone.fit.intervals import intervals
from hindmost.commands.clone.fit.laws.choice import Sample
from hindmost.commands.clone.fit.laws.families import Lognormal, Mixture
from hindmost.commands.clone.simulation import Design, simulate
from hindmost.commands.clone.uncertainty import draw_changes

from .planted import back_to_back, by_code

MEDIAN_US, SIGMA = 300.0, 0.5
DOCUMENT = {
    "schema": "hindmost.clone/1",
    "name": "planted",
    "threads": 1,
    "service": [{"weight": 1.0, "law": {"kind": "lognormal", "median_us": MEDIAN_US, "sigma_log": SIGMA}}],
}
LOAD = 0.7
DESIGN = Design(requests=20_000)


def times(n: int, seed: int) -> np.ndarray:
    return MEDIAN_US * np.exp(SIGMA * np.random.default_rng(seed).standard_normal(n))


def fit(us: np.ndarray) -> Clone:
    """Return the clone of a log, as a fit records it."""
    logs = np.log(us)
    model = Mixture((1.0,), (Lognormal(float(logs.mean()), float(logs.std())),))
    origin = {"samples": us.size, "intervals": intervals(Sample.from_times(us), model, "service")}
    return Clone.from_document({**DOCUMENT, "service": model.document(), "origin": origin})


def coverage(logs: int, n: int) -> float:
    """Return how often the intervals of all figures cover the planted clone's values at the same rate."""
    truth = Clone.from_document(DOCUMENT)
    rate = LOAD / truth.mean_busy_us * 1e6
    expected = simulate(truth, rate_per_s=rate, design=Design(requests=1_000_000, seed=99)).latency_us
    hits = []
    for seed in range(logs):
        result = simulate(fit(times(n, seed)), rate_per_s=rate, design=DESIGN).latency_us
        for name, figure in expected.items():
            hits.append(result[name].low <= figure.value <= result[name].high)
    return float(np.mean(hits))


def test_predictions_cover_the_logged_server() -> None:
    """Six logs of 2,000 requests. Intervals for simulation noise alone would cover about a third."""
    assert coverage(6, 2_000) >= 0.8


@pytest.mark.nightly
def test_predictions_cover_the_server_for_19_of_20_logs() -> None:
    """Figures of one log are correlated: allow four standard errors as if each log had one figure."""
    assert coverage(100, 5_000) >= 0.95 - 4.0 * math.sqrt(0.95 * 0.05 / 100)


def test_the_uncertainty_of_a_fit_widens_the_intervals():
    origin = {"samples": 2_000, "intervals": {"service.mean_us": [310.0, 375.0]}}
    plain = simulate(Clone.from_document(DOCUMENT), utilisation=LOAD, design=DESIGN).latency_us["mean"]
    uncertain = simulate(Clone.from_document({**DOCUMENT, "origin": origin}), utilisation=LOAD, design=DESIGN)
    mean = uncertain.latency_us["mean"]
    assert mean.value == plain.value
    assert mean.low < plain.low / 1.05
    assert mean.high > plain.high * 1.05


def test_drawn_shares_and_correlations_are_possible() -> None:
    kinds = [{"name": name, "share": 0.5, "service": DOCUMENT["service"]} for name in ("get", "set")]
    ranges = {
        "kinds[0].share": [0.3, 0.7],
        "kinds[1].share": [0.3, 0.7],
        "order.autocorrelation": [0.8, 0.99],
    }
    document = {key: value for key, value in DOCUMENT.items() if key != "service"}
    origin = {"samples": 100, "intervals": ranges}
    clone = Clone.from_document(
        {**document, "kinds": kinds, "order": {"autocorrelation": 0.95}, "origin": origin}
    )
    for change in draw_changes(clone, 1):
        assert change["/kinds/0/share"] + change["/kinds/1/share"] == pytest.approx(1.0)
        assert change["/order/autocorrelation"] <= 0.99


def test_near_its_capacity_a_fitted_clone_has_an_unbounded_interval():
    origin = {"samples": 2_000, "intervals": {"service.mean_us": [310.0, 375.0]}}
    clone = Clone.from_document({**DOCUMENT, "origin": origin})
    result = simulate(clone, rate_per_s=0.98 / clone.mean_busy_us * 1e6, design=DESIGN)
    assert result.latency_us["p99"].high == math.inf
    assert result.latency_us["p99"].low is not None


def test_intervals_of_quantiles_cover_the_truth():
    model = Mixture((1.0,), (Lognormal(math.log(MEDIAN_US), SIGMA),))
    hits = 0
    for seed in range(20):
        result = intervals(Sample.from_times(times(4_000, seed)), model, "service", seed=seed)
        low, high = result["service.p50_us"]
        assert low < high
        hits += low <= MEDIAN_US <= high
    assert hits >= 15  # of 20 at 95 %: fewer happens with one seed in 10,000


def test_a_drifting_log_is_noted_and_a_steady_one_is_not(tmp_path):
    us = times(4_000, 1)
    doubled = read_log(back_to_back(tmp_path / "doubled.csv", us * np.linspace(1.0, 2.0, us.size)))
    note = by_code(fit_clone(doubled).unknown)["drifting-log"]
    assert note.values["change"] == pytest.approx(0.67, abs=0.15)  # of the average, which is 1.5
    steady = read_log(back_to_back(tmp_path / "steady.csv", us))
    assert "drifting-log" not in by_code(fit_clone(steady).unknown)
