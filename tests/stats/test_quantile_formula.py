"""QuantileRegression.from_formula: coding, names, categories, frames, clear errors."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from messages import raises
from rows import each_row

from hindmost.errors import ArgumentError, UsageError
from hindmost.stats import QuantileRegression

WOOL = np.repeat(["A", "B"], 27)
TENSION = np.tile(np.repeat(["L", "M", "H"], 9), 2)
BREAKS = np.concatenate(
    [
        [26, 30, 54, 25, 70, 52, 51, 26, 67],
        [18, 21, 29, 17, 12, 18, 35, 30, 36],
        [36, 21, 24, 18, 10, 43, 28, 15, 26],
        [27, 14, 29, 19, 29, 31, 41, 20, 44],
        [42, 26, 19, 16, 39, 28, 21, 39, 29],
        [20, 21, 24, 17, 13, 15, 15, 16, 28],
    ],
    dtype=float,
)
"""R's warpbreaks (Tippett 1950), fitted with quantreg 5.94: rq(breaks ~ wool * tension)."""
COEFFICIENTS = {
    0.25: [26, -6, -8, -8, 9, 3],
    0.5: [51, -22, -30, -27, 29, 15],
    0.75: [54, -23, -24, -26, 32, 16],
}
NAMES = [
    "(Intercept)",
    "wool[T.B]",
    "tension[T.M]",
    "tension[T.H]",
    "wool[T.B]:tension[T.M]",
    "wool[T.B]:tension[T.H]",
]

PANDAS = pd.DataFrame(
    {"breaks": BREAKS, "wool": WOOL, "tension": pd.Categorical(TENSION, categories=["L", "M", "H"])}
)
POLARS = pl.DataFrame(
    {"breaks": BREAKS, "wool": WOOL, "tension": pl.Series(TENSION, dtype=pl.Enum(["L", "M", "H"]))}
)


@each_row("frame", [PANDAS, POLARS])
def test_categories_and_interactions_are_coded_as_by_quantreg(frame: object) -> None:
    model = QuantileRegression.from_formula("breaks ~ wool * tension", frame, list(COEFFICIENTS))
    for tau, expected in COEFFICIENTS.items():
        found = [one for one in model.coefficients_ if one.quantile == tau]
        assert [one.name for one in found] == NAMES
        assert [one.value for one in found] == pytest.approx(expected)
    assert model.terms_ == {
        "wool": tuple(NAMES[1:2]),
        "tension": tuple(NAMES[2:4]),
        "wool:tension": tuple(NAMES[4:]),
    }
    assert isinstance(model.table(), type(frame))


@each_row("frame", [PANDAS, POLARS])
def test_new_data_are_coded_with_the_categories_of_the_fit(frame: object) -> None:
    model = QuantileRegression.from_formula("breaks ~ wool * tension", frame)
    # One category alone, without the response, in another order of columns.
    assert model.predict({"tension": ["H", "L"], "wool": ["B", "B"]}) == pytest.approx([17.0, 29.0])
    assert model.score(frame, BREAKS) == pytest.approx(
        QuantileRegression().fit(*_dummies()).score(*_dummies())
    )


def _dummies() -> tuple[np.ndarray, np.ndarray]:
    b, m, h = (np.asarray(one, dtype=float) for one in (WOOL == "B", TENSION == "M", TENSION == "H"))
    return np.column_stack([b, m, h, b * m, b * h]), BREAKS


def test_numbers_become_categories_and_are_transformed() -> None:
    random = np.random.default_rng(1)
    data = {"threads": random.choice([1, 2, 4], 300), "size": random.exponential(1.0, 300)}
    data["latency"] = np.exp(1.0 + data["size"] + 0.5 * (data["threads"] == 4) + random.normal(0.0, 0.1, 300))
    model = QuantileRegression.from_formula("log(latency) ~ C(threads) + size", data, 0.9)
    names = ["(Intercept)", "C(threads)[T.2]", "C(threads)[T.4]", "size"]
    assert [one.name for one in model.coefficients_] == names
    assert model.coef_ == pytest.approx([0.0, 0.5, 1.0], abs=0.1)
    without = QuantileRegression.from_formula("log(latency) ~ 0 + C(threads) + size", data, 0.9)
    assert without.objective_ == pytest.approx(model.objective_)
    assert without.intercept_ == 0.0
    assert without.feature_names_in_[:3] == ["C(threads)[1]", "C(threads)[2]", "C(threads)[4]"]


@each_row("frame", [pd.DataFrame, pl.DataFrame, dict])
def test_clusters_and_weights_may_be_columns(frame: type) -> None:
    random = np.random.default_rng(2)
    run = np.repeat(np.arange(12), 20)
    data = {"run": run, "w": random.integers(1, 4, 240), "x": random.normal(size=240)}
    data["y"] = data["x"] + random.normal(size=240)
    named = QuantileRegression.from_formula("y ~ x", frame(data), 0.5, sample_weight="w", clusters="run")
    plain = QuantileRegression(0.5).fit(data["x"][:, None], data["y"], data["w"], run)
    assert named.coefficients_[1].error == pytest.approx(plain.coefficients_[1].error)
    with raises(ArgumentError, "unknown-name", name="runs"):
        QuantileRegression.from_formula("y ~ x", frame(data), clusters="runs")


@each_row(
    ("formula", "argument"),
    [
        ("breaks ~ wool *", "formula"),  # not a formula
        ("breaks ~ wood", "formula"),  # no such column
        ("~ wool", "formula"),  # no response
        ("wool ~ tension", "formula"),  # not a number
        ("breaks ~ wool | tension", "formula"),  # two right sides
    ],
)
def test_formulas_that_do_not_fit_the_data_are_refused(formula: str, argument: str) -> None:
    with raises(ArgumentError, "bad-argument", argument=argument, value=formula):
        QuantileRegression.from_formula(formula, PANDAS)


def test_missing_values_and_unknown_categories_are_refused() -> None:
    """Nothing is dropped in silence, and no unknown category is taken for the first one."""
    missing = PANDAS.assign(wool=[None, *WOOL[1:]])
    with raises(ArgumentError, "bad-argument", argument="formula"):
        QuantileRegression.from_formula("breaks ~ wool", missing)
    model = QuantileRegression.from_formula("breaks ~ wool", PANDAS)
    with raises(ArgumentError, "bad-argument", argument="X"):
        model.predict({"wool": ["A", "C"]})
    with raises(ArgumentError, "bad-argument", argument="X"):
        model.predict({"tension": ["H"]})
    with raises(ArgumentError, "bad-argument", argument="data"):
        QuantileRegression.from_formula("y ~ x", np.ones((3, 2)))


def test_a_fit_to_arrays_forgets_the_formula() -> None:
    model = QuantileRegression.from_formula("breaks ~ wool", PANDAS).fit(BREAKS[:, None], BREAKS)
    assert model.terms_ == {"x0": ("x0",)}
    assert model.predict([[20.0]]) == pytest.approx([20.0])


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with raises(UsageError, "missing-library", name="formulaic"):
        QuantileRegression.from_formula("breaks ~ wool", PANDAS)
