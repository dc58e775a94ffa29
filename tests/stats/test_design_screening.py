"""Screening from the design to the suspects that it names, with planted truth."""

from __future__ import annotations

import numpy as np
import pytest

from hindmost.design import Design, Factor, fraction, random_settings, schedule, screening
from hindmost.stats import Factorial, fit_runs
from hindmost.stats.factors.permutation import screen_factors


def suspects(count: int) -> list[Factor]:
    return [Factor(f"s{i:02}", ("off", "on")) for i in range(count)]


def model(design: Design) -> Factorial:
    return Factorial([factor.name for factor in design.factors], [term for term in design.terms if term])


def study(design: Design, blocks: int, random: np.random.Generator, value) -> tuple[dict, dict]:
    """Runs that scatter by 5 %, in the order of the schedule; each block is up or down by 5 % as well."""
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
def test_what_was_planted_among_many_suspects_is_found(design: Design, blocks: int, studies: int) -> None:
    """Two suspects of 6 % and a pair of 4 %, where an error is 1 % at most."""
    random = np.random.default_rng(7)

    def value(cell) -> float:
        return 1.0 + 0.06 * cell[3] - 0.06 * cell[11] + 0.04 * (cell[3] == cell[11])

    named = []
    for _ in range(studies):
        runs, labels = study(design, blocks, random, value)
        named.append(
            {
                one.column.term[0]
                for one in screen_factors(fit_runs(runs, model(design), blocks=labels), 499)
                if one.q < 0.05
            }
        )
    assert all({"s03", "s11"} <= one for one in named)
    # q of 5 %: of what is named, one in twenty is a false alarm; 2 of 3 in more than 3 of ten studies are not.
    assert sum(len(one) > 3 for one in named) <= 0.3 * studies


def test_an_interaction_passes_for_main_effects_unless_the_design_is_folded_over() -> None:
    """A pair of 30 %, nothing else: a third of it lands on each of the ten other suspects, or none."""
    random = np.random.default_rng(8)

    def value(cell) -> float:
        return 1.0 + 0.15 * (1 if cell[0] == cell[1] else -1)

    for fold, expected in ((False, 0.10), (True, 0.0)):
        design = screening(suspects(11), fold=fold)
        runs, labels = study(design, 40, random, value)
        effects = fit_runs(runs, model(design), blocks=labels).effects("average")[1:]
        others = [abs(effect.value) for effect in effects if effect.term[0] not in ("s00", "s01")]
        assert others == pytest.approx([expected] * 9, abs=0.02)


def test_resolution_four_shows_the_sum_of_a_pairs_alias_set() -> None:
    """2^(4-1): a:b and c:d share a column, so effects of 4 % and 3 % show as 7 %; main effects stay clear."""
    random = np.random.default_rng(9)
    design = fraction([Factor(name, ("off", "on")) for name in "abcd"], 4)

    def value(cell) -> float:
        a, b, c, d = (2 * level - 1 for level in cell)
        return 1.0 + 0.02 * a * b + 0.015 * c * d

    runs, labels = study(design, 60, random, value)
    found = {
        effect.term: effect.value
        for effect in fit_runs(runs, model(design), blocks=labels).effects("average")
    }
    assert found["a", "b"] == pytest.approx(0.07, abs=0.02)
    for term, effect in found.items():
        if term not in ((), ("a", "b")):
            assert abs(effect) < 0.02
