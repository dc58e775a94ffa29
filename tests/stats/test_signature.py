"""Signatures and reproductions, simulated so that the truth is known."""

import math

import numpy as np
import pytest
from rows import each_row

from hindmost.stats.causes import Normal, decide, effect_of, reproduction_of, signature_of

NAMES = ("switches", "delay", "faults", "throttled")
LEVEL = np.array([800.0, 20_000.0, 50.0, 0.0])
SICK = np.array([1.0, 12.0, 1.0, 30_000.0])
"""Metrics during the slowdown, as multiples of normal, or absolute where normal is zero."""
PAIRS, BLOCKS = 10, 24


def seconds(rng, times, n, spread=0.1):
    """Metrics of `n` windows."""
    level = np.where(LEVEL > 0, LEVEL * np.where(LEVEL > 0, times, 1), times * (times > 1))
    return level * np.exp(rng.normal(0.0, spread, (n, len(NAMES))))


def signature(rng, remaining=None, direct=frozenset()):
    """The signature of a suspect whose removal leaves metrics at `left` times normal."""
    back = np.ones(4) if remaining is None else remaining
    present, absent = seconds(rng, SICK, PAIRS), seconds(rng, back, PAIRS)
    normal = Normal(NAMES, seconds(rng, np.ones(4), BLOCKS, 0.05))
    return signature_of(normal, present, present, absent, direct, paired=True)


def share(trials, seed, outcome):
    rng = np.random.default_rng(seed)
    return sum(outcome(rng) for _ in range(trials)) / trials


def test_removing_the_cause_restores_the_metrics_that_moved():
    assert share(60, 1, lambda rng: signature(rng).fits is True) >= 0.95


def test_a_suspect_whose_removal_leaves_the_metrics_has_another_signature():
    assert share(60, 2, lambda rng: signature(rng, SICK).fits is False) >= 0.95
    half = np.array([1.0, 1.0, 1.0, 30_000.0])
    result = signature(np.random.default_rng(3), half)
    assert result.fits is False
    assert result.stays[0][0] == "throttled"
    assert result.stays[0][1] == pytest.approx(1.0, abs=0.1)


def note_of(result):
    return result.note and result.note.code


def test_a_metric_that_the_experiment_sets_is_no_evidence():
    half = np.array([1.0, 1.0, 1.0, 30_000.0])
    assert signature(np.random.default_rng(3), half, frozenset({"throttled"})).fits is True
    assert note_of(signature(np.random.default_rng(3), half, frozenset(NAMES))) == "no-free-metric"


def test_units_do_not_count():
    rng = np.random.default_rng(4)
    present, absent = seconds(rng, SICK, PAIRS), seconds(rng, np.ones(4), PAIRS)
    base = seconds(rng, np.ones(4), BLOCKS, 0.05)
    units = np.array([1.0, 50.0, 7.0, 1.0])
    plain, scaled = (
        signature_of(Normal(NAMES, base * u), present * u, present * u, absent * u, paired=True)
        for u in (np.ones(4), units)
    )
    assert plain.residual == pytest.approx(scaled.residual, abs=0.02)


def test_too_little_data_or_a_small_shift_gives_no_result():
    rng = np.random.default_rng(5)
    present, absent = seconds(rng, SICK, PAIRS), seconds(rng, np.ones(4), PAIRS)
    base = seconds(rng, np.ones(4), BLOCKS, 0.05)
    few = signature_of(Normal(NAMES, base[:5]), present, present, absent, paired=True)
    assert (few.fits, note_of(few), few.note.values["blocks"]) == (None, "few-normal-blocks", 5)
    assert note_of(signature_of(Normal(NAMES, base), present, present[:3], absent[:3])) == "few-pairs"
    unmoved = seconds(rng, np.ones(4), PAIRS)
    assert note_of(signature_of(Normal(NAMES, base), unmoved, unmoved, absent, paired=True)) == "no-shift"
    # Autocorrelated blocks are worth fewer than their number.
    drifting = base * np.exp(np.cumsum(rng.normal(0, 0.3, (BLOCKS, 1)), axis=0))
    few = signature_of(Normal(NAMES, drifting), present, present, absent, paired=True)
    assert (note_of(few), few.note.values["blocks"]) == ("few-normal-blocks", BLOCKS)


def effect(rng, log_ratio, spread=0.15):
    present = np.exp(log_ratio + rng.normal(size=PAIRS) * spread)
    return effect_of(present, np.exp(rng.normal(size=PAIRS) * spread))


def test_latency_that_comes_back_without_its_signature_is_an_unknown_factor():
    rng = np.random.default_rng(6)
    hog, sham = effect(rng, math.log(3)), effect(rng, 0.0)
    stays, fits = signature(rng, SICK), signature(rng)
    assert decide({"hog": hog}, sham, math.log(3), signatures={"hog": fits}).leader == "hog"
    result = decide({"hog": hog}, sham, math.log(3), signatures={"hog": stays})
    assert (result.ruling, result.arms[0].state) == ("unknown factor", "other signature")
    assert (result.note.code, result.note.values) == ("no-cause-shown", {"names": ["hog"]})
    # A suspect that explains a part leaves the rest, which has a signature as well.
    result = decide({"hog": hog}, sham, math.log(6), signatures={"hog": stays})
    assert (result.ruling, result.leader) == ("cause", "hog")


def reproduce(rng, doses, base_us=100.0, host=(300.0, 100.0), signatures=None):
    effects = {name: effect(rng, math.log(times)) for name, times in doses.items()}
    with_us = {name: base_us * math.exp(dose.log) for name, dose in effects.items()}
    return reproduction_of(effects, with_us, effect(rng, 0.0), host, base_us, signatures=signatures)


def outcomes(doses, trials=100, seed=7):
    rng = np.random.default_rng(seed)
    shares: dict[str, float] = {}
    for _ in range(trials):
        result = reproduce(rng, doses)
        key = result.leader or result.outcome
        shares[key] = shares.get(key, 0.0) + 1 / trials
    return shares


def test_the_suspect_that_slows_the_replica_as_much_is_named_and_no_other():
    shares = outcomes({"quota": 3.0, "mask": 1.0, "load": 1.2})
    assert shares["quota"] >= 0.95
    assert not {"mask", "load"} & set(shares)


def test_without_the_true_cause_no_suspect_is_named():
    shares = outcomes({"mask": 1.0, "load": 1.2}, trials=200)
    assert shares.get("unknown factor", 0) >= 0.9
    assert not {"mask", "load"} & set(shares)


@each_row(
    ("doses", "base_us", "outcome", "code"),
    [
        ({"quota": 30.0}, 100.0, "inconclusive", "dose-too-large"),
        ({"quota": 3.0}, 5.0, "inconclusive", "partly-reproduced"),
        ({"quota": 1.0}, 290.0, "shared", "slow-replica"),
        ({}, 100.0, "inconclusive", "no-suspect"),
    ],
    ids=["too much", "too little in microseconds", "slow without a dose", "no dose"],
)
def test_a_replica_unlike_the_host_names_no_suspect(doses, base_us, outcome, code):
    result = reproduce(np.random.default_rng(8), doses, base_us)
    assert (result.outcome, result.note.code) == (outcome, code)


def test_of_two_equally_slow_suspects_the_one_with_the_anomaly_s_signature_leads():
    rng = np.random.default_rng(9)
    signatures = {"look-alike": signature(rng, SICK), "cause": signature(rng)}
    result = reproduce(rng, {"look-alike": 3.0, "cause": 2.9}, signatures=signatures)
    assert (result.leader, result.also) == ("cause", ())
    assert {arm.name: arm.state for arm in result.arms}["look-alike"] == "other signature"
    blind = reproduce(rng, {"look-alike": 3.0, "cause": 2.9})
    assert {blind.leader, *blind.also} == {"look-alike", "cause"}


def test_latency_near_normal_is_not_reproduced():
    result = reproduce(np.random.default_rng(1), {"quota": 3.0}, host=(101.0, 100.0))
    assert (result.outcome, result.note.code) == ("inconclusive", "no-slowdown")


def test_noise_is_not_mistaken_for_a_remaining_shift():
    def cause(rng):
        present, absent = seconds(rng, SICK, PAIRS, 1.2), seconds(rng, np.ones(4), PAIRS, 1.2)
        normal = Normal(NAMES[:2], seconds(rng, np.ones(4), BLOCKS)[:, :2])
        return signature_of(normal, present[:, :2], present[:, :2], absent[:, :2], paired=True).fits is True

    rate = share(80, 12, cause)
    assert rate >= 0.5
