"""Screening, from the design to the named suspects, with planted truth."""

from __future__ import annotations

import numpy as np
import pytest

from hindmost.commands.attribute.design import Design, Factor, fraction, random_settings, schedule, screening
from hindmost.stats import Factorial, fit_runs
from hindmost.stats.factors.permutation import screen_factors


def suspects(count: int) -> list[Factor]:
    return [Factor(f"s{i:02}", ("off", "on")) for i in range(count)]


def model(design: Design) -> Factorial:
    return Factorial([factor.name for factor in design.factors], [term for term in design.terms if term])


def study(design: Design, blocks: int, random: np.random.Generator, value) -> tuple[dict, dict]:
    """Runs that scatter by 5 %, in the order of the schedule; each block also differs by 5 %."""
    shift = random.normal(1.0, 0.05, blocks)
    runs: dict = {}
    labels: dict = {}
    for run in schedule(design, blocks, seed=1, controls=0):
        y = value(run.cell) * shift[run.block] * random.normal(1.0, 0.05)
        runs.setdefault(run.cell, []).append(y)
        labels.setdefault(run.cell, []).append(run.block)
    return runs, labels


@pytest.mark.parametrize(
    ("design", "blocks", "studies"),
    [
        (screening(suspects(19)), 3, 10),
        (random_settings(suspects(30)), 3, 10),
        (random_settings(suspects(30), 120), 1, 5),
    ],
    ids=["Plackett-Burman", "random settings", "random settings, each once"],
)
def test_planted_effects_among_many_suspects_are_found(design: Design, blocks: int, studies: int) -> None:
    """Two suspects of 6 % and a pair of 4 %; the standard error is at most 1 %."""
    random = np.random.default_rng(7)

    def value(cell) -> float:
        return 1.0 + 0.06 * cell[3] - 0.06 * cell[11] + 0.04 * (cell[3] == cell[11])

    results = []
    for _ in range(studies):
        runs, labels = study(design, blocks, random, value)
        screen = screen_factors(fit_runs(runs, model(design), blocks=labels), 499)
        results.append({result.column.term[0] for result in screen if result.q < 0.05})
    assert all({"s03", "s11"} <= names for names in results)
    # With a q of 5 %, one in twenty of the named is a false alarm; 2 of 3 in more than 3 of ten studies are too many.
    assert sum(len(names) > 3 for names in results) <= 0.3 * studies


def test_an_interaction_looks_like_main_effects_unless_the_design_is_folded_over() -> None:
    """Only a pair of 30 %: a third of it affects each of the other suspects, or none."""
    random = np.random.default_rng(8)

    def value(cell) -> float:
        return 1.0 + 0.15 * (1 if cell[0] == cell[1] else -1)

    for fold, expected in ((False, 0.10), (True, 0.0)):
        design = screening(suspects(11), fold=fold)
        runs, labels = study(design, 40, random, value)
        effects = fit_runs(runs, model(design), blocks=labels).effects("average")[1:]
        rest = [abs(effect.value) for effect in effects if effect.term[0] not in ("s00", "s01")]
        assert rest == pytest.approx([expected] * 9, abs=0.02)


def test_resolution_four_shows_the_sum_of_a_pairs_alias_set() -> None:
    """2^(4-1): a:b and c:d share a column, so effects of 4 % and 3 % show as 7 %; main effects stay clear."""
    random = np.random.default_rng(9)
    design = fraction([Factor(name, ("off", "on")) for name in "abcd"], 4)

    def value(cell) -> float:
        a, b, c, d = (2 * level - 1 for level in cell)
        return 1.0 + 0.02 * a * b + 0.015 * c * d

    runs, labels = study(design, 60, random, value)
    effects = {
        effect.term: effect.value
        for effect in fit_runs(runs, model(design), blocks=labels).effects("average")
    }
    assert effects["a", "b"] == pytest.approx(0.07, abs=0.02)
    for term, effect in effects.items():
        if term not in ((), ("a", "b")):
            assert abs(effect) < 0.02
