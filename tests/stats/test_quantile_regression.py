"""Published fits, and the errors that belong to them. Figures: R 4.2.2 with quantreg 5.94."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from hindmost.stats import QuantileRegression

ENGEL = np.loadtxt(Path(__file__).parent / "data" / "engel.csv", delimiter=",", skiprows=1)
"""Income and food expenditure of 235 Belgian households (Engel 1857; Koenker and Bassett 1982)."""


@pytest.mark.parametrize(
    ("tau", "intercept", "slope", "objective"),
    [
        (0.05, 124.8800408, 0.3433611, 2174.317315),
        (0.10, 110.1415742, 0.4017658, 3869.932161),
        (0.25, 95.4835396, 0.4741032, 7082.315899),
        (0.50, 81.4822474, 0.5601806, 8779.966324),
        (0.75, 62.3965855, 0.6440141, 6529.250284),
        (0.90, 67.3508721, 0.6862995, 3391.983711),
        (0.95, 64.1039632, 0.7090685, 1900.244225),
    ],
)
def test_engels_households_are_fitted_as_by_quantreg(tau, intercept, slope, objective) -> None:
    model = QuantileRegression(quantile=tau).fit(ENGEL[:, :1], ENGEL[:, 1])
    assert model.objective_ == pytest.approx(objective, rel=1e-9)
    assert model.intercept_ == pytest.approx(intercept, abs=1e-6)
    assert model.coef_[0] == pytest.approx(slope, abs=1e-7)


def test_errors_of_independent_samples_are_those_of_nid() -> None:
    model = QuantileRegression(quantile=0.5).fit(ENGEL[:, :1], ENGEL[:, 1])
    errors = [one.error for one in model.coefficients_]
    assert errors == pytest.approx([19.2506603, 0.0282772], rel=1e-5)


NPK = {
    (0, 0, 0): [46.8, 51.5, 56], (0, 0, 1): [45.5, 55, 55.5], (0, 1, 0): [44.2, 56, 62.8],
    (0, 1, 1): [48.8, 49.5, 53.2], (1, 0, 0): [59.8, 62, 69.5], (1, 0, 1): [49.8, 57, 57.2],
    (1, 1, 0): [52, 59, 62.8], (1, 1, 1): [48.8, 55.8, 58.5],
}  # fmt: skip
"""Yield of peas by nitrogen, phosphate, potassium: a real 2^3 factorial (R's npk)."""


def factorial(cells: dict, interactions: bool) -> tuple[np.ndarray, np.ndarray]:
    factors = len(next(iter(cells)))
    orders = range(1, factors + 1 if interactions else 2)
    terms = [term for order in orders for term in itertools.combinations(range(factors), order)]
    rows = [(levels, y) for levels, values in cells.items() for y in values]
    x = np.array([[float(all(levels[i] for i in term)) for term in terms] for levels, _ in rows])
    return x, np.array([y for _, y in rows])


def test_a_saturated_factorial_is_fitted_by_its_medians() -> None:
    model = QuantileRegression(quantile=0.5).fit(*factorial(NPK, interactions=True))
    assert [model.intercept_, *model.coef_] == pytest.approx([51.5, 10.5, 4.5, 3.5, -7.5, -8.5, -10, 11.8])


def test_main_effects_of_a_factorial() -> None:
    model = QuantileRegression(quantile=0.5).fit(*factorial(NPK, interactions=False))
    assert model.objective_ == pytest.approx(45.8)


def test_objectives_are_those_of_an_independent_exact_solver() -> None:
    """A linear programme of its own (HiGHS) for random designs, ties and weights."""
    from scipy.optimize import linprog

    random = np.random.default_rng(5)
    for case in range(60):
        n, p = int(random.integers(8, 60)), int(random.integers(1, 4))
        x = random.integers(0, 3, (n, p)).astype(float) if case % 2 else random.normal(size=(n, p))
        y = np.round(random.lognormal(3.0, 0.5, n), int(random.integers(-1, 3)))
        weight = random.integers(1, 4, n).astype(float)
        tau = float(random.uniform(0.05, 0.95))
        design = np.column_stack([np.ones(n), x])
        if np.linalg.matrix_rank(design) < p + 1:
            continue
        found = QuantileRegression(quantile=tau).fit(x, y, sample_weight=weight)
        cost = np.concatenate([np.zeros(p + 1), tau * weight, (1 - tau) * weight])
        sums = np.hstack([design, np.eye(n), -np.eye(n)])
        bounds = [(None, None)] * (p + 1) + [(0, None)] * (2 * n)
        oracle = linprog(cost, A_eq=sums, b_eq=y, bounds=bounds, method="highs")
        assert found.objective_ == pytest.approx(oracle.fun, rel=1e-9, abs=1e-9), (case, tau)


def test_errors_that_know_of_runs_cover_and_others_do_not() -> None:
    """Runs that differ by 5 %: nominal 95 % intervals of a difference of medians that is 0."""
    random = np.random.default_rng(3)
    covered = {"clusters": 0, "naive": 0}
    tries, runs, each = 300, 10, 400
    run = np.repeat(np.arange(2 * runs), each)
    x = (run >= runs).astype(float)[:, None]
    for _ in range(tries):
        shift = random.normal(0.0, 0.05, 2 * runs)[run]
        y = np.exp(4.0 + shift + random.normal(0.0, 0.2, run.size))
        for name, clusters in (("clusters", run), ("naive", None)):
            effect = QuantileRegression(quantile=0.5).fit(x, y, clusters=clusters).coefficients_[1]
            covered[name] += effect.low <= 0.0 <= effect.high
    # The standard error of a share of .95 over 300 is .0126; three of them.
    assert covered["clusters"] / tries > 0.95 - 0.038
    assert covered["naive"] / tries < 0.75


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        ([[1.0], [float("nan")]], [1.0, 2.0], r"X\[1, 0\] is nan"),
        ([[1.0], [2.0]], [1.0, float("inf")], "sample 1 is inf"),
        ([[1.0], [2.0]], [1.0], r"y must have shape \(2,\)"),
        ([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]], [1.0, 2.0, 3.0], "rank 2"),
    ],
)
def test_what_cannot_be_fitted_is_refused(x, y, words) -> None:
    with pytest.raises(ValueError, match=words):
        QuantileRegression().fit(np.array(x), y)
