"""Looking at effects during a study: published boundaries, false alarms, coverage, and blocks saved."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from messages import raises
from rows import each_row

from hindmost.commands.attribute.design import Sequential
from hindmost.commands.attribute.design.sequential import boundaries
from hindmost.errors import UsageError
from hindmost.stats.tables import t_quantile
from tests.stats.conftest import ALL_LAWS, SIX

FACTORS = 4
CELLS = 2**FACTORS
SIGNS = 2.0 * np.array(list(itertools.product((0, 1), repeat=FACTORS))) - 1.0
TERMS = [term for order in (1, 2) for term in itertools.combinations(range(FACTORS), order)]
COLUMNS = np.array([np.prod(SIGNS[:, term], axis=1) for term in TERMS]).T

RULE = Sequential(10, 30, 5)


@each_row(
    ("looks", "published"),
    [  # Reboussin, DeMets, Kim & Lan 2000 (program lands): O'Brien-Fleming type, two-sided .05
        (1, [1.9600]),
        (2, [2.9626, 1.9686]),
        (3, [3.7103, 2.5114, 1.9930]),
        (4, [4.3326, 2.9631, 2.3590, 2.0141]),
        (5, [4.8769, 3.3569, 2.6803, 2.2898, 2.0310]),
    ],
)
def test_boundaries_are_the_published_ones(looks: int, published: list[float]) -> None:
    bounds = boundaries([(i + 1) / looks for i in range(looks)])
    assert bounds == pytest.approx(published, abs=4e-4)


def test_looks_fall_after_the_first_then_every_batch_then_at_the_cap() -> None:
    assert RULE.looks == (10, 15, 20, 25, 30)
    assert Sequential(10, 22, 5).looks == (10, 15, 20, 22)
    assert Sequential(10, 10).looks == (10,)
    assert Sequential(10, 10).confidence_at(10) == pytest.approx(0.95)
    levels = [RULE.confidence_at(look) for look in RULE.looks]
    assert levels == sorted(levels, reverse=True)
    assert levels[-1] > 0.95


@each_row(
    ("blocks", "undecided", "stop", "decided", "following"),
    [
        (3, [], False, False, 10),
        (10, ["turbo"], False, False, 15),
        (10, [], True, True, None),
        (12, [], False, False, 15),  # no look is due
        (30, ["turbo"], True, False, None),
        (30, [], True, True, None),
        (31, [], True, True, None),
    ],
)
def test_rule_stops_when_all_is_decided_or_at_the_cap(blocks, undecided, stop, decided, following) -> None:
    decision = RULE.decide(blocks, undecided)
    assert (decision.stop, decision.decided, decision.next_look) == (stop, decided, following)


@each_row(
    ("ask", "fields"),
    [
        (lambda: Sequential(1, 30), {"first": 1}),
        (lambda: Sequential(10, 9), {"first": 10, "most": 9}),
        (lambda: Sequential(batch=0), {"batch": 0}),
        (lambda: Sequential(confidence=95.0), {"key": "confidence", "value": 95.0}),
        (lambda: RULE.confidence_at(12), {"value": 12, "known": [10, 15, 20, 25, 30]}),
    ],
)
def test_contradictory_rules_are_refused(ask, fields: dict[str, Any]) -> None:
    with raises(UsageError, "bad-value", **fields):
        ask()


class Studies:
    """Many studies of 2^4 cells with known average effects, and the result of a rule on them.

    Run values are those of a law times the cell's value. Effects are studentised with the pooled scatter of the cells, as
    `hindmost.stats` does if they scatter alike.
    """

    def __init__(self, law: str, effects: list[float], count: int, seed: int, cap: int = 30) -> None:
        self.truth = np.array([*effects, *[0.0] * (len(TERMS) - len(effects))])
        value = 1.0 + COLUMNS @ self.truth / 2.0
        chosen = ALL_LAWS[law]
        y = value * chosen.draw(np.random.default_rng(seed), (count, cap * CELLS)).reshape(count, cap, CELLS)
        y /= chosen.mean
        n = np.arange(1, cap + 1)[None, :, None]
        means = np.cumsum(y, axis=1) / n
        with np.errstate(invalid="ignore", divide="ignore"):
            scatter = ((np.cumsum(y**2, axis=1) / n - means**2) * n / (n - 1)).mean(axis=2)
        self.estimate = means @ COLUMNS * 2.0 / CELLS
        self.error = np.sqrt(4.0 * scatter / (CELLS * n[:, :, 0]))

    def half_width(self, blocks: int, confidence: float) -> np.ndarray:
        t = t_quantile(CELLS * (blocks - 1), 0.5 + confidence / 2.0)
        return t * self.error[:, blocks - 1, None]

    def stops(self, rule: Sequential, delta: float, terms: int, level=None) -> np.ndarray:
        """Number of blocks at which each study stops; the first `terms` terms are of interest."""
        stop = np.zeros(len(self.estimate), dtype=int)
        for look in rule.looks:
            half = self.half_width(look, level or rule.confidence_at(look))
            value = np.abs(self.estimate[:, look - 1])
            open_ = ((value <= half) & (value + half >= delta))[:, :terms]
            for study in np.flatnonzero(stop == 0):
                if rule.decide(look, ["open"] if open_[study].any() else []).stop:
                    stop[study] = look
        return stop

    def error_rates(self, stops: np.ndarray, confidence) -> tuple[float, float]:
        """Coverage of the term with the least coverage, and the share of absent effects that are announced."""
        hit, announced = np.zeros_like(self.truth), []
        for look in np.unique(stops):
            rows = stops == look
            half = self.half_width(look, confidence(look))[rows]
            value = self.estimate[rows, look - 1]
            hit += (np.abs(value - self.truth) <= half).sum(axis=0)
            announced.append((np.abs(value) > half)[:, self.truth == 0.0])
        alarms = np.concatenate(announced)
        return float((hit / len(stops)).min()), float(alarms.mean()) if alarms.size else 0.0


def slack(count: int, share: float = 0.05) -> float:
    """Four standard errors: exceeded by chance once in 30,000."""
    return 4.0 * math.sqrt(share * (1.0 - share) / count)


def test_one_absent_effect_with_five_looks_is_announced_in_five_of_a_hundred_studies() -> None:
    """With plain 95 % intervals it would be 14 of a hundred (Armitage, McPherson & Rowe 1969)."""
    studies = Studies("lognormal 5%", [], 3_000, seed=3)
    stops = studies.stops(RULE, delta=0.0, terms=1)
    half = np.array([studies.half_width(n, RULE.confidence_at(n))[i, 0] for i, n in enumerate(stops)])
    announced = np.abs(studies.estimate[np.arange(3_000), stops - 1, 0]) > half
    assert announced.mean() <= 0.05 + slack(3_000)
    naive = studies.stops(RULE, delta=0.0, terms=1, level=0.95)
    half = np.array([studies.half_width(n, 0.95)[i, 0] for i, n in enumerate(naive)])
    assert (np.abs(studies.estimate[np.arange(3_000), naive - 1, 0]) > half).mean() > 0.10


EFFECTS = {"none": [], "at delta": [0.02] * 10, "mixed": [0.08, -0.05, 0.02, 0.0, 0.0, 0.03]}


@each_row("effects", EFFECTS.values(), ids=EFFECTS)
def test_stopping_early_costs_no_coverage(effects: list[float]) -> None:
    """1,000 studies. The plain 95 % intervals at the stop, which a report shows, cover as well."""
    studies = Studies("lognormal 5%", effects, 1_000, seed=4)
    stops = studies.stops(RULE, delta=0.02, terms=len(TERMS))
    assert stops.mean() < 30.0
    coverage, alarms = studies.error_rates(stops, RULE.confidence_at)
    assert coverage >= 0.95 - slack(1_000)
    assert alarms <= 0.05
    assert studies.error_rates(stops, lambda _: 0.95)[0] >= 0.94 - slack(1_000)


@pytest.mark.nightly
@pytest.mark.parametrize("law", [law.name for law in SIX])
@pytest.mark.parametrize("terms", [1, len(TERMS)])
@pytest.mark.parametrize("delta", [0.01, 0.02, 0.05])
def test_stopping_early_costs_no_coverage_under_any_law(law: str, terms: int, delta: float) -> None:
    """8,000 studies each of 108 settings; bounds are the goal minus three standard errors."""
    count = 8_000
    for name, effects in EFFECTS.items():
        studies = Studies(law, effects, count, seed=5)
        stops = studies.stops(RULE, delta, terms)
        coverage, alarms = studies.error_rates(stops, RULE.confidence_at)
        plain, plain_alarms = studies.error_rates(stops, lambda _: 0.95)
        naive = studies.error_rates(studies.stops(RULE, delta, terms, level=0.95), lambda _: 0.95)
        print(
            f"{law:14} {name:9} of {terms:2} delta {delta:.2f}: {stops.mean():4.1f} blocks, coverage {coverage:.3f},"
            f" plain {plain:.3f}, alarms {alarms:.4f}, plain {plain_alarms:.4f}; unguarded {naive[0]:.3f} {naive[1]:.4f}"
        )
        assert coverage >= 0.95 - 3.0 * math.sqrt(0.0475 / count)
        assert alarms <= 0.05 + 3.0 * math.sqrt(0.0475 / count)
        assert plain >= 0.94 - 3.0 * math.sqrt(0.0475 / count)
