"""p-values by randomisation are exact under the null for any law, and as powerful as Student's where that holds."""

import numpy as np
import pytest
from messages import raises

from hindmost.errors import ArgumentError
from hindmost.stats import Factorial, coefficient_ps, fit_runs, randomisation_p, screen_factors

DESIGN = Factorial(["a", "b"])


def bimodal(random: np.random.Generator, size: int) -> np.ndarray:
    return 100.0 * (1.0 + 0.2 * (random.random(size) < 0.3)) * random.lognormal(0.0, 0.02, size)


def test_the_null_is_rejected_at_its_level_for_runs_of_two_states() -> None:
    """Five blocks that differ far more than runs, where Student's interval does not apply."""
    random = np.random.default_rng(1)
    tries, alarms = 100, 0
    blocks = {cell: range(5) for cell in DESIGN.cells}
    for seed in range(tries):
        drift = random.normal(0.0, 100.0, 5)
        runs = {cell: drift + 40.0 * cell[1] + bimodal(random, 5) for cell in DESIGN.cells}
        alarms += randomisation_p(runs, 0, blocks, draws=199, seed=seed) <= 0.05
    assert alarms <= 13  # of 100 at 5 %: more in one seed of 1,000. Ties make it less.


def test_an_effect_is_found_through_the_drift_of_blocks() -> None:
    random = np.random.default_rng(2)
    drift = random.normal(0.0, 100.0, 8)
    runs = {cell: drift + 10.0 * cell[0] + random.normal(0.0, 3.0, 8) for cell in DESIGN.cells}
    blocks = {cell: range(8) for cell in DESIGN.cells}
    assert randomisation_p(runs, 0, blocks) < 0.005
    assert randomisation_p(runs, 1, blocks) > 0.05
    ps = {c.name: p for c, p in coefficient_ps(fit_runs(runs, DESIGN, blocks=blocks))}
    assert ps["a"] < 0.005
    assert min(ps["b"], ps["a:b"]) > 0.05


def test_small_samples_give_the_share_of_all_permutations() -> None:
    """Three runs against three without overlap: 2 of 20 permutations are as far apart."""
    runs = {(0,): [1.0, 2.0, 3.0], (1,): [11.0, 12.0, 13.0]}
    assert randomisation_p(runs, 0, draws=20_000) == pytest.approx(0.1, abs=0.01)


def test_p_values_of_a_coefficient_are_uniform_under_the_null() -> None:
    random = np.random.default_rng(3)
    ps = []
    for seed in range(60):
        runs = {cell: 50.0 * cell[0] + bimodal(random, 6) for cell in DESIGN.cells}
        fit = fit_runs(runs, DESIGN)
        ps += [p for c, p in coefficient_ps(fit, draws=199, seed=seed) if c.name != "a"]
    # 120 p-values, two per study: three standard errors of a share.
    assert np.mean(np.array(ps) <= 0.05) == pytest.approx(0.05, abs=0.06)
    assert np.mean(np.array(ps) <= 0.5) == pytest.approx(0.5, abs=0.137)


def test_a_plackett_burman_screening_finds_the_real_factor() -> None:
    """Twelve runs of 11 suspects, twice (fold-over), one of them real, with one run per cell."""
    first = np.array([1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0])
    rows = [np.roll(first, shift) for shift in range(11)] + [np.zeros(11, dtype=int)]
    cells = [tuple(int(v) for v in row) for row in rows]
    cells += [tuple(1 - v for v in cell) for cell in cells]
    names = [f"f{i}" for i in range(11)]
    random = np.random.default_rng(4)
    runs = {cell: [100.0 + 12.0 * cell[3] + random.normal(0.0, 4.0)] for cell in cells}
    suspects = screen_factors(fit_runs(runs, Factorial(names, terms=[(name,) for name in names])))
    assert suspects[0].column.name == "f3"
    assert suspects[0].q < 0.05
    assert suspects[0].value == pytest.approx(12.0, abs=5.0)
    assert sum(suspect.q < 0.05 for suspect in suspects) <= 2


def test_twenty_suspects_with_random_settings_need_no_grid_of_a_million_cells() -> None:
    random = np.random.default_rng(5)
    names = [f"f{i}" for i in range(20)]
    cells = [tuple(row) for row in random.integers(0, 2, (60, 20)).tolist()]
    runs = {cell: [100.0 + 9.0 * cell[7] - 9.0 * cell[12] + random.normal(0.0, 3.0)] for cell in cells}
    fit = fit_runs(runs, Factorial(names, terms=[(name,) for name in names]))
    assert {suspect.column.name for suspect in screen_factors(fit)[:2]} == {"f7", "f12"}
    assert len(fit.predicted()) == len(runs)


def test_a_factor_that_never_changes_alone_is_refused() -> None:
    with raises(ArgumentError, "bad-argument", argument="factor", value=0):
        randomisation_p({(0, 0): [1.0, 2.0], (1, 1): [3.0, 4.0]}, 0)
