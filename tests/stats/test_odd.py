"""`find_slow_clients` finds a slow client, and cries wolf at most as often as it says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rows import each_row

from hindmost.stats import find_slow_clients
from hindmost.stats.runs.slow_clients import FALSE_ALARM, MATTERS


def drawn(rng, runs, clients, ratio=1.0):
    """Runs that differ by a tenth together, instances by a twentieth; the last is slower."""
    x = np.exp(rng.normal(0.0, 0.1, (runs, 1)) + rng.normal(0.0, 0.05, (runs, clients)))
    x[:, -1] *= ratio
    return x.tolist()


@each_row(("runs", "clients"), [(5, 4), (10, 2), (10, 8)])
def test_a_client_half_as_fast_is_found_and_no_other(runs, clients):
    rng = np.random.default_rng(7)
    found = [find_slow_clients(drawn(rng, runs, clients, 2.0)) for _ in range(60)]
    assert np.mean([bool(one) and one[0].index == clients - 1 for one in found]) > 0.95
    assert all({odd.index for odd in one} <= {clients - 1} for one in found)


@pytest.mark.parametrize("runs", [3, 10])
def test_at_the_edge_of_what_matters_it_is_called_odd_as_rarely_as_stated(runs):
    """Four standard errors of 500 draws at 0.1 %: more than three are one in 600."""
    rng = np.random.default_rng(11)
    alarms = sum(bool(find_slow_clients(drawn(rng, runs, 4, MATTERS))) for _ in range(500))
    assert alarms <= 500 * FALSE_ALARM + 4 * math.sqrt(500 * FALSE_ALARM)


def test_too_few_runs_one_client_and_the_infinitely_late_say_nothing():
    assert find_slow_clients([[1.0, 9.0], [1.0, 9.0]]) == []
    assert find_slow_clients([[1.0]] * 5) == []
    assert find_slow_clients([[1.0, math.inf]] * 5) == []


def test_what_all_share_cancels():
    rng = np.random.default_rng(3)
    shared = np.exp(rng.normal(0.0, 2.0, 6))
    values = [[10.0 * s, 10.1 * s, 30.0 * s * (1 + 0.01 * i)] for i, s in enumerate(shared)]
    assert [one.index for one in find_slow_clients(values)] == [2]
