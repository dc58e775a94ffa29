"""QuantileRegression.check_fit: size, power, shares of samples below the fit, and their plot."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from messages import raises
from rejections import allowed_rejections
from rows import each_row

from hindmost.errors import ArgumentError
from hindmost.plots import plot_fit
from hindmost.stats import QuantileRegression

Floats = np.ndarray
RUNS = 20


def world(random: np.random.Generator, bend: float, clustered: bool) -> tuple[Floats, Floats, Floats]:
    """Return covariates, latencies that scatter more where they are large, and the run of each."""
    run = np.repeat(np.arange(RUNS), 50)
    x = np.column_stack([random.uniform(0.0, 2.0, run.size), run % 2])
    mean = 10.0 + 2.0 * x[:, 0] + bend * (x[:, 0] - 1.0) ** 2 + x[:, 1]
    noise = random.normal(0.0, 0.3 * clustered, RUNS)[run] + random.normal(0.0, 1.0, run.size)
    return x, mean + (0.5 + 0.5 * x[:, 0]) * noise, run


@each_row("clustered", [True, False])
@pytest.mark.parametrize("tries", [200, pytest.param(2_000, marks=pytest.mark.nightly)])
def test_a_right_model_is_rejected_once_in_twenty(clustered: bool, tries: int) -> None:
    """Scatter that grows with a covariate keeps quantiles linear, so the model is right.

    Few runs are rejected less often than the level: 2 to 4 %.
    """
    random = np.random.default_rng(1)
    rejected = 0
    for _ in range(tries):
        x, y, run = world(random, 0.0, clustered)
        (check,) = QuantileRegression(0.5).fit(x, y).check_fit(x, y, run if clustered else None, draws=199)
        rejected += check.p < 0.05
    least, most = allowed_rejections(tries, 0.02)[0], allowed_rejections(tries, 0.05)[-1]
    assert least <= rejected <= most


@each_row("clustered", [True, False])
def test_a_missing_square_is_found_and_a_present_one_is_not(clustered: bool) -> None:
    x, y, run = world(np.random.default_rng(2), 3.0, clustered)
    clusters = run if clustered else None
    for columns, bent in ((x, True), (np.column_stack([x, x[:, 0] ** 2]), False)):
        for check in QuantileRegression([0.5, 0.9]).fit(columns, y).check_fit(columns, y, clusters):
            assert (check.p < 0.01) == bent
            assert check.clusters == (RUNS if clustered else None)


def test_a_missing_interaction_is_found() -> None:
    """Additions over one column alone would not show it."""
    random = np.random.default_rng(3)
    run = np.repeat(np.arange(RUNS), 50)
    x = random.integers(0, 2, (run.size, 2)).astype(float)
    y = (
        x.sum(axis=1)
        + 1.0 * x.prod(axis=1)
        + random.normal(0.0, 0.5, RUNS)[run]
        + random.normal(size=run.size)
    )
    (check,) = QuantileRegression(0.5).fit(x, y).check_fit(x, y, run)
    assert check.p < 0.01
    whole = np.column_stack([x, x.prod(axis=1)])
    (check,) = QuantileRegression(0.5).fit(whole, y).check_fit(whole, y, run)
    assert check.p == 1.0  # a coefficient for every cell


def test_shares_below_bow_where_a_square_is_missing() -> None:
    x, y, run = world(np.random.default_rng(4), 4.0, True)
    (check,) = QuantileRegression(0.5).fit(x, y).check_fit(x, y, run)
    shares = [one for one in check.shares if one.by == "x0"]
    assert sum(one.samples for one in shares) == len(y)
    assert [one.low for one in shares] == sorted(one.low for one in shares)
    # The line lies above the samples in the middle, and below them at the ends.
    assert shares[0].share_high < 0.5
    assert shares[-1].share_high < 0.5
    assert max(one.share_low for one in shares) > 0.5
    assert {one.by for one in check.shares} == {"(fitted)", "x0"}  # two values bow in no way


@each_row("clustered", [True, False])
def test_intervals_of_shares_contain_the_level_of_a_right_model(clustered: bool) -> None:
    random = np.random.default_rng(5)
    contained = shown = 0
    for _ in range(60):
        x, y, run = world(random, 0.0, clustered)
        (check,) = QuantileRegression(0.8).fit(x, y).check_fit(x, y, run if clustered else None, draws=19)
        ends = [(one.share_low, one.share_high) for one in check.shares if one.by == "x0"]
        contained += sum(low <= 0.8 <= high for low, high in ends)
        shown += len(ends)
    assert 0.92 <= contained / shown <= 0.99  # ten dependent intervals a fit


def test_a_model_of_a_formula_needs_its_data_alone() -> None:
    x, y, run = world(np.random.default_rng(6), 3.0, True)
    data = {"size": x[:, 0], "turbo": x[:, 1], "latency": y, "run": run}
    model = QuantileRegression.from_formula("latency ~ size + turbo", data, 0.5, clusters="run")
    (check,) = model.check_fit(data, clusters="run", seed=3)
    (plain,) = QuantileRegression(0.5).fit(x, y).check_fit(x, y, run, seed=3)
    assert (check.p, check.statistic) == (plain.p, pytest.approx(plain.statistic))
    assert {one.by for one in check.shares} == {"(fitted)", "size"}
    with raises(ArgumentError, "missing-argument", argument="y"):
        QuantileRegression().fit(x, y).check_fit(x)
    with raises(ArgumentError, "not-fitted"):
        QuantileRegression().check_fit(x, y)


def test_the_plot_is_one_drawing_a_column(tmp_path: Path) -> None:
    x, y, run = world(np.random.default_rng(7), 3.0, True)
    (check,) = QuantileRegression(0.5).fit(x, y).check_fit(x, y, run)
    figures = plot_fit(check)
    assert [one.name for one in figures] == ["(fitted)", "x0"]
    drawn = ElementTree.fromstring(figures[1].save(tmp_path / "x0.svg").read_text(encoding="utf-8"))
    dots = [one for one in drawn.iter() if one.tag.endswith("circle")]
    assert len(dots) == len([one for one in check.shares if one.by == "x0"])
