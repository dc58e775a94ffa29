"""Signatures and reproductions: simulated, so that the truth is known."""

import math

import numpy as np
import pytest
from rows import each_row

from hindmost.stats.causes import Normal, decide, effect_of, reproduction_of, signature_of

NAMES = ("switches", "delay", "faults", "throttled")
LEVEL = np.array([800.0, 20_000.0, 50.0, 0.0])
SICK = np.array([1.0, 12.0, 1.0, 30_000.0])
"""Times normal; of what was nothing, what there is now."""
PAIRS, BLOCKS = 10, 24


def seconds(rng, times, n, spread=0.1):
    """Metrics of so many windows."""
    level = np.where(LEVEL > 0, LEVEL * np.where(LEVEL > 0, times, 1), times * (times > 1))
    return level * np.exp(rng.normal(0.0, spread, (n, len(NAMES))))


def seen(rng, left=None, direct=frozenset()):
    """A suspect whose removal leaves metrics at `left` times normal."""
    back = np.ones(4) if left is None else left
    there, gone = seconds(rng, SICK, PAIRS), seconds(rng, back, PAIRS)
    normal = Normal(NAMES, seconds(rng, np.ones(4), BLOCKS, 0.05))
    return signature_of(normal, there, there, gone, direct, paired=True)


def share(trials, seed, what):
    rng = np.random.default_rng(seed)
    return sum(what(rng) for _ in range(trials)) / trials


def test_a_cause_takes_what_moved_along():
    assert share(60, 1, lambda rng: seen(rng).fits is True) >= 0.95


def test_who_leaves_what_moved_where_it_is_has_another_signature():
    assert share(60, 2, lambda rng: seen(rng, SICK).fits is False) >= 0.95
    half = np.array([1.0, 1.0, 1.0, 30_000.0])
    found = seen(np.random.default_rng(3), half)
    assert found.fits is False
    assert found.stays[0][0] == "throttled"
    assert found.stays[0][1] == pytest.approx(1.0, abs=0.1)


def note_of(found):
    return found.note and found.note.code


def test_what_an_experiment_sets_itself_is_no_evidence():
    half = np.array([1.0, 1.0, 1.0, 30_000.0])
    assert seen(np.random.default_rng(3), half, frozenset({"throttled"})).fits is True
    assert note_of(seen(np.random.default_rng(3), half, frozenset(NAMES))) == "no-free-metric"


def test_units_do_not_count():
    rng = np.random.default_rng(4)
    there, gone = seconds(rng, SICK, PAIRS), seconds(rng, np.ones(4), PAIRS)
    base = seconds(rng, np.ones(4), BLOCKS, 0.05)
    units = np.array([1.0, 50.0, 7.0, 1.0])
    one, other = (
        signature_of(Normal(NAMES, base * u), there * u, there * u, gone * u, paired=True)
        for u in (np.ones(4), units)
    )
    assert one.residual == pytest.approx(other.residual, abs=0.02)


def test_nothing_is_told_of_too_little_or_of_what_hardly_moved():
    rng = np.random.default_rng(5)
    there, gone = seconds(rng, SICK, PAIRS), seconds(rng, np.ones(4), PAIRS)
    base = seconds(rng, np.ones(4), BLOCKS, 0.05)
    few = signature_of(Normal(NAMES, base[:5]), there, there, gone, paired=True)
    assert (few.fits, note_of(few), few.note.values["blocks"]) == (None, "few-normal-blocks", 5)
    assert note_of(signature_of(Normal(NAMES, base), there, there[:3], gone[:3])) == "few-pairs"
    isolated = seconds(rng, np.ones(4), PAIRS)
    assert note_of(signature_of(Normal(NAMES, base), isolated, isolated, gone, paired=True)) == "no-shift"
    # Blocks that remember each other are worth fewer than they are.
    drifting = base * np.exp(np.cumsum(rng.normal(0, 0.3, (BLOCKS, 1)), axis=0))
    few = signature_of(Normal(NAMES, drifting), there, there, gone, paired=True)
    assert (note_of(few), few.note.values["blocks"]) == ("few-normal-blocks", BLOCKS)


def effect(rng, log_ratio, spread=0.15):
    there = np.exp(log_ratio + rng.normal(size=PAIRS) * spread)
    return effect_of(there, np.exp(rng.normal(size=PAIRS) * spread))


def test_latency_that_comes_back_without_its_signature_is_an_unknown_factor():
    rng = np.random.default_rng(6)
    hog, sham = effect(rng, math.log(3)), effect(rng, 0.0)
    stays, fits = seen(rng, SICK), seen(rng)
    assert decide({"hog": hog}, sham, math.log(3), signatures={"hog": fits}).leader == "hog"
    made = decide({"hog": hog}, sham, math.log(3), signatures={"hog": stays})
    assert (made.ruling, made.arms[0].state) == ("unknown factor", "other signature")
    assert (made.note.code, made.note.values) == ("no-cause-shown", {"names": ["hog"]})
    # Who explains a part leaves the rest, and the rest has a signature as well.
    made = decide({"hog": hog}, sham, math.log(6), signatures={"hog": stays})
    assert (made.ruling, made.leader) == ("cause", "hog")


def reproduced(rng, doses, base_us=100.0, host=(300.0, 100.0), signatures=None):
    effects = {name: effect(rng, math.log(times)) for name, times in doses.items()}
    with_us = {name: base_us * math.exp(one.log) for name, one in effects.items()}
    return reproduction_of(effects, with_us, effect(rng, 0.0), host, base_us, signatures=signatures)


def outcomes(doses, trials=100, seed=7):
    rng = np.random.default_rng(seed)
    found: dict[str, float] = {}
    for _ in range(trials):
        made = reproduced(rng, doses)
        key = made.leader or made.outcome
        found[key] = found.get(key, 0.0) + 1 / trials
    return found


def test_who_makes_the_replica_as_slow_is_named_and_no_other():
    found = outcomes({"quota": 3.0, "mask": 1.0, "load": 1.2})
    assert found["quota"] >= 0.95
    assert not {"mask", "load"} & set(found)


def test_without_the_true_cause_nobody_is_named():
    found = outcomes({"mask": 1.0, "load": 1.2}, trials=200)
    assert found.get("unknown factor", 0) >= 0.9
    assert not {"mask", "load"} & set(found)


@each_row(
    ("doses", "base_us", "outcome", "code"),
    [
        ({"quota": 30.0}, 100.0, "inconclusive", "dose-too-large"),
        ({"quota": 3.0}, 5.0, "inconclusive", "partly-reproduced"),
        ({"quota": 1.0}, 290.0, "shared", "slow-replica"),
        ({}, 100.0, "inconclusive", "no-suspect"),
    ],
    ids=["too much", "too little in microseconds", "sick by itself", "no dose"],
)
def test_a_replica_that_is_not_like_the_host_names_nobody(doses, base_us, outcome, code):
    made = reproduced(np.random.default_rng(8), doses, base_us)
    assert (made.outcome, made.note.code) == (outcome, code)


def test_of_two_that_make_it_as_slow_the_one_with_the_anomaly_s_signature_leads():
    rng = np.random.default_rng(9)
    signatures = {"look-alike": seen(rng, SICK), "cause": seen(rng)}
    made = reproduced(rng, {"look-alike": 3.0, "cause": 2.9}, signatures=signatures)
    assert (made.leader, made.also) == ("cause", ())
    assert {arm.name: arm.state for arm in made.arms}["look-alike"] == "other signature"
    blind = reproduced(rng, {"look-alike": 3.0, "cause": 2.9})
    assert {blind.leader, *blind.also} == {"look-alike", "cause"}


def test_latency_near_normal_is_not_reproduced():
    made = reproduced(np.random.default_rng(1), {"quota": 3.0}, host=(101.0, 100.0))
    assert (made.outcome, made.note.code) == ("inconclusive", "no-slowdown")


def test_what_noise_adds_is_not_taken_for_what_is_left():
    def cause(rng):
        there, gone = seconds(rng, SICK, PAIRS, 1.2), seconds(rng, np.ones(4), PAIRS, 1.2)
        normal = Normal(NAMES[:2], seconds(rng, np.ones(4), BLOCKS)[:, :2])
        return signature_of(normal, there[:, :2], there[:, :2], gone[:, :2], paired=True).fits is True

    rate = share(80, 12, cause)
    assert rate >= 0.5
