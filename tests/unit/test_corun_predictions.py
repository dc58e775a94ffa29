"""What two cards predict, and whether a promise was kept."""

import math

import numpy as np
import pytest
from rows import each_row

from hindmost.colocation.prediction import predict_from_lighter, predict_growth
from hindmost.colocation.queues import LEVELS, Solo
from hindmost.colocation.scores import scores
from hindmost.colocation.tail import Queue, block_of, mm1, simulate_percentiles
from hindmost.studies.colocation.corun import verdict


def share(value: float, half: float = 0.01) -> dict[str, float]:
    return {"value": value, "low": value - half, "high": value + half, "windows": 5}


def axis(stressor: str, lost: float, grown: float, taken: float) -> dict:
    latency = {"p50": share(grown / 2), "p99": share(grown)}
    return {
        "stressor": stressor,
        "sensitivity": share(lost),
        "contentiousness": share(taken),
        "latency": latency,
    }


SERVER = {
    "loaded": {"busy": 0.4},
    "axes": [axis("l3", 0.1, 0.5, 0.0), axis("dram", 0.2, 1.0, 0.0), axis("tlb", 0.3, 3.0, 0.0)],
}
JOB = {"axes": [axis("l3", 0.0, 0.0, 0.5), axis("dram", 0.0, 0.0, 0.2), axis("tlb", 0.0, 0.0, -0.005)]}


def test_each_guess_is_its_sum_of_logarithms_over_stressors():
    found = {one["model"]: one for one in predict_growth(SERVER, JOB)}
    assert list(found) == ["zero", "mean stressor", "product", "worst stressor", "M/M/1"]
    assert found["zero"]["p99"] == found["zero"]["lost"] == 0
    assert found["product"]["lost"] == pytest.approx(0.5 * 0.1 + 0.2 * 0.2)
    assert found["product"]["p99"] == pytest.approx(1.5**0.5 * 2**0.2 - 1), "what is taken below 0 is noise"
    assert found["mean stressor"]["p99"] == pytest.approx((1.5 * 2 * 4) ** (1 / 3) - 1)
    assert found["worst stressor"]["p99"] == pytest.approx(1.0), "the job slows l3 and dram, not tlb"
    assert found["worst stressor"]["p50"] == pytest.approx(0.5)
    assert found["M/M/1"]["p99"] == pytest.approx(mm1(0.9, 0.4, 0.09) / mm1(0.9, 0.4) - 1)


def test_a_queue_without_end_and_cards_without_a_common_stressor_are_no_number_that_lies():
    full = {"loaded": {"busy": 0.95}, "axes": SERVER["axes"]}
    endless = {one["model"]: one for one in predict_growth(full, JOB)}["M/M/1"]
    assert endless["p50"] is endless["p99"] is None
    apart = predict_growth(SERVER, {"axes": [axis("branch", 0.0, 0.0, 0.5)]})
    assert {one["p99"] for one in apart} == {0.0}


@each_row(
    ("grown", "said"),
    [
        (share(0.05, 0.04), "kept"),
        (share(0.05, 0.06), "undecided"),
        (share(0.2, 0.05), "broken"),
        (None, "undecided"),
    ],
)
def test_a_promise_is_judged_by_the_interval(grown, said):
    assert verdict(grown, 0.1) == said


def ran(real: dict | None, guess: float | None, low: float | None = None, high: float | None = None) -> dict:
    one = {"model": "m", "p50": 0.0, "p99": guess, "p99_low": low, "p99_high": high}
    return {"latency": {"p50": None, "p99": real}, "predicted": [one]}


def test_scores_are_mean_errors_of_logarithms_of_what_was_measured():
    (found,) = scores([ran(share(1.0), 0.0), ran(share(0.5), 2.0), ran(None, 5.0), ran(share(1.0), None)])
    assert found["p99"] == pytest.approx((math.log(2) + math.log(2)) / 2)
    assert found["p50"] is None
    assert (found["covered"], found["told"]) == (0, 0), "without intervals nothing is covered"


@each_row(
    ("real", "guess", "covered"),
    [
        (share(0.30, 0.01), (0.2, 0.1, 0.4), 1),
        (share(0.42, 0.01), (0.2, 0.1, 0.4), 0),
        (share(0.42, 0.10), (0.2, 0.1, 0.4), 1),
        (share(0.05, 0.01), (0.2, 0.1, 0.4), 0),
        (share(0.06, 0.10), (0.2, 0.1, 0.4), 1),
        (share(0.001, 0.002), (0.0, 0.0, 0.0), 1),
        (share(0.005, 0.002), (0.0, 0.0, 0.0), 0),
    ],
)
def test_a_guess_covers_what_its_interval_and_that_of_the_measurement_allow(real, guess, covered):
    (found,) = scores([ran(real, *guess)])
    assert (found["covered"], found["told"]) == (covered, 1)


def test_an_interval_of_a_guess_is_as_wide_as_what_the_cards_do_not_know():
    def wide(half: float) -> float:
        axes = [{**axis("l3", 0.2, 1.0, 0.0), "sensitivity": share(0.2, half)}]
        axes[0]["latency"] = {"p50": share(0.5, half), "p99": share(1.0, half)}
        job = {"axes": [{**axis("l3", 0, 0, 0), "contentiousness": share(0.5, half)}]}
        found = {one["model"]: one for one in predict_growth({"loaded": {"busy": 0.4}, "axes": axes}, job)}
        for name in ("product", "M/M/1", "worst stressor"):
            assert found[name]["p99_low"] <= found[name]["p99"] <= found[name]["p99_high"]
        assert found["zero"]["p99_low"] == found["zero"]["p99_high"] == 0
        return found["product"]["p99_high"] - found["product"]["p99_low"]

    assert wide(0.1) > 5 * wide(0.01) > 0


SERVICE = np.random.default_rng(2).lognormal(math.log(80.0), 0.4, 20_000)


@pytest.mark.parametrize("load", [0.2, 0.5])
def test_a_queue_of_the_servers_own_service_times_grows_as_one_that_is_simulated(load):
    rate = load / SERVICE.mean() * 1e6
    solo = Solo(SERVICE, rate)
    assert solo.load == pytest.approx(load)
    found = {one["model"]: one for one in predict_growth(SERVER, JOB, solo)}
    lost = found["product"]["lost"]
    truth = simulate_percentiles(SERVICE, load, LEVELS, lost=lost, seed=9) / simulate_percentiles(
        SERVICE, load, LEVELS, seed=9
    )
    assert (1 + found["M/G/1"]["p50"], 1 + found["M/G/1"]["p99"]) == pytest.approx(tuple(truth), rel=0.05)
    # Its quantiles grow far more than its rate falls, and both wait in the same queue.
    assert found["quantile map"]["p99"] > found["M/G/1"]["p99"]
    assert found["M/M/1"]["p99"] == pytest.approx(mm1(0.9, load, lost) / mm1(0.9, load) - 1, rel=0.01)


def test_where_nobody_waits_a_quantile_map_is_how_the_quantiles_grow():
    solo = Solo(SERVICE, 0.001 / SERVICE.mean() * 1e6)
    found = {one["model"]: one for one in predict_growth(SERVER, JOB, solo)}
    product, mapped = found["product"], found["quantile map"]
    assert product["p99"] > 1.5 * product["p50"]
    assert (mapped["p50"], mapped["p99"]) == pytest.approx((product["p50"], product["p99"]), rel=0.05)


def test_slow_spells_make_a_tail_that_requests_which_forget_do_not():
    rng = np.random.default_rng(3)
    slow = np.repeat(rng.random(400) < 0.1, 50)  # spells of 50 requests
    service = rng.lognormal(math.log(50.0), 0.2, slow.size) * np.where(slow, 4.0, 1.0)
    assert block_of(rng.permutation(service)) <= 2
    assert 30 <= block_of(service) <= 400
    between = service.mean() / 0.5
    real = Queue(rng.exponential(between, service.size), service).percentiles(LEVELS)[1]
    kept = Queue.draw(service, between, requests=100_000, block=block_of(service)).percentiles(LEVELS)[1]
    lost = Queue.draw(service, between, requests=100_000).percentiles(LEVELS)[1]
    assert kept == pytest.approx(real, rel=0.25)
    assert lost < 0.7 * real


@pytest.mark.parametrize("load", [0.3, 0.6])
def test_what_was_seen_under_a_light_load_says_what_comes_under_a_heavy_one(load):
    rng = np.random.default_rng(4)

    def windows(stall: float) -> list[np.ndarray]:
        def one() -> np.ndarray:
            return rng.lognormal(math.log(80.0), 0.4, 1_000) + np.where(rng.random(1_000) < 0.05, stall, 0.0)

        return [one() for _ in range(20)]

    alone, beside = windows(0.0), windows(300.0)
    solo = Solo(np.concatenate(alone), load / np.concatenate(alone).mean() * 1e6)
    found = {one["model"]: one for one in predict_from_lighter(alone, beside, (0.1, 0.0, 0.5), solo)}
    between = 1e6 / solo.rate
    truth = [
        Queue.draw(np.concatenate(windows(stall)), between, requests=200_000, seed=8).percentiles(LEVELS)[1]
        for stall in (300.0, 0.0)
    ]
    grown = truth[0] / truth[1] - 1
    for model in ("M/G/1", "quantile map", "regimes"):
        one = found[f"lighter: {model}"]
        assert one["p99_low"] <= one["p99"] <= one["p99_high"]
        off = abs(math.log((1 + one["p99"]) / (1 + grown)))
        assert off < (0.1 if model != "M/G/1" else 1.0), (model, one, grown)
    assert found["lighter: no more"]["p99"] == 0.5
    # A few stalls are not all requests a little slower.
    assert found["lighter: M/G/1"]["p99"] < 0.8 * grown


def test_too_few_requests_say_nothing_of_a_tail_and_a_queue_that_does_not_end_has_none():
    solo = Solo(SERVICE, 0.9 / SERVICE.mean() * 1e6)
    few = [SERVICE[:50]]
    assert predict_from_lighter(few, few, (0.0, 0.0, 0.0), solo) == []
    # A window of a few among others may be drawn again and again.
    assert predict_from_lighter([*few, SERVICE[:2000]], [*few, SERVICE[:2000]], (0.0, 0.0, 0.0), solo)
    found = {one["model"]: one for one in predict_growth(SERVER, JOB, solo)}
    assert found["quantile map"]["p99"] is found["regimes"]["p99"] is None
