"""Pooled quantiles: samples and histograms alike, errors that know of runs, the bootstrap, what is refused."""

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
def test_a_saturated_model_is_that_of_quantile_regression(tau: float) -> None:
    samples = table_iv(1)
    y = np.concatenate([np.concatenate(samples[cell]) for cell in DESIGN.cells])
    x = np.repeat(DESIGN.matrix(DESIGN.cells)[:, 1:], 8_000, axis=0)
    runs = np.repeat(np.arange(128), 1_000)
    model = QuantileRegression(tau).fit(x, y, clusters=runs)
    effects = fit_pooled(Requests.of_samples(samples), DESIGN, tau).effects()
    assert [e.value for e in effects] == pytest.approx([model.intercept_, *model.coef_], rel=1e-12)
    # Bandwidths differ: one for all samples there, one for each cell here. And alike clusters there.
    errors = [one.error for one in model.coefficients_]
    assert np.mean([e.error for e in effects]) == pytest.approx(np.mean(errors), rel=0.15)
    assert [e.degrees for e in effects] == pytest.approx(model.degrees_.tolist(), rel=0.6)


@pytest.mark.parametrize("design", [DESIGN, MAINS], ids=["saturated", "main effects"])
def test_histograms_say_what_samples_say(design: Factorial) -> None:
    """The engine's own, in nanoseconds: values within their resolution, errors within a few per cent."""
    samples = table_iv(2, runs=5, each=400)
    by_samples, by_bins = Requests.of_samples(samples), Requests.of_histograms(histograms(samples))
    for tau in (0.5, 0.95):
        exact, binned = (fit_pooled(of, design, tau) for of in (by_samples, by_bins))
        assert binned.fitted / 1000.0 == pytest.approx(exact.fitted, rel=2e-3)
        for a, b in zip(exact.effects("average"), binned.effects("average"), strict=True):
            assert b.error / 1000.0 == pytest.approx(a.error, rel=0.2)
            assert b.value / 1000.0 == pytest.approx(a.value, abs=0.15 * a.error)
        assert binned.pseudo_r2() == pytest.approx(exact.pseudo_r2(), abs=1e-3)


def test_intervals_of_runs_cover_and_naive_ones_do_not() -> None:
    """Runs that differ by 5 %, five a cell: all three ways beside the naive one, two cells, p50."""
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
        drawn = fit.bootstrap(draws=300, seed=seed)[1]
        studentised = fit.bootstrap(draws=300, seed=seed, studentised=True)[1]
        for name, one in (("closed", closed), ("bootstrap", drawn), ("studentised", studentised)):
            hit[name] += one.low <= 0.0 <= one.high
        low, high = closed.naive_interval
        hit["naive"] += low <= 0.0 <= high
    assert min(hit["closed"], hit["bootstrap"]) >= 69  # of 80 at 95 %: fewer in one seed of 1,600
    assert hit["studentised"] / tries > 0.85
    assert hit["naive"] / tries < 0.7


def test_design_effects_say_how_much_runs_differ() -> None:
    alike = fit_pooled(Requests.of_samples(table_iv(4, sd=0.0)), DESIGN, 0.5).cells
    differ = fit_pooled(Requests.of_samples(table_iv(4, sd=0.05)), DESIGN, 0.5).cells
    assert np.median([one.design_effect for one in alike]) == pytest.approx(1.0, abs=0.5)
    assert np.median([one.design_effect for one in differ]) > 4.0
    for one in differ:
        assert one.error / one.naive_error == pytest.approx(np.sqrt(one.design_effect))
        assert one.design_effect == pytest.approx(1.0 + (1_000 - 1) * one.correlation)
        assert (one.requests, one.runs) == (8_000, 8)


def test_the_paper_could_not_have_measured_its_pseudo_r2_on_requests() -> None:
    """Above .9 in Figure 11; of Table IV's own cells requests explain less than a hundredth."""
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
    """What all runs of a block share cancels from differences, if blocks are drawn together."""
    random = np.random.default_rng(8)
    drift = np.exp(random.normal(0.0, 0.2, (10, 1)))
    runs = {cell: list(drift * np.exp(random.normal(4.0, 0.1, (10, 500)))) for cell in [(0,), (1,)]}
    fit = fit_pooled(Requests.of_samples(runs), Factorial(["a"]), 0.5)
    apart, together = fit.bootstrap()[1].error, fit.bootstrap(together=True)[1].error
    assert together < apart / 5.0
    assert fit.bootstrap(together=True)[0].error > together * 5.0


def test_ties_and_a_cell_of_one_value_have_errors_of_the_clocks_grain() -> None:
    runs = {(0,): [[5.0] * 50, [5.0] * 50], (1,): [[7.0] * 50, [7.0, 8.0] * 25]}
    fit = fit_pooled(Requests.of_samples(runs), Factorial(["a"]), 0.5, grain=1.0)
    assert fit.effects()[1].value == pytest.approx(2.0)
    assert all(np.isfinite(one.error) for one in fit.effects())


def test_an_infinitely_late_quantile_is_refused_and_an_earlier_one_is_not() -> None:
    late = Histogram()
    for nanos in range(1_000, 2_000):
        late.record(nanos)
    late.add_censored(20)
    good = Histogram()
    for nanos in range(1_000, 2_000):
        good.record(nanos)
    of = Requests.of_histograms({(0,): [good, good], (1,): [late, late]})
    median = fit_pooled(of, Factorial(["a"]), 0.5).fitted
    assert median[1] - median[0] == pytest.approx(10.0, abs=1.0)  # ranks 500 and 510 of 1 ns each
    with raises(ArgumentError, "bad-argument", argument="tau", value=0.99, cell=[1]):
        fit_pooled(of, Factorial(["a"]), 0.99)


def test_both_estimands_agree_where_runs_are_alike_and_differ_where_not() -> None:
    """Runs in two states: the pool's p99 is that of the bad state, a run's own lies between on average."""
    random = np.random.default_rng(9)
    state = np.where(np.arange(10) < 3, 2.0, 1.0)[:, None]
    samples = {
        (0,): list(np.exp(random.normal(4.0, 0.1, (10, 2_000)))),
        (1,): list(state * np.exp(random.normal(4.0, 0.1, (10, 2_000)))),
    }
    pooled = fit_pooled(Requests.of_samples(samples), Factorial(["a"]), 0.9).effects()[1]
    runs = {cell: [float(np.quantile(run, 0.9)) for run in of] for cell, of in samples.items()}
    own = fit_runs(runs, Factorial(["a"])).effects()[1]
    assert pooled.value > 1.3 * own.value > 10.0


@pytest.mark.parametrize(
    "samples", [{(0,): [[]], (1,): [[1.0]]}, {}], ids=["a run without requests", "no cell"]
)
def test_runs_without_requests_are_refused(samples) -> None:
    with raises(ArgumentError, "bad-argument", argument="samples"):
        Requests.of_samples(samples)


def test_bins_of_their_own_serve_as_well_as_the_engines_and_must_agree() -> None:
    bins = ([0.0, 1.0, 2.0], [1.0, 2.0, 4.0], [10, 80, 10])
    of = Requests.of_histograms({(0,): [bins, bins], (1,): [([2.0], [4.0], [50])] * 2})
    assert fit_pooled(of, Factorial(["a"]), 0.5).fitted == pytest.approx([1.5, 3.0])
    with raises(ArgumentError, "bad-argument", argument="histograms"):
        Requests.of_histograms({(0,): [bins], (1,): [([1.0], [3.0], [5])]})


def test_levels_and_draws_that_cannot_be_meant_are_refused() -> None:
    one_run = Requests.of_samples({(0,): [[1.0, 2.0, 3.0]], (1,): [[1.0, 2.0]]})
    with raises(ArgumentError, "bad-argument", argument="tau", value=1.0):
        fit_pooled(one_run, Factorial(["a"]), 1.0)
    with raises(ArgumentError, "bad-argument", argument="runs", need=2):
        fit_pooled(one_run, Factorial(["a"]), 0.5).bootstrap()
