"""`find_slow_clients` finds a slow client, and raises false alarms at most as often as stated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rows import each_row

from hindmost.stats import find_slow_clients
from hindmost.stats.runs.slow_clients import FALSE_ALARM, MATTERS


def draw_runs(rng, runs, clients, ratio=1.0):
    """Runs that differ by a tenth, and clients by a twentieth; the last client is slower."""
    x = np.exp(rng.normal(0.0, 0.1, (runs, 1)) + rng.normal(0.0, 0.05, (runs, clients)))
    x[:, -1] *= ratio
    return x.tolist()


@each_row(("runs", "clients"), [(5, 4), (10, 2), (10, 8)])
def test_a_client_half_as_fast_is_found_and_no_other(runs, clients):
    rng = np.random.default_rng(7)
    results = [find_slow_clients(draw_runs(rng, runs, clients, 2.0)) for _ in range(60)]
    assert np.mean([bool(slow) and slow[0].index == clients - 1 for slow in results]) > 0.95
    assert all({client.index for client in slow} <= {clients - 1} for slow in results)


@pytest.mark.parametrize("runs", [3, 10])
def test_a_barely_slow_client_is_reported_as_rarely_as_stated(runs):
    """Four standard errors of 500 draws at 0.1 %: more than three happens once in 600."""
    rng = np.random.default_rng(11)
    alarms = sum(bool(find_slow_clients(draw_runs(rng, runs, 4, MATTERS))) for _ in range(500))
    assert alarms <= 500 * FALSE_ALARM + 4 * math.sqrt(500 * FALSE_ALARM)


def test_too_few_runs_one_client_and_infinite_values_give_no_result():
    assert find_slow_clients([[1.0, 9.0], [1.0, 9.0]]) == []
    assert find_slow_clients([[1.0]] * 5) == []
    assert find_slow_clients([[1.0, math.inf]] * 5) == []


def test_differences_between_runs_cancel():
    rng = np.random.default_rng(3)
    shared = np.exp(rng.normal(0.0, 2.0, 6))
    values = [[10.0 * s, 10.1 * s, 30.0 * s * (1 + 0.01 * i)] for i, s in enumerate(shared)]
    assert [client.index for client in find_slow_clients(values)] == [2]
