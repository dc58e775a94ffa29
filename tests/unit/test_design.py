"""Cells, terms and fractions against published tables; impossible designs are refused."""

from __future__ import annotations

import itertools
from collections import Counter
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
    regular,
    schedule,
)
from hindmost.commands.attribute.design.generators import best_generators, span, word_lengths
from hindmost.errors import UsageError
from hindmost.stats import Factorial


def two_level(count: int) -> list[Factor]:
    return [Factor(chr(ord("a") + i), ("low", "high")) for i in range(count)]


MIXED = [Factor("thp", ("madvise", "always")), Factor("threads", ("1", "2", "4")), Factor("cpu", ("0", "1"))]


def test_full_factorial_has_every_cell_once_and_every_interaction() -> None:
    design = full(MIXED)
    assert len(design.cells) == len(set(design.cells)) == 12
    assert len(design.terms) == 8
    assert len(design.columns) == 12
    assert np.linalg.matrix_rank(design.matrix()) == 12
    assert not any(design.aliases.values())


@pytest.mark.parametrize("coding", ["corner", "average"])
@pytest.mark.parametrize("factors", [two_level(4), MIXED], ids=["two levels", "mixed"])
def test_columns_agree_with_the_statistics(coding: str, factors: list[Factor]) -> None:
    """Cells, terms and coefficients agree in `design` and `stats`."""
    statistics_design = Factorial({factor.name: len(factor.levels) for factor in factors})
    design = full(factors)
    assert design.cells == statistics_design.cells
    assert design.terms == statistics_design.terms
    assert [(c.term, c.levels) for c in design.columns] == [
        (c.term, c.levels) for c in statistics_design.columns
    ]
    assert np.allclose(design.matrix(coding), statistics_design.matrix(statistics_design.cells, coding))


def test_average_coefficient_of_a_level_is_its_mean_difference_from_the_first() -> None:
    design = full(MIXED)
    values = {cell: float(i * i) for i, cell in enumerate(design.cells)}
    coefficients = np.linalg.solve(design.matrix("average"), [values[cell] for cell in design.cells])
    for column, coefficient in zip(design.columns, coefficients, strict=True):
        if column.term == ("threads",):
            means = [
                np.mean([v for cell, v in values.items() if cell[1] == level])
                for level in (0, column.levels[0])
            ]
            assert coefficient == pytest.approx(means[1] - means[0])


@each_row(
    ("factors", "cells", "pattern"),
    [  # numbers of words of length 3, 4, ...: Chen, Sun & Wu 1993; Box, Hunter & Hunter, table 12.15
        (3, 4, (1,)),
        (4, 8, (0, 1)),
        (5, 16, (0, 0, 1)),
        (5, 8, (2, 1, 0)),
        (6, 32, (0, 0, 0, 1)),
        (6, 16, (0, 3, 0, 0)),
        (6, 8, (4, 3, 0, 0)),
        (7, 32, (0, 1, 2, 0, 0)),
        (7, 16, (0, 7, 0, 0, 0)),
        (7, 8, (7, 7, 0, 0, 1)),
        (8, 64, (0, 0, 2, 1, 0, 0)),
        (8, 32, (0, 3, 4, 0, 0, 0)),
        (8, 16, (0, 14, 0, 0, 0, 1)),
        (9, 128, (0, 0, 0, 3, 0, 0, 0)),
        (9, 64, (0, 1, 4, 2, 0, 0, 0)),
        (9, 32, (0, 6, 8, 0, 0, 1, 0)),
        (9, 16, (4, 14, 8, 0, 4, 1, 0)),
        (10, 128, (0, 0, 3, 3, 1, 0, 0, 0)),
        (10, 64, (0, 2, 8, 4, 0, 1, 0, 0)),
        (10, 32, (0, 10, 16, 0, 0, 5, 0, 0)),
        (11, 128, (0, 0, 6, 6, 2, 1, 0, 0, 0)),
        (11, 32, (0, 25, 0, 27, 0, 10, 0, 1, 0)),
        (15, 16, (35, 105, 168, 280, 435, 435, 280, 168, 105, 35, 0, 0, 1)),
    ],
)
def test_fractions_have_the_published_minimum_aberration(
    factors: int, cells: int, pattern: tuple[int, ...]
) -> None:
    generators = best_generators(factors, cells.bit_length() - 1, 3)
    assert generators is not None
    assert word_lengths(span(generators), factors) == pattern


@each_row(
    ("factors", "resolution", "cells", "reached"),
    [
        (3, 3, 4, 3),
        (4, 4, 8, 4),
        (5, 3, 8, 3),
        (5, 5, 16, 5),
        (6, 4, 16, 4),
        (6, 5, 32, 6),
        (7, 3, 8, 3),
        (7, 4, 16, 4),
        (7, 5, 64, 7),
        (8, 4, 16, 4),
        (8, 5, 64, 5),
        (9, 4, 32, 4),
        (10, 5, 128, 5),
        (11, 5, 128, 5),
        (16, 4, 32, 4),
    ],
)
def test_smallest_fraction_of_a_resolution(factors: int, resolution: int, cells: int, reached: int) -> None:
    design = fraction(two_level(factors), resolution)
    assert (design.kind, len(design.cells), design.resolution) == ("fraction", cells, reached)
    assert (0,) * factors in design.cells


@each_row(("factors", "resolution"), [(3, 4), (4, 5), (1, 3), (2, 3)])
def test_without_a_smaller_fraction_the_full_factorial_is_run(factors: int, resolution: int) -> None:
    assert fraction(two_level(factors), resolution).kind == "full"


def test_words_and_alias_sets_of_the_half_fraction_of_five() -> None:
    design = fraction(two_level(5), 5)
    assert design.words == (tuple("abcde"),)
    assert design.aliases[("a",)] == (tuple("bcde"),)
    assert design.aliases[("b", "d")] == (tuple("ace"),)
    assert len(design.terms) == 16
    assert not design.caveats


def test_alias_sets_of_the_quarter_fraction_of_six() -> None:
    """BHH table 12.15: E = ABC, F = BCD give I = ABCE = BCDF = ADEF, so three words of length four."""
    design = fraction(two_level(6), 4)
    assert [len(word) for word in design.words] == [4, 4, 4]
    pairs = [term for term in design.terms if len(term) == 2]
    assert len(pairs) == 7  # 15 interactions in 7 alias sets
    assert sum(1 + sum(len(a) == 2 for a in design.aliases[p]) for p in pairs) == 15
    assert design.caveats


@each_row("design", [fraction(two_level(k), r) for k, r in [(4, 4), (5, 3), (6, 4), (7, 3), (8, 5), (9, 4)]])
def test_aliased_columns_are_equal_but_for_sign_and_others_are_orthogonal(design) -> None:
    signs = 2.0 * np.array(design.cells) - 1.0
    place = {factor.name: i for i, factor in enumerate(design.factors)}

    def column(term):
        return np.prod(signs[:, [place[name] for name in term]], axis=1)

    n = len(design.cells)
    for term in design.terms:
        for alias in design.aliases[term]:
            assert abs(column(term) @ column(alias)) == n
    for first, second in itertools.combinations(design.terms, 2):
        assert column(first) @ column(second) == 0
    for word in design.words:
        assert set(column(word)) == {(-1.0) ** len(word)}  # all-low is in the fraction


def test_given_generators_make_their_fraction() -> None:
    design = regular(two_level(5), [0b01011, 0b10101])  # d = ab, e = ac
    assert design.resolution == 3
    assert design.words == (("a", "b", "d"), ("a", "c", "e"), ("b", "c", "d", "e"))
    assert design.aliases[("a",)] == (("b", "d"), ("c", "e"))


@pytest.mark.parametrize("factors", range(3, 9))
@pytest.mark.parametrize("resolution", [3, 4, 5])
def test_fractions_and_aliases_agree_with_pydoe(factors: int, resolution: int) -> None:
    pydoe = pytest.importorskip("pyDOE3", reason="pyDOE3 is not installed: make setup")
    design = fraction(two_level(factors), resolution)
    if design.kind == "full":
        return
    base = factors - (len(design.words) + 1).bit_length() + 1
    generators = []
    for j in range(base, factors):
        other_generated = {factor.name for factor in design.factors[base:]} - {design.factors[j].name}
        (word,) = [w for w in design.words if design.factors[j].name in w and not other_generated & set(w)]
        free = "".join(name for name in word if name != design.factors[j].name)
        generators.append(("-" if len(word) % 2 else "") + free)
    letters = "abcdefgh"[:base]
    statistics_design = pydoe.fracfact(" ".join([*letters, *generators]))
    assert {tuple(row) for row in statistics_design.astype(int)} == {
        tuple(2 * level - 1 for level in cell) for cell in design.cells
    }
    # pyDOE3 finds no aliases of opposite sign. Use the fraction with plus signs, which has the same alias sets.
    sets, _ = pydoe.fracfact_aliasing(
        pydoe.fracfact(" ".join([*letters, *(g.strip("-") for g in generators)]))
    )
    by_member = {}
    for line in sets:
        members = [frozenset(member) for member in line.split(" = ")]
        by_member |= {member: set(members) for member in members}
    for term in design.terms[1:]:
        expected = {m for m in by_member[frozenset(term)] if len(m) <= 4} - {frozenset(term)}
        assert {frozenset(alias) for alias in design.aliases[term]} == expected


@each_row(
    ("build", "code", "fields"),
    [
        (lambda: Factor("a", ("x",)), "bad-value", {"name": "a", "have": 1, "need": 2}),
        (lambda: Factor("a", ("x", "x")), "duplicate-name", {"name": "a"}),
        (lambda: Factor("a:b", ("x", "y")), "bad-value", {"value": "a:b"}),
        (lambda: full([]), "missing-argument", {"key": "factors"}),
        (lambda: full([*two_level(2), Factor("a", ("x", "y"))]), "duplicate-name", {"name": "a"}),
        (lambda: full(two_level(11)), "design-too-large", {"cells": 2048}),
        (lambda: full(two_level(2), [{"z": "low"}]), "unknown-name", {"name": "z", "known": ["a", "b"]}),
        (lambda: full(two_level(2), [{"a": "up"}]), "unknown-name", {"key": "a", "name": "up"}),
        (lambda: full(two_level(2), [{}]), "bad-value", {"key": "forbidden"}),
        (lambda: full(two_level(2), [{"a": "high"}]), "unused-level", {"name": "a", "value": "high"}),
        (lambda: fraction(MIXED), "bad-value", {"name": "threads", "have": 3, "need": 2}),
        (lambda: fraction(two_level(12), 5), "design-too-large", {"factors": 12, "limit": 11}),
        (lambda: fraction(two_level(5), 6), "bad-value", {"key": "resolution", "value": 6}),
        (lambda: choose(two_level(2), kind="half"), "unknown-name", {"key": "kind", "name": "half"}),
        (lambda: regular(two_level(5), [0b11011, 0b10101]), "bad-value", {"key": "generators[0]"}),
        (lambda: cost(full(two_level(2)), 0, 1.0), "bad-value", {"blocks": 0}),
        (lambda: cost(full(two_level(2)), 1, 0.0), "bad-value", {"seconds_per_run": 0.0}),
        (lambda: schedule(full(two_level(2)), 1, 1, (0, 2)), "bad-value", {"key": "control"}),
        (lambda: schedule(full(two_level(2)), -1, 1), "bad-value", {"blocks": -1}),
    ],
)
def test_an_impossible_design_is_refused(build, code: str, fields: dict[str, Any]) -> None:
    with raises(UsageError, code, **fields):
        build()


def test_forbidden_cells_are_left_out_and_unknown_interactions_are_listed() -> None:
    design = full(two_level(3), [{"a": "high", "b": "low"}])
    assert len(design.cells) == 6
    assert not any(cell[:2] == (1, 0) for cell in design.cells)
    assert set(design.unknown) == {("a", "b"), ("a", "b", "c")}
    assert np.linalg.matrix_rank(design.matrix()) == len(design.terms) == 6
    assert ("a", "b") in design.aliases[("a",)]


def test_a_block_has_every_cell_once_and_a_marked_control() -> None:
    design = full(two_level(3))
    planned = schedule(design, 4, seed=5)
    assert len(planned) == 4 * 9
    for block in range(4):
        block_runs = [run for run in planned if run.block == block]
        assert [run.position for run in block_runs] == list(range(9))
        assert Counter(t.cell for t in block_runs if not t.is_control) == Counter(design.cells)
        assert [t.cell for t in block_runs if t.is_control] == [(0, 0, 0)]


def test_more_blocks_do_not_change_earlier_ones() -> None:
    design = fraction(two_level(5))
    assert schedule(design, 9, seed=2)[: 3 * 17] == schedule(design, 3, seed=2)
    assert schedule(design, 9, seed=2)[3 * 17 :] == schedule(design, 6, seed=2, first_block=3)
    assert schedule(design, 3, seed=2) != schedule(design, 3, seed=3)


def test_the_order_of_a_block_is_stable_across_versions() -> None:
    order = [run.cell for run in schedule(full(two_level(2)), 2, seed=1, controls=0)]
    assert order == [(0, 1), (1, 0), (0, 0), (1, 1), (1, 1), (1, 0), (0, 0), (0, 1)]


def test_a_block_keeps_the_level_of_a_factor_that_is_hard_to_change() -> None:
    hard = [Factor("a", ("low", "high")), Factor("b", ("1", "2", "3"), change_s=40.0), *two_level(4)[2:]]
    design = full(hard)
    planned = schedule(design, 60, seed=4)
    plots = [
        [level for level, _ in itertools.groupby(run.cell[1] for run in planned if run.block == b)]
        for b in range(60)
    ]
    assert {tuple(sorted(levels)) for levels in plots} == {(0, 1, 2)}, "three whole plots in each block"
    assert len({tuple(levels) for levels in plots}) == 6, "in every order"
    within = {tuple(run.cell for run in planned if run.block == b and run.cell[1] == 2) for b in range(60)}
    assert len(within) > 50, "runs within a whole plot are in random order"
    for b in range(60):
        block_runs = [run for run in planned if run.block == b]
        assert [run.position for run in block_runs] == list(range(25))
        assert Counter(t.cell for t in block_runs if not t.is_control) == Counter(design.cells)
    assert (design.hard_to_change, design.whole_plots, design.change_s) == (("b",), 3, 120.0)
    assert schedule(design, 9, seed=2)[3 * 25 :] == schedule(design, 6, seed=2, first_block=3)


def test_changes_of_a_hard_factor_cost_time_and_blocks() -> None:
    easy, hard = full(two_level(3)), full([Factor("a", ("low", "high"), change_s=30.0), *two_level(3)[1:]])
    assert cost(hard, 10, 2.0, loads=2).seconds - cost(easy, 10, 2.0, loads=2).seconds == 10 * 2 * 30.0
    offers = [offer(design.factors, 400, run_s=2.0) for design in (easy, hard)]
    assert [one.blocks for one in offers] == [30, 400 // (9 + 30)]


def test_the_control_can_be_first_last_or_absent() -> None:
    design = full(two_level(2))
    for where, place in (("first", 0), ("last", 4)):
        planned = schedule(design, 5, 1, (1, 1), control_at=where)
        assert {run.position for run in planned if run.is_control} == {place}
        assert {run.cell for run in planned if run.is_control} == {(1, 1)}
    assert not any(run.is_control for run in schedule(design, 5, 1, controls=0))


def test_the_control_is_not_a_forbidden_cell() -> None:
    design = full(two_level(2), [{"a": "low", "b": "low"}])
    assert design.control == (0, 1)
    with raises(UsageError, "forbidden-control", value={"a": "low", "b": "low"}):
        schedule(design, 1, 1, (0, 0))


def test_every_order_of_a_block_is_equally_likely() -> None:
    """720 blocks of 3! orders: chi-square of 5 degrees stays below 20.5 in all but one of 1,000 seeds."""
    design = full([Factor("n", ("1", "2", "3"))])
    planned = schedule(design, 720, seed=11, controls=0)
    orders = Counter(tuple(t.cell for t in planned[3 * b : 3 * b + 3]) for b in range(720))
    assert len(orders) == 6
    assert sum((count - 120) ** 2 / 120 for count in orders.values()) < 20.5


def test_small_factorials_are_full_and_larger_ones_fractions() -> None:
    assert choose(two_level(4)).kind == "full"
    assert choose(MIXED).kind == "full"
    assert (choose(two_level(5)).resolution, len(choose(two_level(5)).cells)) == (5, 16)
    assert len(choose(two_level(5), kind="full").cells) == 32
    assert (choose(two_level(8)).resolution, len(choose(two_level(8)).cells)) == (5, 64)


def test_cost_counts_loads_controls_and_restarts() -> None:
    price = cost(full(two_level(4)), 30, 20.0, 5.0, loads=2, controls=0)
    assert price.runs == 2 * 480  # the paper's, at two loads
    assert price.minutes == 960 * 25 / 60
