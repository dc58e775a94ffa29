"""Screening, chosen cells, precision and budgets, against published properties and exhaustive search."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from messages import raises
from rows import each_row

from hindmost.commands.attribute.design import (
    Factor,
    choose,
    cost,
    fraction,
    full,
    offer,
    precision,
    random_settings,
    runs_within,
    screening,
    subset,
)
from hindmost.commands.attribute.design.aliasing import alias_matrix
from hindmost.commands.attribute.design.coding import model_matrix
from hindmost.commands.attribute.design.estimable import estimable
from hindmost.commands.attribute.design.factors import all_terms
from hindmost.commands.attribute.design.screening import plackett_burman
from hindmost.commands.attribute.design.subset import exchange, log_volume
from hindmost.errors import UsageError


def two_level(count: int) -> list[Factor]:
    return [Factor(chr(ord("a") + i), ("low", "high")) for i in range(count)]


THREE_LEVELS = [Factor(name, ("1", "2", "4")) for name in ("threads", "queues", "clients")]


@each_row("size", [8, 12, 16, 20, 24])
def test_plackett_burman_arrays_are_orthogonal_and_balanced(size: int) -> None:
    signs = 2 * np.array(plackett_burman(size, size - 1)) - 1
    assert (signs.T @ signs == size * np.eye(size - 1)).all()
    assert (signs.sum(axis=0) == 0).all()


@each_row("size", [12, 20, 24])
def test_any_three_factors_have_all_their_combinations(size: int) -> None:
    """Projection property (Box & Tyssedal 1996); the regular arrays of 8 and 16 do not have it."""
    cells = np.array(plackett_burman(size, size - 1))
    for three in itertools.combinations(range(size - 1), 3):
        assert len({tuple(cell) for cell in cells[:, three]}) == 8


@each_row("size", [8, 12, 20, 24])
def test_first_rows_are_the_quadratic_residues_of_paley(size: int) -> None:
    """An independent construction (Paley 1933) where size - 1 is prime: high at 0 and at the squares."""
    prime = size - 1
    squares = {i * i % prime for i in range(prime)}
    assert plackett_burman(size, prime)[0] == tuple(int(i in squares) for i in range(prime))


@pytest.mark.parametrize("size", [8, 12, 16, 20])
def test_the_array_equals_that_of_pydoe_up_to_names_and_order(size: int) -> None:
    """Equivalent arrays have equal profiles of |sum over runs of any three columns' product|.

    For 24 runs pyDOE3 doubles its array of 12: a different array without the projection property.
    """
    pydoe = pytest.importorskip("pyDOE3", reason="pyDOE3 is not installed: make setup")

    def profile(signs):
        three = itertools.combinations(range(signs.shape[1]), 3)
        return sorted(abs(int(np.prod(signs[:, c], axis=1).sum())) for c in three)

    signs = 2 * np.array(plackett_burman(size, size - 1)) - 1
    assert profile(signs) == profile(pydoe.pbdesign(size - 1))


def test_interactions_reach_main_effects_in_thirds_without_fold_over() -> None:
    design = screening(two_level(11), fold=False)
    pairs = [term for term in all_terms(design.factors, 2) if len(term) == 2]
    shares = alias_matrix(design.factors, design.cells, design.terms, pairs)
    for i, term in enumerate(design.terms[1:], 1):
        for j, pair in enumerate(pairs):
            assert abs(shares[i, j]) == pytest.approx(0.0 if term[0] in pair else 1 / 3)


@each_row("count", [5, 7, 8, 11, 12, 15, 16, 19, 20, 23])
def test_fold_over_clears_main_effects_of_interactions(count: int) -> None:
    design = screening(two_level(count))
    assert len(design.cells) == len(set(design.cells))
    assert design.resolution == 4
    pairs = [term for term in all_terms(design.factors, 2) if len(term) == 2]
    shares = alias_matrix(design.factors, design.cells, design.terms, pairs)
    assert np.abs(shares[1:]).max() < 1e-12
    assert (0,) * count in design.cells


def test_exchange_finds_the_half_fraction() -> None:
    """The 2^(5-1) of resolution V has the largest determinant of all 16 cells: its columns are orthogonal."""
    best = fraction(two_level(5), 5)
    result = subset(two_level(5), cells=16)
    assert log_volume(result.matrix("average")) == pytest.approx(log_volume(best.matrix("average")))


def test_exchange_finds_the_best_subset() -> None:
    factors = [Factor("a", ("1", "2", "3")), Factor("b", ("1", "2", "3"))]
    cells = full(factors).cells
    matrix = model_matrix(factors, cells, all_terms(factors, 1))
    by_force = max(log_volume(matrix[list(rows)]) for rows in itertools.combinations(range(9), 6))
    assert log_volume(matrix[exchange(matrix, 6)]) == pytest.approx(by_force)


def test_chosen_cells_avoid_forbidden_ones_and_support_their_model() -> None:
    forbidden = [{"turbo": "on", "governor": "save"}, {"threads": "4", "governor": "fast", "turbo": "off"}]
    factors = [
        Factor("turbo", ("off", "on")),
        Factor("governor", ("save", "fast")),
        Factor("threads", ("1", "2", "4")),
        *two_level(3),
    ]
    design = choose(factors, forbidden=forbidden)
    assert design.kind == "subset"
    for cell in design.cells:
        setting = design.setting(cell)
        assert not any(all(setting[k] == v for k, v in excluded.items()) for excluded in forbidden)
    assert np.linalg.matrix_rank(design.matrix()) == len(design.columns) < len(design.cells)
    assert ("turbo", "governor") in design.unknown
    assert ("turbo", "governor") in design.aliases[("turbo",)]
    assert len(set(design.cells)) == len(design.cells)


def test_the_choice_is_deterministic() -> None:
    assert subset(THREE_LEVELS).cells == subset(THREE_LEVELS).cells


def test_confounded_terms_are_not_estimated() -> None:
    factors = two_level(3)
    cells = fraction(factors, 3).cells
    result = estimable(factors, cells, all_terms(factors, 2))
    assert result.terms == ((), ("a",), ("b",), ("c",))
    assert set(result.unknown) == {("a", "b"), ("a", "c"), ("b", "c")}
    few = estimable(factors, cells[:1], all_terms(factors, 1))
    assert set(few.unknown) == {("a",), ("b",), ("c",)}


def test_screening_of_more_levels_or_with_forbidden_cells_chooses_cells() -> None:
    design = choose(THREE_LEVELS, kind="screening")
    assert (design.kind, len(design.columns), len(design.cells)) == ("screening", 7, 9)
    assert design.caveats


@each_row("seed", range(5))
def test_random_settings_are_balanced_distinct_and_of_full_rank(seed: int) -> None:
    factors = [*two_level(8), *THREE_LEVELS]
    design = random_settings(factors, 36, seed)
    assert len(set(design.cells)) == 36
    for place, factor in enumerate(factors):
        counts = np.bincount([cell[place] for cell in design.cells])
        assert (counts == 36 / len(factor.levels)).all()
    assert np.linalg.matrix_rank(design.matrix()) == 15
    assert (
        design.cells
        == random_settings(factors, 36, seed).cells
        != random_settings(factors, 36, seed + 1).cells
    )


def test_random_settings_have_the_expected_error() -> None:
    """Against an orthogonal design of as many runs: sqrt(n / (n - p)), here of 24 runs and 12 coefficients."""
    best = precision(screening(two_level(11)), 1_000)[("a",)].half_width
    result = [precision(random_settings(two_level(11), 24, seed), 1_000) for seed in range(20)]
    mean = np.mean([widths[(name,)].half_width for widths in result for name in "abcdefghijk"])
    assert mean / best == pytest.approx(math.sqrt(24 / (24 - 12)), rel=0.1)


def test_too_many_factors_for_arrays_get_random_settings() -> None:
    many = [Factor(f"suspect {i}", ("off", "on")) for i in range(40)]
    assert (choose(many).kind, len(choose(many).cells)) == ("screening", 82)
    assert choose(many, kind="screening").cells == choose(many).cells
    mixed = [Factor(f"suspect {i}", ("1", "2", "4")) for i in range(12)]
    assert (choose(mixed).kind, len(choose(mixed).cells)) == ("screening", 50)


def test_precision_agrees_with_textbooks() -> None:
    """Average effects: 2 sd / sqrt(runs). Corner effects: sqrt(2) sd / sqrt(blocks), and 2^(k/2) for k factors."""
    design = full(two_level(4))
    wide = precision(design, 5_000, 0.05)
    assert wide[("a",)].half_width == pytest.approx(1.96 * 0.05 * 2 / math.sqrt(16 * 5_000), rel=1e-3)
    assert wide[("a", "b")].half_width == pytest.approx(wide[("a",)].half_width)
    corner = precision(design, 5_000, 0.05, coding="corner")
    for order in (1, 2, 3, 4):
        expected = 1.96 * 0.05 * 2 ** (order / 2) / math.sqrt(5_000)
        assert corner[tuple("abcd"[:order])].half_width == pytest.approx(expected, rel=1e-3)
    assert precision(design, 1)[("a",)].half_width == math.inf
    assert precision(screening(two_level(8)), 1)[("a",)].half_width < math.inf


def test_the_richest_design_within_the_budget_is_offered() -> None:
    eight = two_level(8)
    kinds = [
        (offer(eight, runs).design.kind, len(offer(eight, runs).design.cells))
        for runs in (1300, 1200, 330, 320, 90, 80, 40)
    ]
    assert kinds == [
        ("full", 256),
        ("fraction", 64),
        ("fraction", 64),
        ("fraction", 16),
        ("fraction", 16),
        ("screening", 12),
        ("screening", 12),
    ]
    for runs in (1300, 200, 40):
        proposal = offer(eight, runs, loads=1)
        assert proposal.runs == cost(proposal.design, proposal.blocks, 1.0).runs <= runs
        assert proposal.blocks == 30 or proposal.runs + len(proposal.design.cells) + 1 > runs


def test_a_remaining_budget_adds_blocks_up_to_thirty() -> None:
    proposal = offer(two_level(2), 10_000)
    assert (proposal.design.kind, proposal.blocks, proposal.runs) == ("full", 30, 150)
    assert offer(two_level(2), 10_000, blocks=40).blocks == 40


def test_too_small_a_budget_is_refused_with_the_minimum() -> None:
    with raises(UsageError, "too-few-runs", have=77, need=78, kind="screening", blocks=3, loads=2):
        offer(two_level(8), 77, loads=2)
    assert offer(two_level(8), 78, loads=2).runs == 78
    with raises(UsageError, "too-few-runs", need=85, kind="full"):
        offer(two_level(4), 84, kind="full")


def test_a_design_is_chosen_within_a_time() -> None:
    runs = runs_within(1800.0, 10.0, 2.0)
    assert runs == 150
    assert choose(two_level(4), most_runs=runs).kind == "full"
    assert choose(two_level(8), most_runs=runs).resolution == 4
    assert choose(two_level(20), most_runs=1_000).kind == "screening"


@each_row(
    ("build", "code", "fields"),
    [
        (lambda: screening(two_level(4)), "bad-value", {"value": 4, "least": 5, "most": 23}),
        (lambda: screening(THREE_LEVELS * 2), "duplicate-name", {"name": "threads"}),
        (lambda: screening([*two_level(5), *THREE_LEVELS]), "bad-value", {"name": "threads", "have": 3}),
        (lambda: subset(two_level(5), cells=15), "too-few-runs", {"have": 15, "need": 16}),
        (lambda: subset(two_level(14)), "design-too-large", {"cells": 16_384}),
        (lambda: precision(full(two_level(2)), 0), "bad-value", {"blocks": 0}),
        (lambda: runs_within(0.0, 1.0), "bad-value", {"budget_s": 0.0}),
        (lambda: screening([Factor(f"f{i}", ("0", "1")) for i in range(24)]), "bad-value", {"value": 24}),
        (lambda: random_settings(two_level(6), 7), "too-few-runs", {"have": 7, "need": 8}),
        (lambda: random_settings(two_level(4)), "bad-value", {"value": 10, "most": 8}),
    ],
)
def test_an_impossible_choice_is_refused(build, code: str, fields: dict[str, Any]) -> None:
    with raises(UsageError, code, **fields):
        build()
