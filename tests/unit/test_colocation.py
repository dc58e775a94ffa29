"""Predictions of how programs slow each other, the promise, the tail, and the savings."""

import json
import re

import numpy as np
import pytest
from messages import raises
from profile_cards import axis, card, interval, under_load

from hindmost.cli import main
from hindmost.commands.colocate.documents.profiles import Growth
from hindmost.commands.colocate.prediction.bound import judge_pair
from hindmost.commands.colocate.prediction.models import Linear, Product, Zero
from hindmost.commands.colocate.prediction.profiles import Profiles
from hindmost.commands.colocate.prediction.promise import HeldOut, learn_admission, predict_held_out
from hindmost.commands.colocate.prediction.skill import pairs_of, scores
from hindmost.commands.colocate.prediction.tail import (
    allowed_loss,
    mm1,
    simulate_percentiles,
    stretch_service,
)
from hindmost.errors import UsageError
from hindmost.present.terminal import render_terminal
from reproduce.smite import core
from reproduce.smite.core import of_core
from reproduce.smite.steering import loss_of_tail, steer
from reproduce.smite.tables import predictors_view, steering_view
from reproduce.smite.tco import saving, tornado


def make_profiles(n: int = 20, seed: int = 1) -> tuple[Profiles, np.ndarray]:
    """Return programs whose losses are a product, as in `Product`: 5 % presence, three resources."""
    rng = np.random.default_rng(seed)
    own, inflicted = rng.uniform(0, 0.5, (n, 3)), rng.uniform(0, 0.6, (n, 3))
    presence = rng.uniform(0.02, 0.08, n)
    weights = np.array([1.0, 0.5, 2.0])
    logs = -np.log(1 - presence)[:, None] + (own * weights) @ inflicted.T
    sensitivity = 1 - np.exp(-own) * (1 - presence)[:, None]
    profiles = Profiles(
        tuple(f"p{i}" for i in range(n)), ("a", "b", "c"), sensitivity, 1 - np.exp(-inflicted), presence
    )
    return profiles, 1 - np.exp(-logs)


def test_the_product_model_fits_a_product_and_eq_3_3_does_not():
    profiles, lost = make_profiles()
    result = {score.name: score for score in scores(profiles, lost, splits=10)}
    assert result["kept"].error < 1e-6
    assert result["kept"].skill > 0.99
    assert result["Eq 3.3"].error > 0.003
    assert result["zero"].trivial
    assert result["zero"].error == pytest.approx(lost.mean(), rel=0.2)


def test_eq_3_3_recovers_its_coefficients():
    profiles, _ = make_profiles()
    pairs = pairs_of(np.arange(20))
    c = np.array([0.3, 0.8, 0.1])
    lost = (profiles.sensitivity[pairs[0]] * profiles.contentiousness[pairs[1]]) @ c + 0.02
    fitted = Linear().fit(profiles, *pairs, lost)
    assert fitted.coefficients_ == pytest.approx([*c, 0.02], abs=1e-5)


def test_no_coefficient_of_the_product_is_negative():
    profiles, lost = make_profiles()
    pairs = pairs_of(np.arange(20))
    # Programs gain from company: an unconstrained line would have a negative slope.
    assert (Product().fit(profiles, *pairs, 0.9 - lost[pairs]).coefficients_ >= 0).all()


def test_calibration_removes_the_attenuation_by_noise():
    rng = np.random.default_rng(5)
    true = rng.normal(0.3, 0.1, (400, 1))
    noisy = true + rng.normal(0, 0.1, (400, 1))
    errors = np.full((400, 1), 0.1)
    presence = np.zeros(400)
    profiles = Profiles(tuple(map(str, range(400))), ("a",), noisy, noisy, presence, errors, errors)
    slope = np.polyfit(noisy[:, 0], true[:, 0], 1)[0]
    calibrated = np.polyfit(profiles.calibrate().sensitivity[:, 0], true[:, 0], 1)[0]
    assert slope == pytest.approx(0.5, abs=0.1)
    assert calibrated == pytest.approx(1.0, abs=0.15)


def independent_pairs(predicted, truth) -> HeldOut:
    """Return pairs of programs that are in no other pair."""
    numbers = np.arange(len(predicted))
    return HeldOut(predicted, truth, 2 * numbers, 2 * numbers + 1)


def test_with_the_margin_at_most_the_rate_exceeds_the_limit():
    rng = np.random.default_rng(1)
    truth = rng.uniform(0, 0.4, 2000)
    predicted = truth + rng.normal(0, 0.05, 2000)
    for rate in (0.05, 0.2):
        admitted = predicted <= 0.2 - independent_pairs(predicted, truth).margin(0.2, rate)
        assert 0.8 * rate < (truth[admitted] > 0.2).mean() <= rate
    assert independent_pairs(predicted[:10], np.ones(10)).margin(0.2, 0.05) == float("inf")


def test_equal_predictions_are_admitted_together_or_not_at_all():
    truth = np.where(np.arange(30) < 20, 0.1, 0.9)
    alike = independent_pairs(np.full(30, 0.1), truth)
    assert alike.margin(0.2, 0.2) == float("inf"), "a third of them would break the limit"
    assert alike.margin(0.2, 0.4) == pytest.approx(0.1)


def test_the_violation_rate_counts_a_new_program_with_all_its_pairs():
    predicted, truth = np.linspace(0.0, 0.1, 20), np.zeros(20)
    assert independent_pairs(predicted, truth).rates(0.2)[1][-1] == pytest.approx(1 / 21)
    dependent = HeldOut(predicted, truth, np.zeros(20, dtype=int), np.arange(1, 21))
    assert dependent.rates(0.2)[1] == pytest.approx([0.5] * 20), "all are pairs of one program"
    assert dependent.margin(0.2, 0.3) == float("inf")
    assert independent_pairs(predicted, truth).margin(0.2, 0.05) == pytest.approx(0.1)


def test_every_pair_is_predicted_by_a_model_fitted_without_its_programs():
    profiles, lost = make_profiles(12)
    fitted: list[set[int]] = []

    class RecordingZero(Zero):
        def fit(self, profiles, victims, companions, lost):
            fitted.append({*victims.tolist(), *companions.tolist()})
            return self

        def predict(self, profiles, victims, companions):
            assert not fitted[-1] & {*victims.tolist(), *companions.tolist()}
            return super().predict(profiles, victims, companions)

    result = predict_held_out(RecordingZero, profiles, np.arange(12), lost, folds=4)
    pairs = set(zip(result.victims.tolist(), result.companions.tolist(), strict=True))
    assert len(pairs) == result.truth.size == 12 * 12 - 4 * 3 * 3
    assert (result.truth == lost[result.victims, result.companions]).all()


def test_new_programs_are_admitted_within_the_requested_violation_rate():
    profiles, lost = make_profiles(40)
    rng = np.random.default_rng(2)
    noisy = np.clip(lost + rng.normal(0, 0.03, lost.shape), 0, 1)
    admitted = violated = 0
    for draw in range(40):
        order = rng.permutation(40)
        rule = learn_admission(Product, profiles, order[:28], noisy, limit=0.3, rate=0.2, seed=draw)
        pairs = pairs_of(order[28:])
        yes = rule.admits(rule.model.predict(profiles, *pairs))
        admitted, violated = admitted + yes.sum(), violated + (noisy[pairs][yes] > 0.3).sum()
    assert admitted > 300
    assert violated / admitted < 0.2


def test_an_answer_is_yes_no_or_unknown():
    profiles, lost = make_profiles(40)
    rule = learn_admission(Zero, profiles, np.arange(40), lost, limit=0.2, rate=0.05)
    assert rule.answer(0.0) == "unknown"
    sure = learn_admission(Product, profiles, np.arange(40), lost, limit=0.3, rate=0.2)
    assert [sure.answer(loss) for loss in (0.0, 0.9)] == ["yes", "no"]


@pytest.mark.parametrize(("load", "servers"), [(0.3, 1), (0.7, 1)])
def test_the_simulated_queue_agrees_with_eq_3_6_for_exponential_service(load, servers):
    service = np.random.default_rng(1).exponential(size=50_000)
    result = simulate_percentiles(service, load, np.array([0.9, 0.99]), servers=servers, lost=0.1)
    expected = [mm1(p, load, 0.1) for p in (0.9, 0.99)]
    assert result == pytest.approx(expected, rel=0.1)


def test_two_servers_of_one_queue_agree_with_erlang():
    # M/M/2 at load 1/2: a third of requests waits; the mean time in the system is 4/3 of the service time.
    service = np.random.default_rng(1).exponential(size=50_000)
    median, high = simulate_percentiles(service, 0.5, np.array([0.5, 0.99]), servers=2, requests=100_000)
    assert median == pytest.approx(0.95, rel=0.08)
    assert high < simulate_percentiles(service, 0.5, np.array([0.99]), requests=100_000)[0]


def test_mm1_overstates_the_tail_of_steady_service_and_an_overload_has_no_percentile():
    steady = np.random.default_rng(1).lognormal(0, 0.3, 50_000)
    steady /= steady.mean()
    assert mm1(0.99, 0.5, 0.15) > 1.5 * simulate_percentiles(steady, 0.5, np.array([0.99]), lost=0.15)[0]
    assert mm1(0.99, 0.9, 0.2) == float("inf")
    assert mm1(0.9, 0.5, allowed_loss(0.1, 0.5)) == pytest.approx(1.1 * mm1(0.9, 0.5))


def test_a_quantile_map_slows_only_the_slowed_requests():
    alone = np.linspace(1, 10, 10)
    with_job = np.where(alone > 5, 2 * alone, alone)
    assert stretch_service(alone, with_job, np.array([2.0, 8.0])) == pytest.approx([2.0, 16.0])


def test_the_savings_of_the_paper_follow_from_its_gains():
    for gain, paper in ((0.4297, 0.2105), (0.2203, 0.1070)):
        assert saving(gain).instances == pytest.approx(paper, abs=0.003)
        assert saving(gain, speed=0.7).work < 0.75 * saving(gain).instances
    result = tornado(0.4297, speed=0.7)
    assert next(iter(result)) == "speed"


def test_an_oracle_breaks_no_promise_and_random_placement_does():
    rng = np.random.default_rng(1)
    truth = rng.uniform(0, 0.5, (4, 10))
    outcomes = steer(truth, truth + rng.normal(0, 0.05, truth.shape), np.array([0.85, 0.9]), servers=400)
    outcomes_by_policy = {(outcome.policy, outcome.target): outcome for outcome in outcomes}
    for target in (0.85, 0.9):
        assert outcomes_by_policy["oracle", target].violated == 0
        assert outcomes_by_policy["none", target].gained == 0
        assert outcomes_by_policy["random", target].gained == pytest.approx(
            outcomes_by_policy["steered", target].gained, abs=1e-3
        )
        assert outcomes_by_policy["random", target].violated > outcomes_by_policy["steered", target].violated
    outcomes = steer(truth, truth, np.array([0.85]), servers=400)
    assert outcomes == steer(truth, truth, np.array([0.85]), servers=400)
    assert loss_of_tail(np.array([1.0, 0.75, 0.5]), 0.5) == pytest.approx([1.0, 0.5, 0.0])


@pytest.fixture(scope="module")
def small():
    return core.compare(10, splits=5, draws=5, warm=2000, ticks=3000, filled=5000)


def test_the_simulation_scores_every_predictor_and_the_trivial_ones(small):
    names = [score["name"] for score in small["scores"]]
    assert names[:4] == ["zero", "naive mean", "row mean", "sensitivities only"]
    assert {"Eq 3.3", "kept"} <= set(names)
    text = render_terminal(predictors_view(small), width=100, color=False)
    assert all(name in text for name in names)
    assert f"{small['promise']['rate']:.0%}" in text


def replica_pairs():
    """Return the simulated programs' losses to stressors beyond presence, pressure, presence, and pair losses."""
    profiles, lost = core.run_core(16, 2, warm=1000, ticks=4000, filled=5000)
    beyond = 1 - (1 - profiles.sensitivity) / (1 - profiles.presence[:, None])
    return beyond, profiles.contentiousness, profiles.presence, lost


def summed_pairs():
    """Return the same for programs that lose a little to each of ten resources, where Eq 3.3 is exact."""
    rng = np.random.default_rng(3)
    own, inflicted, presence = rng.uniform(0, 0.06, (16, 10)), rng.uniform(0, 1, (16, 10)), np.zeros(16)
    return own, inflicted, presence, own @ inflicted.T


@pytest.mark.parametrize("measure", ["rate", "p99"])
@pytest.mark.parametrize("pairs", [replica_pairs, summed_pairs])
def test_at_most_one_in_twenty_admitted_jobs_exceeds_the_limit(pairs, measure):
    own, inflicted, presence, lost = pairs()
    rng = np.random.default_rng(1)
    admitted = broken = 0
    for _ in range(1000):
        victim, companion = rng.integers(0, 16, 2)
        load, noise = rng.uniform(0.05, 0.5), rng.uniform(0.001, 0.03)
        within = (1 - load) / (1 - load - min(rng.uniform(0.02, 0.7), 0.9 * (1 - load))) - 1

        def measured(true, change=lambda lost: lost, noise=noise):
            value = float(true + rng.normal(0, noise))
            return interval(value, value - 1.96 * noise, value + 1.96 * noise).map(change)

        def growth_of(true, busy=0.1):
            p99 = measured(true, lambda lost: mm1(0.99, busy, min(lost, 0.85)) / mm1(0.99, busy) - 1)
            return Growth(p50=p99, p99=p99)

        none = interval(0.0, 0.0, 0.0)
        pressures = map(measured, inflicted[companion])
        job = card("job", axes=[axis(str(k), none, one) for k, one in enumerate(pressures)], noise=noise)
        if measure == "rate":
            losses = map(measured, own[victim])
            axes = [axis(str(k), one, none) for k, one in enumerate(losses)]
            server = card("server", axes=axes, presence=measured(presence[victim]), noise=noise)
        else:
            alone, growths = growth_of(presence[victim]), map(growth_of, own[victim])
            axes = [axis(str(k), measured(0.0), none, one) for k, one in enumerate(growths)]
            loaded = under_load(0.1, alone.p50, alone.p99)
            server = card("server", axes=axes, presence=measured(0.0), loaded=loaded, noise=noise)
        answer = judge_pair(job, server, within=within, load=load).answer
        admitted += answer == "yes"
        broken += answer == "yes" and mm1(0.99, load, lost[victim, companion]) > (1 + within) * mm1(
            0.99, load
        )
    assert admitted > 10, "a bound that admits nothing proves nothing"
    assert broken <= 0.05 * admitted


def test_presence_is_what_the_inert_stressor_costs():
    profiles, lost = core.run_core(8, 1, warm=1000, ticks=2000, filled=0)
    assert profiles.presence.mean() > 0.05
    assert "null" not in profiles.stressors
    assert lost.shape == (8, 8)
    with raises(UsageError, "few-programs", have=3):
        core.run_core(3, 1)


def test_only_pairs_that_ran_are_scored():
    result = core.compare(16, splits=4, draws=4, warm=500, ticks=1000, filled=2000, partners=6)
    assert 0 < result["promise"]["asked"] < 4 * 25
    assert all(np.isfinite(score["error"]) for score in result["scores"])


def test_filled_caches_change_what_a_program_loses():
    cold, warm = (core.run_core(8, 1, warm=0, ticks=2000, filled=filled)[1] for filled in (0, 50_000))
    assert np.abs(cold - warm).mean() > 0.02


def test_a_cluster_is_steered_by_predictions(monkeypatch):
    run = core.run_core
    monkeypatch.setattr(
        core, "run_core", lambda programs, seed, ticks: run(programs, seed, warm=500, ticks=1000, filled=0)
    )
    document = core.steering(10, servers=40)
    assert {
        len(rows)
        for outcomes_by_policy in document["levels"].values()
        for rows in outcomes_by_policy.values()
    } == {80}
    text = render_terminal(steering_view(document), width=100, color=False)
    assert all(f"{saving['instances']:.2%}" in text for saving in document["paper"].values())


@pytest.mark.parametrize(("arguments", "hint"), [(["--load", "50"], "write 50%"), (["--load", "x"], None)])
def test_a_missing_percent_sign_is_reported(arguments, hint, capsys):
    assert main(["colocate", "predict", "--lost", "10%", *arguments, "--json"]) == 2
    error = json.loads(capsys.readouterr().out)
    assert error["code"] == "bad-value" or hint is None
    assert hint is None or error["hint"] == hint


def test_hints_of_the_simulation_name_its_own_options(small):
    shown = small | {"promise": small["promise"] | {"least_rate": 0.9}}
    text = render_terminal(predictors_view(shown), width=100, color=False)
    options = set(re.findall(r"--[a-z]+", text))
    assert options == {"--programs", "--violations"}


def test_profiles_of_the_simulation_are_relative_to_each_programs_rate():
    matrix = {
        "programs": ["p"],
        "stressors": ["null", "r"],
        "solo": [2.0],
        "stressor_solo": [1.0, 4.0],
        "beside_stressor": [[1.8, 1.0]],
        "stressor_beside": [[0.5, 1.0]],
        "stressor_beside_null": [1.0, 2.0],
        "beside": [[1.5]],
    }
    profiles, lost = of_core(matrix)
    assert profiles.presence == pytest.approx([0.1])
    assert profiles.sensitivity == pytest.approx(np.array([[0.5]]))
    assert profiles.contentiousness == pytest.approx(np.array([[0.5]]))
    assert lost == pytest.approx(np.array([[0.25]]))
