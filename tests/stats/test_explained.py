"""Shares of variance with a known truth, and the paper's pseudo-R^2 computed by hand."""

import numpy as np
import pytest
from table_iv import DESIGN, cells_of_table_iv

from hindmost.stats import Factorial, explained_variance, fit_runs, pseudo_r2


def test_shares_equal_the_planted_ones() -> None:
    """Between cells, between runs, and sampling within runs: means over 60 studies."""
    random = np.random.default_rng(1)
    truth = cells_of_table_iv(0.99)
    between, runs_variance, inside = np.var(list(truth.values())), 15.0**2, 8.0**2
    total = between + runs_variance + inside
    shares = []
    for _ in range(60):
        runs = {cell: value + random.normal(0.0, np.hypot(15.0, 8.0), 6) for cell, value in truth.items()}
        result = explained_variance(fit_runs(runs, DESIGN), {cell: [inside] * 6 for cell in truth})
        assert result.cells + result.runs + result.sampling == pytest.approx(1.0)
        assert result.model == pytest.approx(result.cells)
        shares.append((result.cells, result.runs, result.sampling))
    planted = (between / total, runs_variance / total, inside / total)
    assert np.mean(shares, axis=0) == pytest.approx(planted, abs=0.03)


def test_a_model_without_interactions_explains_less_than_it_could() -> None:
    random = np.random.default_rng(2)
    truth = cells_of_table_iv(0.99)
    mains = Factorial(DESIGN.factors, terms=[(name,) for name in DESIGN.factors])
    grid = np.array(DESIGN.cells)
    effect = [
        np.mean([v for c, v in truth.items() if c[i]]) - np.mean([v for c, v in truth.items() if not c[i]])
        for i in range(4)
    ]
    mains_variance = np.var(grid @ np.array(effect))
    runs = {cell: value + random.normal(0.0, 10.0, 200) for cell, value in truth.items()}
    result = explained_variance(fit_runs(runs, mains))
    total = np.var(list(truth.values())) + 100.0
    assert result.cells == pytest.approx((total - 100.0) / total, abs=0.02)
    assert result.model == pytest.approx(mains_variance / total, abs=0.02)


def test_where_nothing_is_planted_nothing_is_explained() -> None:
    random = np.random.default_rng(3)
    cells = [
        explained_variance(fit_runs({c: random.normal(100, 5, 5) for c in DESIGN.cells}, DESIGN)).cells
        for _ in range(40)
    ]
    assert np.mean(cells) < 0.05  # a plain R^2 would be .19: 15 coefficients of 80 runs
    same = explained_variance(fit_runs({(0,): [5.0, 5.0], (1,): [5.0, 5.0]}, Factorial(["a"])))
    assert (same.cells, same.model, same.runs) == (None, None, None)


def test_pseudo_r2_is_equation_2() -> None:
    y, fitted, tau = np.array([10.0, 12, 14, 30, 31, 45]), np.array([12.0, 12, 12, 31, 31, 31]), 0.75
    constant = 31.0  # the fifth of six: 6 x 0.75 = 4.5

    def loss(errors: np.ndarray) -> float:
        return float(sum(abs(e) * (1 - tau if e < 0 else tau) for e in errors))

    assert pseudo_r2(y, fitted, tau) == pytest.approx(1 - loss(y - fitted) / loss(y - constant))
    assert pseudo_r2(y, np.full(6, constant), tau) == 0.0
    assert np.isnan(pseudo_r2(np.ones(4), np.ones(4), tau))
    twice = pseudo_r2(np.repeat(y, 2), np.repeat(fitted, 2), tau)
    assert pseudo_r2(y, fitted, tau, weights=np.full(6, 2.0)) == pytest.approx(twice)
