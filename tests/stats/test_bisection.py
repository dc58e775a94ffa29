"""The search for a rate: how often its span holds the truth, what it costs, and that no step is final."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rows import each_row
from searching import Server, plain_bisection, search

from hindmost.stats import Belief
from hindmost.studies.search.findings import CONFIDENCE, Step, belief_after
from hindmost.studies.search.rates import RATIO, next_rate

NOISE = [(0.05, 0.0), (0.05, 0.1), (0.15, 0.1), (0.3, 0.2)]
SEARCHES, NIGHTLY = 20, 500
RUNS_WORTH = 60.0
"""Mean runs that a search may cost where runs scatter by 5 %; at ten seconds each, ten minutes."""


def covered(scatter: float, spoilt: float, searches: int) -> dict[str, float]:
    """Shares and means over many searches."""
    g = np.random.default_rng(1963)
    told = {"covers": 0.0, "runs": 0.0, "narrow": 0.0, "held": 0.0, "plain covers": 0.0, "plain runs": 0.0}
    for _ in range(searches):
        server = Server.drawn(g, scatter, spoilt)
        found = search(g, server)
        told["covers"] += found.span.low <= server.crossing <= found.span.high
        told["runs"] += sum(one.runs for one in found.steps)
        told["narrow"] += found.span.ratio <= RATIO
        told["held"] += found.holds is not None and found.holds.rate_per_s <= 1.05 * server.crossing
        low, high, runs = plain_bisection(g, server)
        told["plain covers"] += low <= server.crossing <= high
        told["plain runs"] += runs
    return {name: value / searches for name, value in told.items()}


def check(told: dict[str, float], searches: int) -> None:
    # A search that covers with exactly the stated probability fails once in a thousand.
    chance = 3.1 * math.sqrt(CONFIDENCE * (1.0 - CONFIDENCE) / searches)
    assert told["covers"] >= CONFIDENCE - chance, told
    assert told["held"] >= CONFIDENCE - chance, told
    assert told["covers"] > told["plain covers"] + 0.1, told


@pytest.mark.parametrize(("scatter", "spoilt"), [(0.05, 0.1)])
def test_the_span_holds_the_truth_as_often_as_it_says(scatter, spoilt):
    told = covered(scatter, spoilt, SEARCHES)
    check(told, SEARCHES)
    assert told["narrow"] > 0.7, told
    assert told["runs"] <= RUNS_WORTH, told


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("scatter", "spoilt"), NOISE)
def test_the_span_holds_the_truth_under_every_noise(scatter, spoilt):
    told = covered(scatter, spoilt, NIGHTLY)
    print(scatter, spoilt, {name: round(value, 3) for name, value in told.items()})
    check(told, NIGHTLY)


def answered(rate: float, *, holds: bool) -> Step:
    outcome = "holds" if holds else "fails"
    return Step(rate, outcome, 1.0, 0.9, 1.1, 3, rate, "because", "s", error=0.01)  # type: ignore[arg-type]


@each_row("wrong_at", range(5))  # at the very end none is left to tell: hence nine in ten
def test_a_wrong_answer_is_asked_again_and_overcome(wrong_at):
    truth, rate, steps = 34_567.0, 10_000.0, []
    while rate is not None:
        holds = (rate <= truth) is not (len(steps) == wrong_at)
        steps.append(answered(rate, holds=holds))
        rate = next_rate(steps, 8)
    span = belief_after(steps).span(CONFIDENCE)
    assert span.low < truth < span.high, (span, [(s.rate_per_s, s.outcome) for s in steps])
    assert span.ratio <= RATIO


def test_belief_is_a_probability_that_answers_move_as_they_should():
    belief = Belief(1_000.0, 10.0, 1e6)
    assert 900.0 < belief.median < 1_100.0
    before = belief.at_least(2_000.0)
    belief.hears(2_000.0, holds=True)
    assert belief.at_least(2_000.0) > 0.9 > before
    belief.hears(2_000.0, holds=False)
    assert belief.at_least(2_000.0) == pytest.approx(before, abs=0.01), "one word against another: none"
    belief.hears_near(1_900.0, 2_100.0)
    assert belief.at_least(1_900.0) - belief.at_least(2_100.0) > 0.05


@pytest.mark.parametrize(("holds", "span"), [(True, math.inf), (False, 0.0)])
def test_the_crossing_may_lie_beyond_what_is_searched(holds, span):
    belief = Belief(1_000.0, 10.0, 1e6)
    end = 1e6 if holds else 10.0
    for _ in range(3):
        belief.hears(end, holds=holds)
    found = belief.span(0.9)
    assert (found.high if holds else found.low) == span
    assert belief.median == pytest.approx(end)


def test_a_vague_answer_moves_belief_less_than_a_sharp_one():
    sharp, vague = Belief(1_000.0, 10.0, 1e6), Belief(1_000.0, 10.0, 1e6)
    sharp.hears(2_000.0, holds=True, error=0.01)
    vague.hears(2_000.0, holds=True, error=0.3)
    assert sharp.at_least(2_100.0) > vague.at_least(2_100.0)
    assert sharp.at_least(1_700.0) > vague.at_least(1_700.0)
