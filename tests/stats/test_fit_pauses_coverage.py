"""Pauses are attributed to the host or to the requests as reliably as stated, and regimes are covered.

Seeded. The quick form allows 4 standard errors around the stated rates; the nightly form uses more seeds.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from pausing import queue_with_pauses

from hindmost.commands.clone.fit.demand import demand
from hindmost.commands.clone.fit.order.successive import find_order
from hindmost.commands.clone.fit.pauses.detection import find_pauses
from hindmost.core.notes import Note

WORLDS = {
    "one in 500": {},
    "low load": {"load": 0.2},
    "short and often": {"pause_us": 500.0, "share": 0.01},
    "of all lengths": {"spread": 0.7},
    "three threads": {"threads": 3, "load": 0.7, "pause_us": 500.0, "share": 0.02},
}


def count_scopes(whom, name, logs, seed, n=10_000):
    scopes: Counter[str] = Counter()
    coverage = 0
    for number in range(logs):
        log = queue_with_pauses(whom, [seed, number], n=n, **WORLDS[name])
        pauses = find_pauses(log, demand(log))
        if isinstance(pauses, Note):
            scopes["few"] += 1
            continue
        scopes[pauses.scope.whom] += 1
        coverage += pauses.scope.clock[1] <= (whom == "clock") <= pauses.scope.clock[2]
    return scopes, coverage / max(1, logs - scopes["few"])


def judge(whom, name, logs, seed, n):
    scopes, coverage = count_scopes(whom, name, logs, seed, n)
    other = "clock" if whom == "request" else "request"
    wrong = 0.01 + 4 * math.sqrt(0.01 * 0.99 / logs)
    assert scopes[other] / logs <= wrong, scopes
    # Most logs suffice for a decision; the others are reported as undecided.
    assert scopes[whom] / logs >= 0.6, scopes
    assert coverage >= 0.99 - 4 * math.sqrt(0.01 * 0.99 / logs), (coverage, scopes)


@pytest.mark.parametrize("whom", ["request", "clock"])
@pytest.mark.parametrize("name", ["one in 500", "low load", "three threads"])
def test_pauses_are_misattributed_in_no_more_logs_than_stated(whom, name):
    judge(whom, name, 4, 1, 10_000)


@pytest.mark.nightly
@pytest.mark.parametrize("whom", ["request", "clock"])
@pytest.mark.parametrize("name", WORLDS)
def test_pauses_are_misattributed_in_one_percent_of_many_logs(whom, name):
    judge(whom, name, 300, int(np.random.default_rng().integers(1 << 30)), 10_000)


def regime_coverage(logs, seed):
    """Share of logs in which regimes are found, and each interval's coverage; a regime not found counts as missed."""
    hits = dict.fromkeys(("factor", "first", "second"), 0)
    found_share = 0
    for number in range(logs):
        draws = np.random.default_rng([seed, number])
        states = np.repeat(np.arange(80) % 2, draws.geometric(1 / np.tile([1_500, 500], 40)))
        us = 100 * np.exp(0.3 * draws.standard_normal(states.size)) * np.array([1.0, 1.8])[states]
        regimes = find_order(us).regimes
        if regimes is None:
            continue
        found_share += 1
        both = regimes.intervals(us)
        for key, name, value in (
            ("factor", "order.regimes[1].factor", 1.8),
            ("first", "order.regimes[0].mean_requests", 1_500),
            ("second", "order.regimes[1].mean_requests", 500),
        ):
            hits[key] += both[name][0] <= value <= both[name][1]
    return found_share / logs, {key: count / logs for key, count in hits.items()}


def test_regimes_are_covered_by_their_intervals():
    """At the stated rates, fewer than two of three contain the factor in 0.7 % of seeds, and a length in 6 %."""
    found_share, coverage = regime_coverage(3, 1)
    assert found_share == 1.0
    assert coverage["factor"] >= 0.5, coverage
    # Stays shorter than a block are not noticed, which makes the others look longer: 85 %.
    assert min(coverage.values()) >= 0.5, coverage


@pytest.mark.nightly
def test_levels_of_regimes_are_covered_by_93_percent_of_intervals():
    found_share, coverage = regime_coverage(300, int(np.random.default_rng().integers(1 << 30)))
    # Another model predicts the rest of the log better in 1 of 300.
    assert found_share >= 0.98
    assert coverage["factor"] >= 0.93 - 4 * math.sqrt(0.93 * 0.07 / 300), coverage
    assert min(coverage.values()) >= 0.8 - 4 * math.sqrt(0.8 * 0.2 / 300), coverage
