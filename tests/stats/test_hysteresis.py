"""Hysteresis is found if runs keep a state, and not if each had one stall, burst or slow noise.

Seeded; false alarms nominal 1 %, bounds allow 4 standard errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from messages import raises

from hindmost.errors import ArgumentError
from hindmost.stats import hysteresis

World = Callable[[np.random.Generator, int], np.ndarray]


def noise(g: np.random.Generator, runs: int) -> np.ndarray:
    return g.lognormal(3.0, 0.1, (runs, 20))


def stall(g: np.random.Generator, runs: int) -> np.ndarray:
    table = noise(g, runs)
    table[np.arange(runs), g.integers(0, 20, runs)] *= g.uniform(5.0, 50.0, runs)
    return table


def spell(g: np.random.Generator, runs: int) -> np.ndarray:
    table = noise(g, runs)
    for row in table:
        begin = g.integers(0, 16)
        row[begin : begin + 5] *= g.uniform(1.2, 3.0)
    return table


def autocorrelated(coefficient: float) -> World:
    def draw(g: np.random.Generator, runs: int) -> np.ndarray:
        z = np.empty((runs, 20))
        z[:, 0] = g.standard_normal(runs)
        for i in range(1, 20):
            z[:, i] = coefficient * z[:, i - 1] + math.sqrt(1.0 - coefficient**2) * g.standard_normal(runs)
        return np.exp(3.0 + 0.1 * z)

    return draw


def states(factor: float) -> World:
    return lambda g, runs: stall(g, runs) * np.where(g.random((runs, 1)) < 0.4, factor, 1.0)


NOTHING = {"stall": stall, "spell": spell, "AR(.5)": autocorrelated(0.5), "AR(.8)": autocorrelated(0.8)}


def share_found(world: World, runs: int, studies: int, seed: int = 1) -> float:
    g = np.random.default_rng(seed)
    return float(np.mean([hysteresis(world(g, runs)).visible is True for _ in range(studies)]))


@pytest.mark.parametrize("world", NOTHING)
def test_restarts_without_effect_are_not_called_hysteresis(world: str) -> None:
    assert share_found(NOTHING[world], 12, 60) <= 0.01 + 4.0 * math.sqrt(0.01 * 0.99 / 60)


@pytest.mark.nightly
@pytest.mark.parametrize("runs", [10, 20, 30])
@pytest.mark.parametrize("world", NOTHING)
def test_false_alarms_are_one_in_a_hundred(world: str, runs: int) -> None:
    assert share_found(NOTHING[world], runs, 1_000) <= 0.01 + 4.0 * math.sqrt(0.01 * 0.99 / 1_000)


def test_states_are_found_in_spite_of_a_stall_in_each_run() -> None:
    assert share_found(states(1.3), 20, 40) > 0.7


def test_slow_drift_is_reported_to_fade_and_not_called_a_state() -> None:
    g = np.random.default_rng(2)
    results = [hysteresis(autocorrelated(0.98)(g, 30)) for _ in range(30)]
    assert np.mean([result.fades for result in results]) > 0.7
    assert all(result.visible is None for result in results if result.fades)
    assert {result.note.code for result in results if result.fades} == {"hysteresis-fades"}


def test_without_restarts_or_with_interference_hysteresis_remains_undecided() -> None:
    table = noise(np.random.default_rng(3), 20) * np.where(np.arange(20) % 2, 1.5, 1.0)[:, None]
    managed = hysteresis(table)
    attached, disturbed = hysteresis(table, restarted=False), hysteresis(table, isolated=False)
    assert [(result.visible, result.note.code) for result in (managed, attached, disturbed)] == [
        (True, "hysteresis-seen"),
        (None, "hysteresis-not-restarted"),
        (None, "hysteresis-interference"),
    ]
    assert managed.note.values == {"runs": 20, "p": managed.p, "sd": managed.sd}


def test_too_few_runs_or_sections_give_no_result() -> None:
    for runs, sections in ((5, 20), (20, 2)):
        result = hysteresis(np.ones((runs, sections)))
        assert (result.visible, result.note.code) == (None, "hysteresis-few-runs")
        assert (result.note.values["runs"], result.note.values["sections"]) == (runs, sections)
    with raises(ArgumentError, "bad-argument", argument="sections"):
        hysteresis(np.zeros((10, 10)))


def test_infinitely_late_sections_are_the_largest() -> None:
    table = noise(np.random.default_rng(4), 12)
    table[0, 3] = math.inf
    assert hysteresis(table).visible is False
