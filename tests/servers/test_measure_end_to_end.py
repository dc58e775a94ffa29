"""`hindmost measure` against real servers, from the command line to the study folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
from measuring import (
    VERDICTS,
    Answer,
    Study,
    assert_counts_close,
    hindmost,
    managed,
    measure,
    need,
    need_two_processors,
    offspring,
    running,
    servers,
)

ROOT = Path(__file__).parents[2]
SCHEMA = jsonschema.Draft202012Validator(json.loads((ROOT / "schemas" / "measure.schema.json").read_text()))
FIGURES = (
    "verdict",
    "latency_us",
    "service_us",
    "slip_us",
    "merged_us",
    "by_kind",
    "throughput",
    "counts",
    "runs",
)
FIGURES += ("variance", "clients", "stopping", "distributions", "outstanding", "series", "reasons", "target")


pytestmark = pytest.mark.usefixtures("household")


def assert_sound(answer: Answer, runs: int, instances: int = 1, *, managed: bool = True) -> dict[str, Any]:
    """What every measurement promises, whatever it found."""
    assert answer.code in (0, 4, 6), answer.err
    result = answer.result
    assert answer.code == VERDICTS[result["verdict"]]
    SCHEMA.validate(result)
    assert_counts_close(result)
    assert result["counts"]["due"] > 0
    assert len(result["runs"]) == len(answer.study.runs()) == runs
    assert answer.study.half_done() == []
    assert json.loads((answer.study.folder / "result.json").read_text()) == result
    assert "<html" in (answer.study.folder / "report.html").read_text()
    manifest = json.loads((answer.study.folder / "manifest.json").read_text())
    assert manifest["schema"] == "hindmost.study/1"
    assert manifest["plan"] == result["plan"]
    for folder, run in zip(answer.study.runs(), result["runs"], strict=True):
        expected = {"run.json"} | ({"server.log"} if managed else set())
        for index in range(instances):
            expected |= {f"instance-{index}.json", f"instance-{index}.hlog"}
            expected |= {f"samples-{index}.parquet", f"worst-{index}.parquet"}
        assert {path.name for path in folder.iterdir()} == expected
        assert len(run["instances"]) == instances
    return result


@pytest.mark.parametrize("name", servers("memcached", "redis", "nginx", "apache", "synth"))
def test_a_preset_is_measured_end_to_end(name: str, tmp_path: Path) -> None:
    if name != "synth":
        need(name)
    answer = measure(name, tmp_path / "study", "--rate", "2k", "--duration", "0.3s", "--warmup", "0.1s")
    result = assert_sound(answer, runs=2)
    target = result["target"]
    assert (target["name"], target["managed"]) == (name, True)
    assert target["command"]
    assert target["server_version"]
    due = result["counts"]["due"]
    assert due == pytest.approx(2 * 0.3 * 2000, abs=6 * 1200**0.5), "Poisson: within six standard deviations"
    assert set(result["by_kind"]) == ({"get"} if name in ("nginx", "apache") else {"get", "set"})
    samples = answer.study.samples()
    assert samples["due_ns"].is_between(0, 300_000_000).all(), "only the measurement is kept"
    answered = samples.drop_nulls(["sent_ns", "done_ns"])
    assert (answered["due_ns"] <= answered["sent_ns"]).all(), "never sent before it is due"
    assert (answered["sent_ns"] < answered["done_ns"]).all()
    worst = pl.read_parquet(answer.study.folder / "runs/0001/worst-0.parquet")
    assert (worst["done_ns"] - worst["due_ns"]).max() == (answered["done_ns"] - answered["due_ns"]).max()


def test_a_report_rebuilds_the_same_figures_and_resume_extends_the_study(tmp_path: Path) -> None:
    out = tmp_path / "study"
    first = assert_sound(measure("synth", out, "--rate", "1k"), runs=2)
    (out / "report.html").unlink()
    (out / "result.json").unlink()
    (out / "runs/.part-0003").mkdir()  # a run that a kill -9 left half done
    report = hindmost("report", out, "--json", study=out)
    assert report.code == 0, report.err
    for figures in FIGURES:
        assert report.result[figures] == first[figures], figures
    assert (out / "report.html").exists()
    again = assert_sound(hindmost("measure", "--resume", out, "--runs", "3", "--json", study=out), runs=3)
    assert again["runs"][:2] == first["runs"], "finished runs are never made again"
    assert again["plan"]["runs"] == [3, 3]
    assert [run["seed"] for run in again["runs"]] == [1, 2, 3]


def test_a_running_server_is_measured_and_hysteresis_is_said_to_be_invisible(tmp_path: Path) -> None:
    need_two_processors()
    with running(managed("synth"), cpus=[0]) as server:
        answer = measure(f"memcached://{server.address}", tmp_path / "study", "--rate", "1k")
        assert server.alive(), "it is left alone"
    result = assert_sound(answer, runs=2, managed=False)
    assert (result["target"]["managed"], result["target"]["address"]) == (False, server.address)
    assert result["target"]["cpus"] == [0]
    assert "attached" in {reason["code"] for reason in result["reasons"]}
    assert result["hysteresis"]["visible"] is None
    assert "cannot be seen" in result["hysteresis"]["text"]


@pytest.mark.memcached
def test_a_target_file_is_measured_where_it_says(tmp_path: Path) -> None:
    need("memcached")
    need_two_processors()
    example = ROOT / "examples" / "targets" / "memcached-pinned.toml"
    answer = measure(str(example), tmp_path / "study", "--rate", "1k", "--runs", "1")
    result = assert_sound(answer, runs=1)
    assert result["target"]["name"] == "memcached-pinned"
    assert result["target"]["cpus"] == result["plan"]["server_cpus"] == [0]
    assert "1024" in result["target"]["command"]


@pytest.mark.parametrize("aggregate", ["mean", "median"])
def test_clients_share_the_rate_and_their_quantiles_are_put_together(aggregate: str, tmp_path: Path) -> None:
    need_two_processors()
    words = ["--clients", "3", "--client-cpus", "1", "--rate", "900", "--aggregate", aggregate, "--runs", "1"]
    result = assert_sound(measure("synth", tmp_path / "study", *words), runs=1, instances=3)
    assert result["plan"]["pacing"] == "sleep", "three cannot spin on one processor"
    assert "sleeping" in {reason["code"] for reason in result["reasons"]}
    run = result["runs"][0]
    for one in run["instances"]:
        assert one["counts"]["due"] == pytest.approx(150, abs=6 * 150**0.5), "a third each"
    for name in ("p50", "p90", "mean"):
        each = sorted(one["latency_us"][name] for one in run["instances"])
        whole = {"mean": sum(each) / 3, "median": each[1]}[aggregate]
        assert run["latency_us"][name] == pytest.approx(whole)
    assert result["clients"]["instances"] == 3
    assert sum(result["clients"]["share_of_slowest"]) == pytest.approx(1.0)


def test_a_closed_loop_never_has_more_outstanding_than_connections(tmp_path: Path) -> None:
    words = ["--closed", "--connections", "4", "--runs", "1"]
    result = assert_sound(measure("synth", tmp_path / "study", *words), runs=1)
    assert (result["plan"]["loop"], result["plan"]["rate_per_s"]) == ("closed", None)
    assert "closed_loop" in {reason["code"] for reason in result["reasons"]}
    assert max(result["outstanding"]["values"]) < 4, "an arrival finds its own connection free"


def test_in_a_closed_loop_a_reply_was_there_before_the_next_request_left(tmp_path: Path) -> None:
    """No constant can hide in latencies: one that is added to all of them makes requests of a connection overlap."""
    answer = measure("synth", tmp_path / "study", "--closed", "--connections", "2", "--runs", "1")
    assert_sound(answer, runs=1)
    rows = answer.study.samples().sort("connection", "sent_ns")
    connection, sent, done = (rows[name].to_numpy() for name in ("connection", "sent_ns", "done_ns"))
    next_of_same = connection[1:] == connection[:-1]
    assert next_of_same.sum() > 1000
    assert (sent < done).all()
    assert (done[:-1] <= sent[1:])[next_of_same].all()


def test_the_same_seed_sends_the_same_requests(tmp_path: Path) -> None:
    def stream(name: str, seed: str) -> pl.DataFrame:
        """Due times from the start of the load, in nanoseconds, and kinds."""
        words = ["--rate", "4k", "--runs", "1", "--seed", seed]
        answer = measure("synth", tmp_path / name, *words)
        assert_sound(answer, runs=1)
        one = answer.study.instance()
        measured_from = round((one["warmup_s"] + one["calibration"]["seconds"]) * 1e9)
        return answer.study.samples().select(pl.col("due_ns") + measured_from, "kind")

    def overlap(a: pl.DataFrame, b: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The measurement may begin some milliseconds sooner or later in the stream."""
        low = max(a["due_ns"].min(), b["due_ns"].min())  # type: ignore[type-var]
        high = min(a["due_ns"].max(), b["due_ns"].max())  # type: ignore[type-var]
        inside = pl.col("due_ns").is_between(low, high)
        return a.filter(inside), b.filter(inside)

    # On a busy host a measurement may begin so much later that nothing of it lies in the other.
    for attempt in range(4):
        one, two = overlap(stream(f"one-{attempt}", "7"), stream(f"two-{attempt}", "7"))
        if len(one) > 500:
            break
    assert len(one) > 500
    assert len(one) == len(two)
    assert (one["due_ns"] - two["due_ns"]).abs().max() <= 2, "to the nanosecond, but for rounding"
    assert one["kind"].to_list() == two["kind"].to_list()
    one, other = overlap(one, stream("other", "8"))
    assert one["due_ns"].to_list() != other["due_ns"].to_list()


def test_nothing_runs_beside_server_guard_and_clients(tmp_path: Path) -> None:
    from measuring import finish, start, wait_for

    process = start(
        "measure", "synth", "--out", tmp_path / "s", "--runs", "1", "--duration", "1s", "--warmup", "0.3s"
    )
    wait_for(lambda: len(offspring(process.pid)) == 3, "guard, server, client")
    assert finish(process, tmp_path / "s").code in (0, 4, 6)
    assert Study(tmp_path / "s").half_done() == []
