"""The change detector: false alarms a week under autocorrelation, and what it finds."""

import numpy as np
import pytest
from alarm_worlds import (
    BASELINE,
    BLOCK_S,
    WEEK_BLOCKS,
    WORLDS,
    ar1,
    coverage,
    other_detectors,
    our_detector,
    queue,
    step,
)

from hindmost.stats.series.changes import (
    DAY_S,
    SUSPECTED_BLOCKS,
    Detector,
    block_multiple,
    correlation,
    effective_size,
    interval_by_blocks,
    tail_p,
)

ALARMS = 200.0
"""Alarms a week of the quick test: at one a week it would take weeks. The level is then 0.0099 a block."""


@pytest.mark.parametrize("world", ["independent", "rho 0.9", "queue at 70 %", "daily rhythm", "lognormal"])
def test_false_alarms_stay_below_the_requested_rate(world):
    values = WORLDS[world](np.random.default_rng(19), 600)
    # 600 blocks are five hours: six alarms at the requested rate, and a Poisson of mean 6 is at most 10 in 96 %.
    alarms, _ = our_detector(values, ALARMS, history=400)
    assert alarms <= 1.8 * ALARMS
    # The published equation raises an alarm at every second or third block of the same series.
    assert other_detectors(values)["Eq 6.1"] > 0.2 * WEEK_BLOCKS


@pytest.mark.parametrize("world", ["rho 0.9", "lognormal"])
def test_intervals_contain_the_truth_at_their_level(world):
    values = WORLDS[world](np.random.default_rng(23), 2000)
    by_t, by_blocks = coverage(values, step=20)
    # 94 overlapping intervals: three standard errors of 0.95 are 0.07, and half as much again.
    assert by_t >= 0.85
    assert by_blocks >= 0.82


@pytest.mark.nightly
@pytest.mark.parametrize("world", WORLDS)
def test_false_alarms_of_weeks_at_one_a_week(world):
    rng = np.random.default_rng(7)
    weeks = [our_detector(WORLDS[world](rng, WEEK_BLOCKS), 1.0)[0] for _ in range(4)]
    # Poisson with mean 4 exceeds 10 in 0.3 % of cases.
    assert sum(weeks) <= 10, weeks


def test_blocks_are_merged_until_they_are_independent():
    rng = np.random.default_rng(3)
    assert block_multiple(ar1(rng, 900, 0.9)) == 1
    slow = np.repeat(ar1(rng, 150, 0.0), 6)
    assert block_multiple(slow) in (4, 8)
    walk = np.exp(np.cumsum(rng.normal(size=900)) / 10)
    assert block_multiple(walk) is None


def test_a_busy_queue_needs_its_own_tail_and_not_the_normal_law_s():
    values = np.log(queue(np.random.default_rng(5), 2500, 0.9))
    extreme = np.quantile(values, 0.999)
    normal = Detector().needed_p
    assert tail_p(values, extreme) > 3e-4
    assert tail_p(values, values.mean() + 12 * values.std()) < normal
    assert tail_p(values, float(np.median(values))) == 1.0
    # Three excesses do not determine a tail.
    assert tail_p(np.arange(20.0), 1e6) == 1.0


def test_an_event_that_recurs_now_and_then_is_not_an_anomaly():
    rng = np.random.default_rng(8)
    values = np.exp(rng.normal(size=963) * 0.05)
    for begin in range(40, 940, 75):  # a job every forty minutes
        values[begin : begin + 2] *= 3.0
    values[-2:] *= 3.0
    change = Detector().judge(np.arange(963) * BLOCK_S, values)
    assert change.kind == "none"
    assert change.p < change.needed_p
    assert change.tail_p > Detector().a_block
    values[-2:] *= 5.0
    assert Detector().judge(np.arange(963) * BLOCK_S, values).kind == "anomaly"


def test_the_bootstrap_s_interval_moves_with_the_last_blocks():
    values = ar1(np.random.default_rng(3), BASELINE, 0.6)
    low, high = interval_by_blocks(values)
    assert low < 1.0 < high
    values[-2:] *= 3.0
    low, high = interval_by_blocks(values)
    assert 2.0 < low < 3.2 < high < 5.0
    assert np.isnan(interval_by_blocks(values[:10])[0])


@pytest.mark.parametrize(("rho", "ratio"), [(0.0, 2.0), (0.6, 2.5), (0.9, 6.0)])
def test_a_change_above_the_noise_is_found_in_two_blocks(rho, ratio):
    rng = np.random.default_rng(3)
    # Four hours of history; after one hour the tail is less certain, and half as much again is needed.
    times_s = np.arange(4 * 120 + 3) * BLOCK_S
    hits = 0
    for _ in range(20):
        values = ar1(rng, len(times_s), rho)
        values[-2:] *= ratio
        hits += Detector().judge(times_s, values).kind == "anomaly"
    assert hits >= 17


@pytest.mark.parametrize("world", ["rho 0.2", "rho 0.6", "rho 0.9", "rho 0.97", "queue at 70 %"])
@pytest.mark.parametrize("quiet_min", [15, 30, 60])
@pytest.mark.parametrize("ratio", [3.0, 150.0, 1000.0])
def test_a_step_is_called_or_undecided_for_some_minutes_within_two_minutes(world, quiet_min, ratio):
    for seed in range(2):
        first = step(world, quiet_min, ratio, seed)[:4]
        answers = {change.kind: change for change in first}
        assert {"anomaly", "undecided"} & set(answers), seed
        if "anomaly" not in answers:
            assert 0 < answers["undecided"].minutes <= SUSPECTED_BLOCKS * BLOCK_S / 60


@pytest.mark.parametrize("world", ["rho 0.2", "rho 0.9"])
def test_an_outage_does_not_become_its_own_baseline(world):
    answers = step(world, 33, 150.0, seed=4, blocks=60)
    assert {change.kind for change in answers[2:]} == {"anomaly"}
    assert min(change.ratio for change in answers[2:]) > 50
    assert len({change.since_s for change in answers[2:]}) == 1


def test_an_anomaly_ends_with_the_latency():
    values = ar1(np.random.default_rng(3), 90, 0.0)
    values[60:75] *= 30
    kinds = [change.kind for change in Detector().follow(np.arange(90) * BLOCK_S, values)][-30:]
    assert kinds[3:15] == ["anomaly"] * 12
    assert kinds[-10:] == ["none"] * 10


def test_blocks_without_answers_in_time_are_slow():
    values = ar1(np.random.default_rng(3), 64, 0.0)
    values[60:] = np.inf
    assert Detector().judge(np.arange(64) * BLOCK_S, values).kind == "anomaly"


def test_one_slow_block_is_not_an_anomaly():
    values = ar1(np.random.default_rng(3), BASELINE, 0.0)
    values[-1] *= 10
    assert Detector().judge(np.arange(BASELINE) * BLOCK_S, values).kind == "none"


def test_a_small_change_is_not_an_anomaly_however_certain():
    values = np.full(BASELINE, 100.0) + np.tile([0.0, 0.1], BASELINE)[:BASELINE]
    values[-2:] *= 1.1
    change = Detector(least_ratio=1.2).judge(np.arange(BASELINE) * BLOCK_S, values)
    assert change.kind == "none"
    assert change.p < change.needed_p


def test_slow_growth_is_not_an_anomaly():
    rng = np.random.default_rng(5)
    times_s = np.arange(BASELINE) * BLOCK_S
    for growth in (0.5, 1.2, 3.0):
        values = ar1(rng, BASELINE, 0.0) * np.exp(np.linspace(0, growth, BASELINE))
        assert Detector().judge(times_s, values).kind in ("none", "drift")


def test_a_change_that_recurs_at_this_time_of_day_is_rhythm():
    rng = np.random.default_rng(5)
    blocks = int(1.5 * DAY_S / BLOCK_S)
    times_s = np.arange(blocks) * BLOCK_S
    values = ar1(rng, blocks, 0.0)
    nightly = (times_s % DAY_S >= DAY_S / 2 - 60) & (times_s % DAY_S < DAY_S / 2 + 3600)
    values[nightly] *= 2
    end = int(np.searchsorted(times_s, DAY_S * 1.5)) - 1
    values[end - 1 : end + 1] *= 2 if not nightly[end] else 1
    assert nightly.sum() > 100
    change = Detector().judge(times_s[: end + 1], values[: end + 1])
    assert change.kind == "rhythm", change


def test_a_short_baseline_decides_nothing():
    assert Detector().judge(np.arange(8) * BLOCK_S, np.ones(8)).kind == "undecided"


def test_effective_size_falls_with_autocorrelation():
    rng = np.random.default_rng(1)
    independent = rng.normal(size=400)
    walk = np.convolve(independent, np.ones(8), "valid")
    assert correlation(walk) > 0.7
    assert effective_size(walk) < effective_size(independent) / 3
