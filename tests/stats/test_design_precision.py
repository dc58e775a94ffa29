"""The precision that a design promises before the first run is what the statistics then find."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hindmost.commands.attribute.design import Design, Factor, fraction, full, precision, screening, subset
from hindmost.stats import Factorial, fit_runs


def two_level(count: int) -> list[Factor]:
    return [Factor(chr(ord("a") + i), ("low", "high")) for i in range(count)]


DESIGNS = [
    full(two_level(3)),
    fraction(two_level(5)),
    screening(two_level(7)),
    subset([Factor("n", ("1", "2", "4")), *two_level(3)], [{"n": "4", "a": "high"}]),
]


@pytest.mark.parametrize("coding", ["corner", "average"])
@pytest.mark.parametrize("design", DESIGNS, ids=[d.text for d in DESIGNS])
def test_promised_half_widths_match_the_fit(design: Design, coding: str) -> None:
    """Root mean square over 60 studies of 8 blocks, which has a standard error of 3.5 %."""
    random = np.random.default_rng(8)
    blocks, tries, cv = 8, 60, 0.05
    model = Factorial({factor.name: len(factor.levels) for factor in design.factors}, design.terms)
    half_widths: dict = {}
    for _ in range(tries):
        runs = {cell: 1.0 + cv * random.standard_normal(blocks) for cell in design.cells}
        labels = {cell: list(range(blocks)) for cell in design.cells}
        for effect in fit_runs(runs, model, blocks=labels).effects(coding)[1:]:
            half_widths.setdefault(effect.column, []).append((effect.high - effect.low) / 2)
    promise = precision(design, blocks, cv, coding=coding)
    for term, expected in promise.items():
        worst = max(
            math.hypot(*widths) / math.sqrt(tries)
            for column, widths in half_widths.items()
            if column.term == term
        )
        assert worst == pytest.approx(expected.half_width, rel=0.1)


@pytest.mark.parametrize("tries", [200, pytest.param(800, marks=pytest.mark.nightly)])
def test_an_effect_called_detectable_is_found_in_four_of_five_studies(tries: int) -> None:
    """Within four standard errors of that share."""
    random = np.random.default_rng(9)
    design, blocks, cv = fraction(two_level(5)), 5, 0.05
    effect = precision(design, blocks, cv)[("a",)].detectable
    model = Factorial([factor.name for factor in design.factors], [term for term in design.terms if term])
    hits = 0
    for _ in range(tries):
        runs = {cell: 1.0 + effect * cell[0] + cv * random.standard_normal(blocks) for cell in design.cells}
        labels = {cell: list(range(blocks)) for cell in design.cells}
        hits += fit_runs(runs, model, blocks=labels).effects("average")[1].low > 0.0
    assert hits / tries == pytest.approx(0.8, abs=4 * math.sqrt(0.8 * 0.2 / tries))
