"""Pooled quantiles: samples and histograms agree, errors account for runs, the bootstrap, refusals."""

import numpy as np
import pytest
from messages import raises
from rows import each_row
from table_iv import DESIGN, FACTORS, TABLE_IV, requests

from hindmost._engine import Histogram
from hindmost.errors import ArgumentError
from hindmost.stats import Factorial, QuantileRegression, Requests, fit_pooled, fit_runs

MAINS = Factorial(FACTORS, terms=[(name,) for name in FACTORS])


def table_iv(seed: int, runs: int = 8, each: int = 1_000, sd: float = 0.05) -> dict:
    random = np.random.default_rng(seed)
    return {cell: list(requests(random, cell, runs, each, sd)) for cell in DESIGN.cells}


def histograms(samples: dict) -> dict:
    out = {}
    for cell, runs in samples.items():
        out[cell] = []
        for run in runs:
            histogram = Histogram()
            for nanos in np.round(run * 1000.0).astype(int).tolist():
                histogram.record(nanos)
            out[cell].append(histogram)
    return out


@each_row("tau", [0.5, 0.95, 0.99])
def test_a_saturated_model_equals_quantile_regression(tau: float) -> None:
    samples = table_iv(1)
    y = np.concatenate([np.concatenate(samples[cell]) for cell in DESIGN.cells])
    x = np.repeat(DESIGN.matrix(DESIGN.cells)[:, 1:], 8_000, axis=0)
    runs = np.repeat(np.arange(128), 1_000)
    model = QuantileRegression(tau).fit(x, y, clusters=runs)
    effects = fit_pooled(Requests.of_samples(samples), DESIGN, tau).effects()
    assert [e.value for e in effects] == pytest.approx([model.intercept_, *model.coef_], rel=1e-12)
    # Bandwidths differ (there one for all samples, here one per cell), and quantile regression assumes similar clusters.
    errors = [coefficient.error for coefficient in model.coefficients_]
    assert np.mean([e.error for e in effects]) == pytest.approx(np.mean(errors), rel=0.15)
    assert [e.degrees for e in effects] == pytest.approx(model.degrees_.tolist(), rel=0.6)


@pytest.mark.parametrize("design", [DESIGN, MAINS], ids=["saturated", "main effects"])
def test_histograms_give_the_same_as_samples(design: Factorial) -> None:
    """The engine's histograms in nanoseconds: values agree within their resolution, errors within 20 %."""
    samples = table_iv(2, runs=5, each=400)
    by_samples, by_bins = Requests.of_samples(samples), Requests.of_histograms(histograms(samples))
    for tau in (0.5, 0.95):
        exact, binned = (fit_pooled(requests_, design, tau) for requests_ in (by_samples, by_bins))
        assert binned.fitted / 1000.0 == pytest.approx(exact.fitted, rel=2e-3)
        for a, b in zip(exact.effects("average"), binned.effects("average"), strict=True):
            assert b.error / 1000.0 == pytest.approx(a.error, rel=0.2)
            assert b.value / 1000.0 == pytest.approx(a.value, abs=0.15 * a.error)
        assert binned.pseudo_r2() == pytest.approx(exact.pseudo_r2(), abs=1e-3)


def test_intervals_of_runs_cover_and_naive_ones_do_not() -> None:
    """Five runs a cell that differ by 5 %, two cells, p50: three intervals against the naive one."""
    random = np.random.default_rng(3)
    design = Factorial(["a"])
    tries = 80
    hit = {"closed": 0, "bootstrap": 0, "studentised": 0, "naive": 0}
    for seed in range(tries):
        runs = {
            cell: list(np.exp(4 + random.normal(0, 0.05, (5, 1)) + random.normal(0, 0.3, (5, 400))))
            for cell in design.cells
        }
        fit = fit_pooled(Requests.of_samples(runs), design, 0.5)
        closed = fit.effects()[1]
        bootstrap = fit.bootstrap(draws=300, seed=seed)[1]
        studentised = fit.bootstrap(draws=300, seed=seed, studentised=True)[1]
        for name, effect in (("closed", closed), ("bootstrap", bootstrap), ("studentised", studentised)):
            hit[name] += effect.low <= 0.0 <= effect.high
        low, high = closed.naive_interval
        hit["naive"] += low <= 0.0 <= high
    assert min(hit["closed"], hit["bootstrap"]) >= 69  # of 80 at 95 %: fewer in one seed of 1,600
    assert hit["studentised"] / tries > 0.85
    assert hit["naive"] / tries < 0.7


def test_design_effects_show_how_much_runs_differ() -> None:
    alike = fit_pooled(Requests.of_samples(table_iv(4, sd=0.0)), DESIGN, 0.5).cells
    differ = fit_pooled(Requests.of_samples(table_iv(4, sd=0.05)), DESIGN, 0.5).cells
    assert np.median([cell.design_effect for cell in alike]) == pytest.approx(1.0, abs=0.5)
    assert np.median([cell.design_effect for cell in differ]) > 4.0
    for cell in differ:
        assert cell.error / cell.naive_error == pytest.approx(np.sqrt(cell.design_effect))
        assert cell.design_effect == pytest.approx(1.0 + (1_000 - 1) * cell.correlation)
        assert (cell.requests, cell.runs) == (8_000, 8)


def test_the_paper_could_not_have_measured_its_pseudo_r2_on_requests() -> None:
    """Figure 11 has more than .9; Table IV's own cells explain less than a hundredth of the requests' variance."""
    samples = Requests.of_samples(table_iv(5, runs=5, each=4_000, sd=0.0))
    for tau in (0.5, 0.95, 0.99):
        assert 0.0 < fit_pooled(samples, DESIGN, tau).pseudo_r2() < 0.01


def test_table_iv_is_recovered_from_requests() -> None:
    fit = fit_pooled(Requests.of_samples(table_iv(6, runs=30, each=1_000)), DESIGN, 0.95)
    inside = [e.low <= t <= e.high for e, t in zip(fit.effects(), TABLE_IV[0.95], strict=True)]
    assert sum(inside) >= 13
    assert fit.predicted()[0, 0, 0, 0] == pytest.approx(155.0, rel=0.05)


def test_a_lost_cell_makes_the_model_smaller() -> None:
    samples = table_iv(7, runs=3, each=200)
    samples[1, 1, 1, 1] = []
    fit = fit_pooled(Requests.of_samples(samples), DESIGN, 0.5)
    assert fit.lost == (FACTORS,)
    assert fit.saturated
    assert len(fit.predicted()) == 16


def test_a_block_is_drawn_whole() -> None:
    """The common part of a block's runs cancels in differences if blocks are drawn together."""
    random = np.random.default_rng(8)
    drift = np.exp(random.normal(0.0, 0.2, (10, 1)))
    runs = {cell: list(drift * np.exp(random.normal(4.0, 0.1, (10, 500)))) for cell in [(0,), (1,)]}
    fit = fit_pooled(Requests.of_samples(runs), Factorial(["a"]), 0.5)
    apart, together = fit.bootstrap()[1].error, fit.bootstrap(together=True)[1].error
    assert together < apart / 5.0
    assert fit.bootstrap(together=True)[0].error > together * 5.0


def test_ties_and_a_cell_of_one_value_have_errors_of_the_clocks_resolution() -> None:
    runs = {(0,): [[5.0] * 50, [5.0] * 50], (1,): [[7.0] * 50, [7.0, 8.0] * 25]}
    fit = fit_pooled(Requests.of_samples(runs), Factorial(["a"]), 0.5, grain=1.0)
    assert fit.effects()[1].value == pytest.approx(2.0)
    assert all(np.isfinite(effect.error) for effect in fit.effects())


def test_an_infinitely_late_quantile_is_refused_and_an_earlier_one_is_not() -> None:
    late = Histogram()
    for nanos in range(1_000, 2_000):
        late.record(nanos)
    late.add_censored(20)
    good = Histogram()
    for nanos in range(1_000, 2_000):
        good.record(nanos)
    pooled = Requests.of_histograms({(0,): [good, good], (1,): [late, late]})
    median = fit_pooled(pooled, Factorial(["a"]), 0.5).fitted
    assert median[1] - median[0] == pytest.approx(10.0, abs=1.0)  # ranks 500 and 510 of 1 ns each
    with raises(ArgumentError, "bad-argument", argument="tau", value=0.99, cell=[1]):
        fit_pooled(pooled, Factorial(["a"]), 0.99)


def test_both_estimands_agree_if_runs_are_alike_and_differ_if_not() -> None:
    """Runs in two states: the pooled p99 is that of the bad state; the average of runs lies in between."""
    random = np.random.default_rng(9)
    state = np.where(np.arange(10) < 3, 2.0, 1.0)[:, None]
    samples = {
        (0,): list(np.exp(random.normal(4.0, 0.1, (10, 2_000)))),
        (1,): list(state * np.exp(random.normal(4.0, 0.1, (10, 2_000)))),
    }
    pooled = fit_pooled(Requests.of_samples(samples), Factorial(["a"]), 0.9).effects()[1]
    runs = {cell: [float(np.quantile(run, 0.9)) for run in cell_runs] for cell, cell_runs in samples.items()}
    own = fit_runs(runs, Factorial(["a"])).effects()[1]
    assert pooled.value > 1.3 * own.value > 10.0


@pytest.mark.parametrize(
    "samples", [{(0,): [[]], (1,): [[1.0]]}, {}], ids=["a run without requests", "no cell"]
)
def test_runs_without_requests_are_refused(samples) -> None:
    with raises(ArgumentError, "bad-argument", argument="samples"):
        Requests.of_samples(samples)


def test_other_bins_work_as_well_as_the_engines_and_must_agree() -> None:
    bins = ([0.0, 1.0, 2.0], [1.0, 2.0, 4.0], [10, 80, 10])
    pooled = Requests.of_histograms({(0,): [bins, bins], (1,): [([2.0], [4.0], [50])] * 2})
    assert fit_pooled(pooled, Factorial(["a"]), 0.5).fitted == pytest.approx([1.5, 3.0])
    with raises(ArgumentError, "bad-argument", argument="histograms"):
        Requests.of_histograms({(0,): [bins], (1,): [([1.0], [3.0], [5])]})


def test_invalid_levels_and_draws_are_refused() -> None:
    one_run = Requests.of_samples({(0,): [[1.0, 2.0, 3.0]], (1,): [[1.0, 2.0]]})
    with raises(ArgumentError, "bad-argument", argument="tau", value=1.0):
        fit_pooled(one_run, Factorial(["a"]), 1.0)
    with raises(ArgumentError, "bad-argument", argument="runs", need=2):
        fit_pooled(one_run, Factorial(["a"]), 0.5).bootstrap()
