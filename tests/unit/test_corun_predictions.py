"""What two profiles predict, and whether a promise was kept."""

import math

import numpy as np
import pytest
from msgspec.structs import asdict, replace
from profile_cards import PROCESSOR, card, share, under_load
from profile_cards import axis as axis_of
from rows import each_row

from hindmost.commands.colocate.corun import verdict
from hindmost.commands.colocate.documents.profiles import (
    CORUN_SCHEMA,
    Axis,
    CoRun,
    Growth,
    JobEffect,
    JobEffectAtProfileLoad,
    PredictedLoss,
    Share,
)
from hindmost.commands.colocate.prediction.queues import LEVELS, Solo
from hindmost.commands.colocate.prediction.scores import scores
from hindmost.commands.colocate.prediction.slowdown import predict_from_lighter, predict_growth
from hindmost.commands.colocate.prediction.tail import Queue, block_of, mm1, simulate_percentiles
from hindmost.commands.colocate.view.corun import view_corun
from hindmost.present.page import render_page
from hindmost.present.terminal import render_terminal


def axis(stressor: str, lost: float, grown: float, taken: float, half: float = 0.01) -> Axis:
    latency = Growth(p50=share(grown / 2, half), p99=share(grown, half))
    return axis_of(stressor, share(lost, half), share(taken, half), latency)


SERVER = card(
    "server",
    axes=[axis("l3", 0.1, 0.5, 0.0), axis("dram", 0.2, 1.0, 0.0), axis("tlb", 0.3, 3.0, 0.0)],
    loaded=under_load(0.4),
)
JOB = card(
    "job", axes=[axis("l3", 0.0, 0.0, 0.5), axis("dram", 0.0, 0.0, 0.2), axis("tlb", 0.0, 0.0, -0.005)]
)


def test_each_prediction_is_a_sum_of_logarithms_over_stressors():
    predictions = {prediction.model: prediction for prediction in predict_growth(SERVER, JOB)}
    assert list(predictions) == ["zero", "mean stressor", "product", "worst stressor", "M/M/1"]
    assert predictions["zero"].p99 == predictions["zero"].lost == 0
    assert predictions["product"].lost == pytest.approx(0.5 * 0.1 + 0.2 * 0.2)
    assert predictions["product"].p99 == pytest.approx(1.5**0.5 * 2**0.2 - 1), "negative pressure is noise"
    assert predictions["mean stressor"].p99 == pytest.approx((1.5 * 2 * 4) ** (1 / 3) - 1)
    assert predictions["worst stressor"].p99 == pytest.approx(1.0), "the job slows l3 and dram, not tlb"
    assert predictions["worst stressor"].p50 == pytest.approx(0.5)
    assert predictions["M/M/1"].p99 == pytest.approx(mm1(0.9, 0.4, 0.09) / mm1(0.9, 0.4) - 1)


def test_an_overloaded_queue_has_no_percentile_and_unrelated_profiles_predict_none():
    full = replace(SERVER, loaded=under_load(0.95))
    endless = {prediction.model: prediction for prediction in predict_growth(full, JOB)}["M/M/1"]
    assert endless.p50 is endless.p99 is None
    unrelated = predict_growth(SERVER, replace(JOB, axes=[axis("branch", 0.0, 0.0, 0.5)]))
    assert {prediction.p99 for prediction in unrelated} == {0.0}


@each_row(
    ("growth", "expected"),
    [
        (share(0.05, 0.04), "kept"),
        (share(0.05, 0.06), "undecided"),
        (share(0.2, 0.05), "broken"),
        (None, "undecided"),
    ],
)
def test_a_promise_is_checked_against_the_interval(growth, expected):
    assert verdict(growth, 0.1) == expected


def pair_result(
    measured: Share | None, guess: float | None, low: float | None = None, high: float | None = None
) -> JobEffect:
    prediction = PredictedLoss(model="m", lost=0.0, p50=0.0, p99=guess, p99_low=low, p99_high=high)
    latency = Growth(p50=None, p99=measured)
    return JobEffect(job="j", promise="undecided", lost=None, latency=latency, predicted=[prediction])


def test_scores_are_mean_errors_of_logarithms():
    (predictions,) = scores(
        [
            pair_result(share(1.0), 0.0),
            pair_result(share(0.5), 2.0),
            pair_result(None, 5.0),
            pair_result(share(1.0), None),
        ]
    )
    assert predictions.p99 == pytest.approx((math.log(2) + math.log(2)) / 2)
    assert predictions.p50 is None
    assert (predictions.covered, predictions.told) == (0, 0), "without intervals nothing is covered"


@each_row(
    ("measured", "guess", "covered"),
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
def test_a_prediction_covers_if_the_intervals_overlap(measured, guess, covered):
    (predictions,) = scores([pair_result(measured, *guess)])
    assert (predictions.covered, predictions.told) == (covered, 1)


def test_the_worst_promise_is_the_verdict_and_the_page_has_heat_maps():
    effect = replace(pair_result(share(0.2, 0.05), 0.123, 0.05, 0.4), promise="broken")
    job = JobEffectAtProfileLoad(**asdict(effect), command=["j"], answer="unknown", axes=JOB.axes)
    document = CoRun(
        schema=CORUN_SCHEMA,
        server="server",
        processor=PROCESSOR,
        placement="near",
        within=0.1,
        loaded=SERVER.loaded,
        axes=SERVER.axes,
        jobs=[job, replace(job, job="k", promise="kept")],
        scores=scores([job]),
        loads=[],
        window_ms=60.0,
        windows=40,
        dropped=2,
        took_s=9.0,
        notes=[],
    )
    view = view_corun(document)
    assert (view.word, view.tone) == ("broken", "invalid")
    text, page = render_terminal(view, width=80), render_page(view)
    for figure in ("20.0\u202f%", "12.3\u202f%", "40.0\u202f%", "windows were lost"):
        assert figure in text
        assert figure in page
    assert "background:" in page
    assert view_corun(replace(document, jobs=document.jobs[1:])).word == "kept"


def test_the_interval_of_a_prediction_widens_with_the_profiles_intervals():
    def wide(half: float) -> float:
        server = replace(SERVER, axes=[axis("l3", 0.2, 1.0, 0.0, half)])
        job = replace(JOB, axes=[axis("l3", 0.0, 0.0, 0.5, half)])
        predictions = {prediction.model: prediction for prediction in predict_growth(server, job)}
        for name in ("product", "M/M/1", "worst stressor"):
            assert predictions[name].p99_low <= predictions[name].p99 <= predictions[name].p99_high
        assert predictions["zero"].p99_low == predictions["zero"].p99_high == 0
        return predictions["product"].p99_high - predictions["product"].p99_low

    assert wide(0.1) > 5 * wide(0.01) > 0


SERVICE = np.random.default_rng(2).lognormal(math.log(80.0), 0.4, 20_000)


@pytest.mark.parametrize("load", [0.2, 0.5])
def test_the_queue_model_agrees_with_a_simulation(load):
    rate = load / SERVICE.mean() * 1e6
    solo = Solo(SERVICE, rate)
    assert solo.load == pytest.approx(load)
    predictions = {prediction.model: prediction for prediction in predict_growth(SERVER, JOB, solo)}
    lost = predictions["product"].lost
    truth = simulate_percentiles(SERVICE, load, LEVELS, lost=lost, seed=9) / simulate_percentiles(
        SERVICE, load, LEVELS, seed=9
    )
    assert (1 + predictions["M/G/1"].p50, 1 + predictions["M/G/1"].p99) == pytest.approx(
        tuple(truth), rel=0.05
    )
    # Its quantiles grow by more than its rate drops, in the same queue.
    assert predictions["quantile map"].p99 > predictions["M/G/1"].p99
    assert predictions["M/M/1"].p99 == pytest.approx(mm1(0.9, load, lost) / mm1(0.9, load) - 1, rel=0.01)


def test_without_waiting_the_quantile_map_is_the_growth_of_the_quantiles():
    solo = Solo(SERVICE, 0.001 / SERVICE.mean() * 1e6)
    predictions = {prediction.model: prediction for prediction in predict_growth(SERVER, JOB, solo)}
    product, mapped = predictions["product"], predictions["quantile map"]
    assert product.p99 > 1.5 * product.p50
    assert (mapped.p50, mapped.p99) == pytest.approx((product.p50, product.p99), rel=0.05)


def test_slow_spells_make_a_longer_tail_than_independent_requests():
    rng = np.random.default_rng(3)
    slow = np.repeat(rng.random(400) < 0.1, 50)  # spells of 50 requests
    service = rng.lognormal(math.log(50.0), 0.2, slow.size) * np.where(slow, 4.0, 1.0)
    assert block_of(rng.permutation(service)) <= 2
    assert 30 <= block_of(service) <= 400
    between = service.mean() / 0.5
    measured = Queue(rng.exponential(between, service.size), service).percentiles(LEVELS)[1]
    with_spells = Queue.draw(service, between, requests=100_000, block=block_of(service)).percentiles(LEVELS)[
        1
    ]
    independent = Queue.draw(service, between, requests=100_000).percentiles(LEVELS)[1]
    assert with_spells == pytest.approx(measured, rel=0.25)
    assert independent < 0.7 * measured


@pytest.mark.parametrize("load", [0.3, 0.6])
def test_growth_at_a_heavy_load_is_predicted_from_a_light_load(load):
    rng = np.random.default_rng(4)

    def windows(stall: float) -> list[np.ndarray]:
        def window() -> np.ndarray:
            return rng.lognormal(math.log(80.0), 0.4, 1_000) + np.where(rng.random(1_000) < 0.05, stall, 0.0)

        return [window() for _ in range(20)]

    alone, with_job = windows(0.0), windows(300.0)
    solo = Solo(np.concatenate(alone), load / np.concatenate(alone).mean() * 1e6)
    predictions = {
        prediction.model: prediction
        for prediction in predict_from_lighter(alone, with_job, (0.1, 0.0, 0.5), solo)
    }
    between = 1e6 / solo.rate
    truth = [
        Queue.draw(np.concatenate(windows(stall)), between, requests=200_000, seed=8).percentiles(LEVELS)[1]
        for stall in (300.0, 0.0)
    ]
    growth = truth[0] / truth[1] - 1
    for model in ("M/G/1", "quantile map", "regimes"):
        prediction = predictions[f"lighter: {model}"]
        assert prediction.p99_low <= prediction.p99 <= prediction.p99_high
        error = abs(math.log((1 + prediction.p99) / (1 + growth)))
        assert error < (0.1 if model != "M/G/1" else 1.0), (model, prediction, growth)
    assert predictions["lighter: no more"].p99 == 0.5
    # Delaying a few requests differs from slowing all requests a little.
    assert predictions["lighter: M/G/1"].p99 < 0.8 * growth


def test_too_few_requests_and_an_overloaded_queue_give_no_tail():
    solo = Solo(SERVICE, 0.9 / SERVICE.mean() * 1e6)
    few = [SERVICE[:50]]
    assert predict_from_lighter(few, few, (0.0, 0.0, 0.0), solo) == []
    # A short window among others may be drawn repeatedly.
    assert predict_from_lighter([*few, SERVICE[:2000]], [*few, SERVICE[:2000]], (0.0, 0.0, 0.0), solo)
    predictions = {prediction.model: prediction for prediction in predict_growth(SERVER, JOB, solo)}
    assert predictions["quantile map"].p99 is predictions["regimes"].p99 is None
