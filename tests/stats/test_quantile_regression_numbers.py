"""QuantileRegression with numbers of any size and unit, and its handling of columns, weights and indices."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from messages import raises
from rows import each_row

from hindmost.errors import ArgumentError
from hindmost.stats import QuantileRegression

I = np.arange(100.0)  # noqa: E741
RANDOM = np.random.default_rng(1)
NOISE = RANDOM.exponential(1.0, 100)
Y = 3.0 + 0.5 * I + NOISE


def loss(x: np.ndarray, y: np.ndarray, model: QuantileRegression, tau: float) -> float:
    residuals = y - model.predict(x)
    return float((residuals * (tau - (residuals < 0.0))).sum())


@each_row(
    ("zero", "unit"),
    [(1e6, 1.0), (1.7e9, 1.0), (1.7e18, 1e9), (1e9, 4096.0), (2020.0, 1 / 365.25), (0, 1e12), (0, 1e-12)],
)
def test_a_covariate_may_be_far_from_zero_and_in_any_unit(zero: float, unit: float) -> None:
    near = QuantileRegression(0.9).fit(I[:, None], Y)
    x = (zero + I * unit)[:, None]
    far = QuantileRegression(0.9).fit(x, Y)
    assert far.coef_ * unit == pytest.approx(near.coef_, rel=1e-6)
    assert far.objective_ == pytest.approx(near.objective_, rel=1e-6)
    assert far.coefficients_[1].error * unit == pytest.approx(near.coefficients_[1].error, rel=1e-3)


def test_errors_by_clusters_do_not_depend_on_the_zero_of_a_covariate() -> None:
    runs = np.repeat(np.arange(10), 10)
    near, far = (
        QuantileRegression(0.5).fit((zero + I)[:, None], Y, clusters=runs).coefficients_[1]
        for zero in (0.0, 1e8)
    )
    assert far.error == pytest.approx(near.error, rel=1e-4)
    assert far.high - far.low == pytest.approx(near.high - near.low, rel=1e-4)


@each_row("tau", [0.5, 0.9])
@each_row("far", [1e6, 1e9, 1e13, 1e300])
def test_one_sample_far_away_counts_only_by_its_side(far: float, tau: float) -> None:
    y = Y.copy()
    y[7] = 1e3
    usual = QuantileRegression(tau).fit(I[:, None], y)
    y[7] = far
    model = QuantileRegression(tau).fit(I[:, None], y)
    assert model.coef_ == pytest.approx(usual.coef_, rel=1e-9)
    assert model.intercept_ == pytest.approx(usual.intercept_, rel=1e-9)


def test_samples_far_away_are_fitted_if_the_level_reaches_them() -> None:
    """A tenth of the requests of the last rows timed out at 1e9, so their p95 is the timeout."""
    x = np.repeat([0.0, 1.0, 2.0], 100)
    y = np.tile(NOISE, 3)
    y[290:] = 1e9
    model = QuantileRegression(0.95).fit(x[:, None], y)
    from scipy.optimize import linprog

    design = np.column_stack([np.ones(300), x])
    cost = np.concatenate([np.zeros(2), np.full(300, 0.95), np.full(300, 0.05)])
    bounds = [(None, None)] * 2 + [(0, None)] * 600
    oracle = linprog(cost, A_eq=np.hstack([design, np.eye(300), -np.eye(300)]), b_eq=y, bounds=bounds)
    assert loss(x[:, None], y, model, 0.95) == pytest.approx(oracle.fun, rel=1e-9)


@each_row("heavy", [1e6, 1e12, 1e15])
def test_a_sample_of_huge_weight_lies_on_the_fit_and_the_others_still_count(heavy: float) -> None:
    weight = np.ones(100)
    weight[0] = heavy
    model = QuantileRegression(0.9).fit(I[:, None], Y, sample_weight=weight)
    assert model.predict(I[:1, None]) == pytest.approx(Y[:1])
    pinned = QuantileRegression(0.9, fit_intercept=False).fit((I[1:] - I[0])[:, None], Y[1:] - Y[0])
    assert model.coef_ == pytest.approx(pinned.coef_, rel=1e-9)


def test_a_sample_of_weight_two_counts_as_two_and_one_of_weight_zero_not_at_all() -> None:
    weight = RANDOM.integers(0, 3, 100)
    weighted = QuantileRegression(0.5).fit(I[:, None], Y, sample_weight=weight)
    repeated = QuantileRegression(0.5).fit(np.repeat(I, weight)[:, None], np.repeat(Y, weight))
    for coefficient, other in zip(weighted.coefficients_, repeated.coefficients_, strict=True):
        assert coefficient.value == pytest.approx(other.value)
        assert coefficient.error == pytest.approx(other.error)
    with raises(ArgumentError, "bad-argument", argument="sample_weight", line=3, value=-1.0):
        QuantileRegression().fit(I[:, None], Y, sample_weight=np.where(I == 3, -1.0, 1.0))


def test_a_column_that_depends_on_others_is_named() -> None:
    frame = pd.DataFrame({"rate": I, "threads": I**2, "both": 2.0 * I - I**2})
    with raises(ArgumentError, "bad-argument", argument="X", name="both", column=2):
        QuantileRegression().fit(frame, Y)
    with raises(ArgumentError, "bad-argument", argument="X", name="x1", column=1):
        QuantileRegression().fit(np.column_stack([I, np.ones(100)]), Y)
    frame.loc[5, "threads"] = np.nan
    with raises(ArgumentError, "bad-argument", argument="X", name="threads", line=5, column=1):
        QuantileRegression().fit(frame, Y)


def test_rows_with_a_different_index_are_refused() -> None:
    frame = pd.DataFrame({"rate": I})
    other = pd.Series(Y, index=I[::-1])
    fitted = QuantileRegression().fit(frame, pd.Series(Y))
    assert fitted.coef_ == pytest.approx(QuantileRegression().fit(I[:, None], Y.tolist()).coef_)
    for name in ("sample_weight", "clusters"):
        with raises(ArgumentError, "bad-argument", argument=name):
            QuantileRegression().fit(frame, Y, **{name: other})
    with raises(ArgumentError, "bad-argument", argument="y"):
        QuantileRegression().fit(frame, other)


def test_scikit_learn_accepts_it_in_pipelines_and_cross_validation() -> None:
    from sklearn.base import clone, is_regressor
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = QuantileRegression([0.5, 0.9])
    assert is_regressor(model)
    assert clone(model).get_params() == model.get_params()
    pipeline = make_pipeline(StandardScaler(), model).fit(I[:, None], Y)
    assert pipeline.predict(I[:, None]) == pytest.approx(model.fit(I[:, None], Y).predict(I[:, None]))
    assert (cross_val_score(make_pipeline(StandardScaler(), model), I[:, None], Y) <= 1.0).all()
    search = GridSearchCV(QuantileRegression(), {"fit_intercept": [True, False]}).fit(I[:, None], Y)
    assert search.best_params_ == {"fit_intercept": True}
