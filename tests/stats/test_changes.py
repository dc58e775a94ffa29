"""The detector of changes: false alarms a week under autocorrelation, and what it finds."""

import numpy as np
import pytest

from hindmost.stats.series.changes import DAY_S, Detector, correlation, effective_size

BLOCK_S = 30.0
WEEK_BLOCKS = 7 * 24 * 120
BASELINE = 123
ALARMS = 200.0
"""A week, asked for in the quick form: one would take weeks to see. The level is then 0.0059 a block."""


def ar1(rng, blocks, rho, seconds=30, requests=20, sigma=0.3):
    """p99 of blocks whose level is AR(1) a second; requests are exponential."""
    from scipy.signal import lfilter

    noise = rng.normal(size=blocks * seconds) * sigma * np.sqrt(1 - rho**2)
    level = lfilter([1.0], [1.0, -rho], noise)
    latency = rng.exponential(size=(blocks * seconds, requests)) * np.exp(level)[:, None]
    return np.quantile(latency.reshape(blocks, -1), 0.99, axis=1)


def queue(rng, blocks, load, rate=50, seconds=30):
    """p99 of sojourn times of an M/M/1 queue."""
    n = blocks * seconds * rate
    service, gaps = rng.exponential(size=n) * load / rate, rng.exponential(size=n) / rate
    steps = np.concatenate([[0.0], np.cumsum(service[:-1] - gaps[1:])])
    sojourn = steps - np.minimum.accumulate(steps) + service
    return np.quantile(sojourn.reshape(blocks, -1), 0.99, axis=1)


def alarms_a_week(values, detector):
    """Anomalies told over a series, as a rate a week."""
    at = np.arange(len(values)) * BLOCK_S
    kinds = [
        detector.judge(at[end - BASELINE : end], values[end - BASELINE : end]).kind
        for end in range(BASELINE, len(values))
    ]
    return kinds.count("anomaly") / len(kinds) * WEEK_BLOCKS


WORLDS = {
    "independent": lambda rng, n: ar1(rng, n, 0.0),
    "rho 0.6": lambda rng, n: ar1(rng, n, 0.6),
    "rho 0.9": lambda rng, n: ar1(rng, n, 0.9),
    "queue at 70 %": lambda rng, n: queue(rng, n, 0.7),
}


@pytest.mark.parametrize("world", WORLDS)
def test_false_alarms_stay_below_what_was_asked_for(world):
    rng = np.random.default_rng(19)
    detector = Detector(alarms_a_week=ALARMS, least_ratio=1.0)
    # 900 blocks are seven hours: eight alarms at the rate asked for.
    assert alarms_a_week(WORLDS[world](rng, 900), detector) <= ALARMS


@pytest.mark.nightly
@pytest.mark.parametrize("world", [*WORLDS, "rho 0.97"])
def test_false_alarms_of_a_week_at_one_a_week(world):
    rng = np.random.default_rng(7)
    make = WORLDS.get(world, lambda rng, n: ar1(rng, n, 0.97))
    # Poisson with mean 1 exceeds 4 in 0.4 % of weeks.
    assert alarms_a_week(make(rng, WEEK_BLOCKS), Detector(least_ratio=1.0)) <= 4


@pytest.mark.parametrize(("rho", "ratio"), [(0.0, 2.0), (0.6, 2.5), (0.9, 6.0)])
def test_what_can_be_told_from_the_noise_is_found_in_two_blocks(rho, ratio):
    rng = np.random.default_rng(3)
    at = np.arange(BASELINE) * BLOCK_S
    found = 0
    for _ in range(20):
        values = ar1(rng, BASELINE, rho)
        values[-2:] *= ratio
        found += Detector().judge(at, values).kind == "anomaly"
    assert found >= 17


def test_one_slow_block_is_no_anomaly():
    values = ar1(np.random.default_rng(3), BASELINE, 0.0)
    values[-1] *= 10
    assert Detector().judge(np.arange(BASELINE) * BLOCK_S, values).kind == "none"


def test_a_small_change_is_none_however_sure():
    values = np.full(BASELINE, 100.0) + np.tile([0.0, 0.1], BASELINE)[:BASELINE]
    values[-2:] *= 1.1
    judged = Detector(least_ratio=1.2).judge(np.arange(BASELINE) * BLOCK_S, values)
    assert judged.kind == "none"
    assert judged.p < judged.needed_p


def test_slow_growth_is_no_anomaly():
    rng = np.random.default_rng(5)
    at = np.arange(BASELINE) * BLOCK_S
    for growth in (0.5, 1.2, 3.0):
        values = ar1(rng, BASELINE, 0.0) * np.exp(np.linspace(0, growth, BASELINE))
        assert Detector().judge(at, values).kind in ("none", "drift")


def test_what_recurs_at_this_time_of_day_is_rhythm():
    rng = np.random.default_rng(5)
    blocks = int(1.5 * DAY_S / BLOCK_S)
    at = np.arange(blocks) * BLOCK_S
    values = ar1(rng, blocks, 0.0)
    nightly = (at % DAY_S >= DAY_S / 2 - 60) & (at % DAY_S < DAY_S / 2 + 3600)
    values[nightly] *= 2
    end = int(np.searchsorted(at, DAY_S * 1.5)) - 1
    values[end - 1 : end + 1] *= 2 if not nightly[end] else 1
    assert nightly.sum() > 100
    judged = Detector().judge(at[: end + 1], values[: end + 1])
    assert judged.kind == "rhythm", judged


def test_a_short_baseline_is_said_to_be_one():
    judged = Detector().judge(np.arange(8) * BLOCK_S, np.ones(8))
    assert judged.kind == "undecided"
    assert "it takes 12" in judged.why


def test_effective_size_falls_with_autocorrelation():
    rng = np.random.default_rng(1)
    independent = rng.normal(size=400)
    walk = np.convolve(independent, np.ones(8), "valid")
    assert correlation(walk) > 0.7
    assert effective_size(walk) < effective_size(independent) / 3
