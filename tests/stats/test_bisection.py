"""The search for a rate: how often its span contains the truth, what it costs, and that no step is final."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rows import each_row
from sample_searches import make_step
from searching import Server, plain_bisection, search

from hindmost.commands.measure.search.findings import CONFIDENCE, belief_after
from hindmost.commands.measure.search.rates import RATIO, next_rate
from hindmost.stats import Belief

NOISE = [(0.05, 0.0), (0.05, 0.1), (0.15, 0.1), (0.3, 0.2)]
SEARCHES, NIGHTLY = 20, 500
RUNS_WORTH = 60.0
"""Most runs that a search may cost on average if runs scatter by 5 %: at ten seconds each, ten minutes."""


def coverage(scatter: float, disturbed: float, searches: int) -> dict[str, float]:
    """Shares and means over many searches."""
    g = np.random.default_rng(1963)
    names = ("covers", "runs", "narrow", "held", "plain covers", "plain runs")
    totals = dict.fromkeys(names, 0.0)
    for _ in range(searches):
        server = Server.draw(g, scatter, disturbed)
        result = search(g, server)
        totals["covers"] += result.span.low <= server.crossing <= result.span.high
        totals["runs"] += sum(step.runs for step in result.steps)
        totals["narrow"] += result.span.ratio <= RATIO
        totals["held"] += result.holds is not None and result.holds.rate_per_s <= 1.05 * server.crossing
        low, high, runs = plain_bisection(g, server)
        totals["plain covers"] += low <= server.crossing <= high
        totals["plain runs"] += runs
    return {name: value / searches for name, value in totals.items()}


def check(shares: dict[str, float], searches: int) -> None:
    # A search that covers with exactly the stated probability fails once in a thousand.
    chance = 3.1 * math.sqrt(CONFIDENCE * (1.0 - CONFIDENCE) / searches)
    assert shares["covers"] >= CONFIDENCE - chance, shares
    assert shares["held"] >= CONFIDENCE - chance, shares
    assert shares["covers"] > shares["plain covers"] + 0.1, shares


@pytest.mark.parametrize(("scatter", "disturbed"), [(0.05, 0.1)])
def test_the_span_contains_the_truth_at_its_level(scatter, disturbed):
    shares = coverage(scatter, disturbed, SEARCHES)
    check(shares, SEARCHES)
    assert shares["narrow"] > 0.7, shares
    assert shares["runs"] <= RUNS_WORTH, shares


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("scatter", "disturbed"), NOISE)
def test_the_span_contains_the_truth_under_every_noise(scatter, disturbed):
    shares = coverage(scatter, disturbed, NIGHTLY)
    print(scatter, disturbed, {name: round(value, 3) for name, value in shares.items()})
    check(shares, NIGHTLY)


@each_row("wrong_at", range(5))  # a wrong answer at the very end cannot be corrected: hence nine in ten
def test_a_wrong_answer_is_repeated_and_corrected(wrong_at):
    truth, rate, steps = 34_567.0, 10_000.0, []
    while rate is not None:
        holds = (rate <= truth) is not (len(steps) == wrong_at)
        steps.append(make_step(rate, "holds" if holds else "fails", runs=3, error=0.01))
        rate = next_rate(steps, 8)
    span = belief_after(steps).span(CONFIDENCE)
    assert span.low < truth < span.high, (span, [(s.rate_per_s, s.outcome) for s in steps])
    assert span.ratio <= RATIO


def test_belief_is_a_probability_that_answers_move_in_the_right_direction():
    belief = Belief(1_000.0, 10.0, 1e6)
    assert 900.0 < belief.median < 1_100.0
    before = belief.at_least(2_000.0)
    belief.hears(2_000.0, holds=True)
    assert belief.at_least(2_000.0) > 0.9 > before
    belief.hears(2_000.0, holds=False)
    assert belief.at_least(2_000.0) == pytest.approx(before, abs=0.01), "two opposite answers cancel"
    belief.hears_near(1_900.0, 2_100.0)
    assert belief.at_least(1_900.0) - belief.at_least(2_100.0) > 0.05


@pytest.mark.parametrize(("holds", "span"), [(True, math.inf), (False, 0.0)])
def test_the_crossing_may_lie_outside_the_searched_range(holds, span):
    belief = Belief(1_000.0, 10.0, 1e6)
    end = 1e6 if holds else 10.0
    for _ in range(3):
        belief.hears(end, holds=holds)
    interval = belief.span(0.9)
    assert (interval.high if holds else interval.low) == span
    assert belief.median == pytest.approx(end)


def test_a_vague_answer_moves_belief_less_than_a_sharp_one():
    sharp, vague = Belief(1_000.0, 10.0, 1e6), Belief(1_000.0, 10.0, 1e6)
    sharp.hears(2_000.0, holds=True, error=0.01)
    vague.hears(2_000.0, holds=True, error=0.3)
    assert sharp.at_least(2_100.0) > vague.at_least(2_100.0)
    assert sharp.at_least(1_700.0) > vague.at_least(1_700.0)
