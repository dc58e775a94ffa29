"""QuantileRegression's interface: names, several quantiles, p-values, clear errors, unusual samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from messages import raises
from rows import each_row

from hindmost.errors import ArgumentError
from hindmost.stats import QuantileRegression

RANDOM = np.random.default_rng(1)
X = RANDOM.normal(size=(400, 2))
Y = 3.0 + X @ [1.0, -2.0] + RANDOM.exponential(1.0, 400)


class Frame(dict):
    """The part of a data frame that is used: columns, and an array."""

    @property
    def columns(self) -> list[str]:
        return list(self)

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        return np.column_stack(list(self.values())).astype(dtype)


def test_columns_in_another_order_predict_the_same() -> None:
    model = QuantileRegression(0.9).fit(Frame(a=X[:, 0], b=X[:, 1]), Y)
    swapped = model.predict(Frame(b=X[:, 1], extra=X[:, 1], a=X[:, 0]))
    assert swapped == pytest.approx(model.predict(X))
    with raises(ArgumentError, "bad-argument", argument="X", missing=["b"], known=["a", "c"]):
        model.predict(Frame(a=X[:, 0], c=X[:, 1]))
    with raises(ArgumentError, "bad-argument", argument="X", value=3, need=2):
        model.predict(np.ones((1, 3)))


def test_several_quantiles_equal_those_fitted_one_by_one() -> None:
    taus = [0.5, 0.9, 0.99]
    several = QuantileRegression(taus).fit(X, Y)
    for i, tau in enumerate(taus):
        single = QuantileRegression(tau).fit(X, Y)
        assert several.coef_[i] == pytest.approx(single.coef_)
        assert several.intercept_[i] == pytest.approx(single.intercept_)
    assert several.predict(X).shape == (400, 3)
    assert several.summary().count("objective") == 3
    assert [c.quantile for c in several.coefficients_] == [tau for tau in taus for _ in range(3)]


def test_p_values_agree_with_the_intervals() -> None:
    model = QuantileRegression(0.5).fit(np.column_stack([X, RANDOM.normal(size=400)]), Y)
    for coefficient in model.coefficients_:
        assert (coefficient.p < 0.05) == (not coefficient.low <= 0.0 <= coefficient.high)
    assert "<0.0001" in model.summary()


def test_settings_can_be_read_set_and_are_checked() -> None:
    model = QuantileRegression(0.9)
    assert repr(model) == "QuantileRegression(quantile=0.9, fit_intercept=True, jitter=0.0, random_state=1)"
    assert QuantileRegression(**model.get_params()).quantile == 0.9
    assert model.set_params(quantile=0.5).quantile == 0.5
    with raises(ArgumentError, "bad-argument", argument="tau"):
        model.set_params(tau=0.5)


def test_score_is_one_minus_the_remaining_share_of_the_loss() -> None:
    model = QuantileRegression(0.5).fit(X, Y)
    constant = np.abs(Y - np.median(Y)).sum() / 2.0
    assert model.score(X, Y) == pytest.approx(1.0 - model.objective_ / constant)
    assert math.isnan(QuantileRegression().fit(X, np.ones(400)).score(X, np.ones(400)))


@each_row("call", ["predict", "summary", "table"])
def test_every_method_before_fit_is_refused(call: str) -> None:
    model = QuantileRegression()
    with raises(ArgumentError, "not-fitted"):
        model.predict(X) if call == "predict" else getattr(model, call)()


@each_row(("x", "y"), [(X[:, 0], Y), ([["a"], ["b"]], [1.0, 2.0]), (np.empty((0, 2)), [])])
def test_shapes_that_do_not_fit_are_refused(x: object, y: object) -> None:
    with raises(ArgumentError, "bad-argument", argument="X"):
        QuantileRegression().fit(x, y)  # type: ignore[arg-type]


def test_constant_y_is_fitted_exactly() -> None:
    model = QuantileRegression(0.9).fit(X, np.full(400, 7.0))
    assert model.intercept_ == pytest.approx(7.0)
    assert model.coef_ == pytest.approx([0.0, 0.0], abs=1e-9)
    assert model.objective_ == pytest.approx(0.0, abs=1e-6)


def test_samples_far_from_zero_are_fitted_like_those_near_it() -> None:
    near, far = (QuantileRegression(0.9).fit(X, Y + shift) for shift in (0.0, 1e12))
    assert far.coef_ == pytest.approx(near.coef_, abs=1e-3)  # 1e12 keeps 1e-4
    assert far.intercept_ - 1e12 == pytest.approx(near.intercept_, abs=1e-2)


@pytest.mark.parametrize("unit", [1e-9, 1e-12])
def test_intervals_do_not_depend_on_the_unit(unit: float) -> None:
    ours, theirs = (QuantileRegression(0.9).fit(X, Y * scale).coefficients_ for scale in (unit, 1.0))
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.error / unit == pytest.approx(other.error, rel=1e-3)


def least_loss(design: np.ndarray, y: np.ndarray, tau: float) -> float:
    """Solve the linear program of the fit."""
    from scipy.optimize import linprog
    from scipy.sparse import eye, hstack

    n, p = design.shape
    cost = np.concatenate([np.zeros(p), np.full(n, tau), np.full(n, 1.0 - tau)])
    bounds = [(None, None)] * p + [(0, None)] * (2 * n)
    return float(linprog(cost, A_eq=hstack([design, eye(n), -eye(n)]), b_eq=y, bounds=bounds).fun)


def test_ties_reach_the_least_loss() -> None:
    y = np.round(Y)
    oracle = least_loss(np.column_stack([np.ones(400), X]), y, 0.9)
    assert QuantileRegression(0.9).fit(X, y).objective_ == pytest.approx(oracle, rel=1e-9)


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.99])
@pytest.mark.parametrize("tied", [False, True])
def test_many_rows_reach_the_least_loss(tau: float, tied: bool) -> None:
    random = np.random.default_rng(2)
    n = 6_000
    x = np.column_stack([random.normal(size=(n, 3)), random.random(n) < 0.02])
    y = 1.0 + x @ [2.0, 3.0, 4.0, 50.0] + random.exponential(1.0, n) * (1.0 + np.abs(x[:, 0]))
    y = np.round(y) if tied else y
    found = QuantileRegression(tau).fit(x, y).objective_
    assert found == pytest.approx(least_loss(np.column_stack([np.ones(n), x]), y, tau), rel=1e-9)
