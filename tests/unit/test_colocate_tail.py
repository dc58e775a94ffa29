"""The tail of a server that becomes slower, from Python and the command line."""

import json
from pathlib import Path

import numpy as np
import pytest
from messages import assert_refused, raises

from hindmost.cli import main
from hindmost.commands.colocate.prediction.growth import predict_growth, read_services
from hindmost.commands.colocate.prediction.tail import Queue, mm1
from hindmost.commands.colocate.view.tail import view_tail
from hindmost.errors import UsageError
from hindmost.present.terminal import render_terminal


def service(kind: str, seed: int, count: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if kind == "steady":
        return rng.lognormal(0, 0.29, count)
    if kind == "bimodal":
        return np.where(rng.random(count) < 0.05, 10.0, 1.0)
    return rng.exponential(size=count)


@pytest.mark.parametrize("kind", ["steady", "exponential", "bimodal"])
@pytest.mark.parametrize("load", [0.3, 0.7])
def test_p99_of_a_slower_server_is_predicted_within_10_percent_up_to_70_percent_load(kind, load):
    (growth,) = predict_growth(service(kind, 1, 20_000), levels=[0.99], load=load, lost=0.15).models["M/G/1"]
    # The truth is simulated from another sample with other arrivals.
    fresh = service(kind, 2, 400_000)
    queue = Queue.draw(fresh, float(fresh.mean()) / load, requests=400_000, seed=9)
    at = np.array([0.99])
    truth = float(queue.percentiles(at, queue.service / 0.85)[0] / queue.percentiles(at)[0])
    assert 1 + growth == pytest.approx(truth, rel=0.10)


def test_exponential_service_grows_by_eq_3_6_and_several_workers_grow_less():
    one_worker = predict_growth(None, levels=[0.5, 0.99], load=0.6, lost=0.2).models
    assert one_worker["M/M/1"] == pytest.approx([mm1(0.5, 0.6, 0.2) / mm1(0.5, 0.6) - 1] * 2)
    assert one_worker["M/G/1"] == pytest.approx(one_worker["M/M/1"], rel=0.2)
    four_workers = predict_growth(None, levels=[0.5, 0.99], load=0.6, lost=0.2, workers=4).models
    assert four_workers["M/G/4"][1] < 0.8 * one_worker["M/G/1"][1]


def test_intervals_for_four_workers_cover_the_closed_form():
    # M/M/4 at load .7, slower by .15: percentiles of P(W + S > t) by Erlang C.
    prediction = predict_growth(None, levels=[0.5, 0.99], load=0.7, lost=0.15, workers=4)
    for (low, high), value, truth in zip(
        prediction.intervals["M/G/4"], prediction.models["M/G/4"], (0.6826, 0.6146), strict=True
    ):
        assert low < value < high
        assert low - 0.02 < truth < high + 0.02


def test_an_overloaded_queue_has_no_percentile():
    prediction = predict_growth(None, levels=[0.99], load=0.9, lost=0.2)
    assert {values[0] for values in prediction.models.values()} == {None}
    assert not {"inf", "∞", "nan", "None"} & set(render_terminal(view_tail(prediction)).split())


def test_the_quantile_map_slows_only_the_slowed_requests():
    alone = np.tile([1.0, 1.0, 1.0, 1.0, 5.0], 200)
    with_job = np.where(alone > 2, 20.0, alone)
    prediction = predict_growth(alone, levels=[0.5, 0.99], load=0.05, lost=0.0, with_job=with_job).models
    assert prediction["quantile map"][1] > 1.0
    assert prediction["M/G/1"] == pytest.approx([0.0, 0.0])
    assert prediction["quantile map"][0] < 0.2


def test_service_times_are_read_from_files_and_invalid_files_are_refused(tmp_path: Path, capsys):
    path = tmp_path / "us.txt"
    path.write_text("\n".join(map(str, service("bimodal", 1, 500))), encoding="utf-8")
    assert (
        main(["colocate", "predict", "--lost", "10%", "--service", str(path), "--workers", "2", "--json"])
        == 0
    )
    assert "M/G/2" in json.loads(capsys.readouterr().out)["models"]
    assert_refused(
        ["colocate", "predict", "--lost", "10%", "--load", "100%"], capsys, 2, "bad-value", load=1.0
    )
    command = ["colocate", "predict", "--lost", "10%", "--quantiles", "high"]
    assert_refused(command, capsys, 2, "bad-value", option="--quantiles", value="high")
    path.write_text("1\ntwo\n", encoding="utf-8")
    with raises(UsageError, "bad-file", path=str(path)):
        read_services(path)
    path.write_text("1\n2\n", encoding="utf-8")
    with raises(UsageError, "bad-file", path=str(path), have=2):
        read_services(path)
    with raises(UsageError, "no-such-file", path=str(tmp_path / "nowhere")):
        read_services(tmp_path / "nowhere")
