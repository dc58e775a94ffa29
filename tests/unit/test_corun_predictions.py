"""What two cards predict, and whether a promise was kept."""

import math

import pytest

from hindmost.colocation.prediction import predicted
from hindmost.colocation.tail import mm1
from hindmost.studies.colocation.corun import _scores, verdict


def share(value: float, half: float = 0.01) -> dict[str, float]:
    return {"value": value, "low": value - half, "high": value + half, "windows": 5}


def axis(ruler: str, lost: float, grown: float, taken: float) -> dict:
    latency = {"p50": share(grown / 2), "p99": share(grown)}
    return {"ruler": ruler, "sensitivity": share(lost), "contentiousness": share(taken), "latency": latency}


SERVER = {
    "loaded": {"busy": 0.4},
    "axes": [axis("l3", 0.1, 0.5, 0.0), axis("dram", 0.2, 1.0, 0.0), axis("tlb", 0.3, 3.0, 0.0)],
}
JOB = {"axes": [axis("l3", 0.0, 0.0, 0.5), axis("dram", 0.0, 0.0, 0.2), axis("tlb", 0.0, 0.0, -0.005)]}


def test_each_guess_is_its_sum_of_logarithms_over_rulers():
    found = {one["model"]: one for one in predicted(SERVER, JOB)}
    assert list(found) == ["zero", "mean ruler", "product", "worst ruler", "M/M/1"]
    assert found["zero"]["p99"] == found["zero"]["lost"] == 0
    assert found["product"]["lost"] == pytest.approx(0.5 * 0.1 + 0.2 * 0.2)
    assert found["product"]["p99"] == pytest.approx(1.5**0.5 * 2**0.2 - 1), "what is taken below 0 is noise"
    assert found["mean ruler"]["p99"] == pytest.approx((1.5 * 2 * 4) ** (1 / 3) - 1)
    assert found["worst ruler"]["p99"] == pytest.approx(1.0), "the job slows l3 and dram, not tlb"
    assert found["worst ruler"]["p50"] == pytest.approx(0.5)
    assert found["M/M/1"]["p99"] == pytest.approx(mm1(0.9, 0.4, 0.09) / mm1(0.9, 0.4) - 1)


def test_a_queue_without_end_and_cards_without_a_common_ruler_are_no_number_that_lies():
    full = {"loaded": {"busy": 0.95}, "axes": SERVER["axes"]}
    endless = {one["model"]: one for one in predicted(full, JOB)}["M/M/1"]
    assert endless["p50"] is endless["p99"] is None
    apart = predicted(SERVER, {"axes": [axis("branch", 0.0, 0.0, 0.5)]})
    assert {one["p99"] for one in apart} == {0.0}


@pytest.mark.parametrize(
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


def test_scores_are_mean_errors_of_logarithms_of_what_was_measured():
    def ran(real: float | None, guess: float | None) -> dict:
        latency = {"p50": None, "p99": None if real is None else share(real)}
        return {"latency": latency, "predicted": [{"model": "m", "p50": 0.0, "p99": guess}]}

    (found,) = _scores([ran(1.0, 0.0), ran(0.5, 2.0), ran(None, 5.0), ran(1.0, None)])
    assert found["p99"] == pytest.approx((math.log(2) + math.log(2)) / 2)
    assert found["p50"] is None
