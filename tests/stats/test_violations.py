"""Bounds on the rate of violations hold for dependent windows, with and without a supervisor that reacts.

Seeded. Coverage of 200 simulations of nominal 95 % may be 4 standard errors (.06) too low by chance.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from rows import each_row
from supervised_blocks import block

from hindmost.commands.colocate.prediction.observation import describe_observations
from hindmost.commands.colocate.supervision.controller import Controller, Rules
from hindmost.commands.colocate.supervision.learning import describe_block
from hindmost.commands.colocate.supervision.procedure import WindowOutcome
from hindmost.commands.colocate.supervision.windows import Window
from hindmost.stats.series.violations import bound_share, count_effective

Floats = npt.NDArray[np.float64]
LIMIT_US, CPUS = 1000.0, 2
LEVELS = 0.89


def gaussian(rng: np.random.Generator, windows: int, rate: float, rho: float) -> Floats:
    """Latencies, µs, whose logarithms are AR(1); a share `rate` exceeds the limit."""
    from scipy.signal import lfilter  # type: ignore[import-untyped, unused-ignore]
    from scipy.special import ndtri  # type: ignore[import-untyped, unused-ignore]

    noise = np.sqrt(1 - rho**2) * rng.standard_normal(windows)
    noise[0] = rng.standard_normal()
    values = lfilter([1.0], [1.0, -rho], noise)
    return np.asarray(LIMIT_US * np.exp(0.3 * (values - ndtri(1 - rate))))


def bursts(rng: np.random.Generator, windows: int, rate: float, length: float) -> Floats:
    """Latencies, µs: far below the limit, except in bursts of this mean length, whose share is `rate`."""
    ends, begins = 1 / length, rate / (1 - rate) / length
    state, states = rng.random() < rate, np.empty(windows, dtype=bool)
    for k, draw in enumerate(rng.random(windows)):
        states[k] = state = (draw >= ends) if state else (draw < begins)
    return np.asarray(np.where(states, 3.0, 0.3) * LIMIT_US * rng.lognormal(0, 0.05, windows))


WORLDS: dict[str, Callable[[np.random.Generator, int, float], Floats]] = {
    "independent": lambda g, n, rate: gaussian(g, n, rate, 0.0),
    "rho 0.9": lambda g, n, rate: gaussian(g, n, rate, 0.9),
    "rho 0.99": lambda g, n, rate: gaussian(g, n, rate, 0.99),
    "bursts of 5": lambda g, n, rate: bursts(g, n, rate, 5.0),
    "bursts of 30": lambda g, n, rate: bursts(g, n, rate, 30.0),
    "bursts of 60": lambda g, n, rate: bursts(g, n, rate, 60.0),
}


def naive_bound(broken: npt.NDArray[np.bool_]) -> float:
    """The bound that takes windows for independent."""
    return bound_share(float(broken.mean()), float(broken.size))[1]


def bounds(latency_us: Floats) -> tuple[float, float]:
    """Both bounds from windows of a second with a job that nobody throttles."""
    broken = latency_us.reshape(-1, 60) > LIMIT_US
    shares, levels = broken.mean(axis=1), np.log(latency_us).reshape(-1, 60).mean(axis=1)
    effective = count_effective(broken.size, 1.0, shares.tolist(), levels.tolist())
    return bound_share(float(broken.mean()), effective)


def cover(world: str, rate: float, minutes: int, draws: int, seed: int = 1) -> tuple[float, float, float]:
    """Return how often the upper, the lower and the naive upper bound are right."""
    rng = np.random.default_rng(seed)
    right = np.zeros(3)
    for _ in range(draws):
        latency_us = WORLDS[world](rng, 60 * minutes, rate)
        low, high = bounds(latency_us)
        right += [high >= rate, low <= rate, naive_bound(latency_us > LIMIT_US) >= rate]
    return tuple(right / draws)


@each_row("rate", [0.01, 0.05, 0.3])
@each_row("world", list(WORLDS))
def test_the_bounds_hold_for_dependent_windows(world, rate):
    high, low, _ = cover(world, rate, 60, 200)
    assert high >= LEVELS
    assert low >= LEVELS


def test_a_bound_that_takes_windows_for_independent_does_not_hold():
    assert cover("bursts of 30", 0.05, 60, 200)[2] < 0.75


def test_without_violations_the_bound_is_that_of_independent_blocks():
    effective = count_effective(3600, 1.0, [0.0] * 60, [5.0] * 60)
    assert bound_share(0.0, effective) == (0.0, pytest.approx(1 - 0.05 ** (1 / 60)))
    assert bound_share(1.0, effective) == (pytest.approx(0.05 ** (1 / 60)), 1.0)
    assert count_effective(60, 120.0, [0.0] * 60) == 60.0, "windows longer than a block count each"


def supervise(latency_us: Floats) -> list[WindowOutcome]:
    """Supervise a job that causes these latencies at its full share, and low ones with less."""
    controller, windows = Controller(Rules(LIMIT_US), CPUS), []
    for one in latency_us:
        granted = controller.cpu_count
        value = float(one) if granted == CPUS else min(float(one), 0.3 * LIMIT_US)
        controller.react_to_window(value)
        window = Window(0, 10**9, 1, 0, value, [value])
        windows.append(WindowOutcome(window, granted, controller.cpu_count, CPUS, False, 1.0, 0.0, None))
    return windows


def cover_supervised(world: str, rate: float, minutes: int, draws: int, seed: int = 1) -> float:
    rng = np.random.default_rng(seed)
    right = 0
    for _ in range(draws):
        windows = supervise(WORLDS[world](rng, 60 * minutes, rate))
        blocks = [describe_block(block(), windows[k : k + 60], 0.6) for k in range(0, len(windows), 60)]
        right += describe_observations(blocks, blocks, blocks).bound >= rate
    return right / draws


@each_row("world", ["independent", "rho 0.9", "bursts of 5", "bursts of 30"])
def test_the_bound_holds_for_the_job_that_a_supervisor_throttled(world):
    assert cover_supervised(world, 0.05, 30, 40) >= 0.81, "4 standard errors of 40 draws are .14"


@pytest.mark.nightly
@pytest.mark.parametrize("world", WORLDS)
def test_the_bounds_hold_in_many_simulations(world):
    for rate in (0.01, 0.05, 0.2):
        for minutes in (30, 60, 240):
            high, low, _ = cover(world, rate, minutes, 400, seed=2)
            assert min(high, low) >= 0.93, (rate, minutes, high, low)
        assert cover_supervised(world, rate, 60, 50) >= LEVELS
