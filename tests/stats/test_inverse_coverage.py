"""The interval of an inverse question covers the theoretical value; its safe end holds as often as stated.

M/M/1: the sojourn time is exponential with rate (1 - load) / service, so the load at which a quantile reaches its limit
is known. M/M/c uses Erlang's formula for the mean.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.inverse import Question, answer
from hindmost.commands.clone.simulation import Design
from hindmost.core.plan import parse_term

CLONE = Clone.from_document(
    {
        "schema": "hindmost.clone/1",
        "name": "queue",
        "service": [{"law": {"kind": "exponential", "mean_us": 100}}],
    }
)
QUESTIONS = {
    "p99 by rate": ("p99<1ms", "rate", None, 1e4 - 1e6 * math.log(100) / 1_000),
    "p95 by rate": ("p95<2ms", "rate", None, 1e4 - 1e6 * math.log(20) / 2_000),
    "mean by service": ("mean<300us", "service", {"rate_per_s": 5_000.0}, 1.2),
}


def coverage(name, questions, seed, requests):
    objective, by, load, truth = QUESTIONS[name]
    inside = safe = 0
    for number in range(questions):
        design = Design(requests=requests, seed=seed + 1_000_003 * number)
        result = answer(CLONE, Question(parse_term(objective), by), load, design=design)
        assert result.state == "found"
        inside += result.low <= truth <= result.high
        safe += result.safe <= truth
    return inside / questions, safe / questions


@pytest.mark.parametrize("name", ["p95 by rate", "mean by service"])
def test_the_true_value_is_covered(name):
    """At 95 %, fewer than two of three intervals contain it in 0.7 % of seeds; this seed is fixed."""
    inside, safe = coverage(name, 3, 1, 6_000)
    assert inside >= 2 / 3, inside
    assert safe >= 2 / 3, safe


@pytest.mark.nightly
@pytest.mark.parametrize("name", QUESTIONS)
def test_the_true_value_is_covered_by_93_percent_of_many_intervals(name):
    inside, safe = coverage(name, 300, int(np.random.default_rng().integers(1 << 30)), 50_000)
    assert inside >= 0.93 - 4 * math.sqrt(0.93 * 0.07 / 300), inside
    assert safe >= 0.955 - 4 * math.sqrt(0.955 * 0.045 / 300), safe


def test_of_whole_numbers_the_safe_one_certainly_holds_and_the_others_are_named():
    # Erlang C at 25,000/s of 100 us: four threads wait 53 us on average, five 13 us, six 4 us.
    load = {"rate_per_s": 25_000.0}
    few = Design(requests=20_000)
    clear = answer(CLONE, Question(parse_term("mean<120us"), "threads"), load, design=few)
    assert (clear.safe, clear.low, clear.high) == (5, 5, 5)
    # A limit within the interval of five threads: five may suffice, six certainly do.
    five = clear.safe_latency_us
    limit = f"mean<{(five.value + five.high) / 2:.6f}us"
    close = answer(CLONE, Question(parse_term(limit), "threads"), load, design=few)
    assert (close.safe, close.low, close.high) == (6, 5, 6)
