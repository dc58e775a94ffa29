"""`hindmost measure` against real servers, from the command line to the study folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from measuring import (
    VERDICTS,
    Answer,
    assert_counts_add_up,
    descendants,
    finish,
    hindmost,
    measure,
    need,
    need_two_cpus,
    parse_managed,
    run_server,
    start,
    wait_for,
)

from hindmost.core.store.schema import schemas

ROOT = Path(__file__).parents[2]
SCHEMA = jsonschema.Draft202012Validator(schemas()["measure"])
FIGURES = (
    "verdict",
    "latency_us",
    "service_us",
    "send_delay_us",
    "merged_us",
    "by_kind",
    "throughput",
    "counts",
    "runs",
)
FIGURES += ("variance", "clients", "stopping", "distributions", "outstanding", "series", "reasons", "target")

pytestmark = pytest.mark.usefixtures("process_tracker")


def reasons(answer: Answer) -> set[str]:
    return {reason["code"] for reason in answer.result["reasons"]}


def assert_counted(answer: Answer, runs: int, clients: int = 1, *, managed: bool = True) -> dict[str, Any]:
    """Assert what holds for every measurement, whatever its result."""
    assert answer.code in (0, 4, 6), answer.err
    result = answer.result
    assert answer.code == VERDICTS[result["verdict"]]
    SCHEMA.validate(result)
    assert_counts_add_up(result)
    assert result["counts"]["scheduled"] > 0
    assert len(result["runs"]) == len(answer.study.runs()) == runs
    assert answer.study.hidden_files() == []
    assert json.loads((answer.study.folder / "result.json").read_text()) == result
    assert "<html" in (answer.study.folder / "report.html").read_text()
    manifest = json.loads((answer.study.folder / "manifest.json").read_text())
    assert manifest["schema"] == "hindmost.study/1"
    assert manifest["plan"] == result["plan"]
    for folder, run in zip(answer.study.runs(), result["runs"], strict=True):
        expected = {"run.json", "figures.msgpack"} | ({"server.log"} if managed else set())
        for index in range(clients):
            expected |= {f"client-{index}.json", f"client-{index}.hlog"}
            expected |= {f"samples-{index}.parquet", f"worst-{index}.parquet"}
        assert {path.name for path in folder.iterdir()} == expected
        assert len(run["clients"]) == clients
    return result


@pytest.mark.memcached
def test_a_target_file_is_measured_then_reported_and_resumed(tmp_path: Path) -> None:
    need("memcached")
    need_two_cpus()
    example = ROOT / "examples" / "targets" / "memcached-pinned.toml"
    out = tmp_path / "study"
    answer = measure(str(example), out, "--rate", "1k", "--duration", "0.3s")
    first = assert_counted(answer, runs=2)
    assert (first["target"]["name"], first["target"]["managed"]) == ("memcached-pinned", True)
    assert first["target"]["cpus"] == first["plan"]["server_cpus"] == [0]
    assert "1024" in first["target"]["command"]
    scheduled = first["counts"]["scheduled"]
    assert scheduled == pytest.approx(2 * 0.3 * 1000, abs=6 * 600**0.5), (
        "Poisson: within six standard deviations"
    )
    samples = answer.study.samples()
    assert samples["scheduled_ns"].is_between(0, 300_000_000).all(), "only the measurement is kept"
    answered = samples.drop_nulls(["sent_ns", "completed_ns"])
    assert (answered["scheduled_ns"] <= answered["sent_ns"]).all(), "never sent before its scheduled time"
    assert (answered["sent_ns"] < answered["completed_ns"]).all()
    pl = pytest.importorskip("polars")
    worst = pl.read_parquet(out / "runs/0001/worst-0.parquet")
    assert (worst["completed_ns"] - worst["scheduled_ns"]).max() == (
        answered["completed_ns"] - answered["scheduled_ns"]
    ).max()

    (out / "report.html").unlink()
    (out / "result.json").unlink()
    (out / "runs/.part-0003").mkdir()  # a run that a kill -9 interrupted
    report = hindmost("study", "report", out, "--json", study=out)
    assert report.code == 0, report.err
    assert {name: report.result[name] for name in FIGURES} == {name: first[name] for name in FIGURES}
    assert (out / "report.html").exists()
    resumed = assert_counted(
        hindmost("measure", "--resume", out, "--runs", "3", "--yes", "--json", study=out), runs=3
    )
    assert resumed["runs"][:2] == first["runs"], "finished runs are not repeated"
    assert resumed["plan"]["runs"] == [3, 3]
    assert [run["seed"] for run in resumed["runs"]] == [1, 2, 3]


def test_a_running_server_is_measured_by_clients_that_share_the_rate(tmp_path: Path) -> None:
    need_two_cpus()
    load = ["--clients", "3", "--client-cpus", "1", "--rate", "900", "--runs", "1"]
    with run_server(parse_managed("synth"), cpus=[0]) as server:
        answer = measure(f"memcached://{server.address}", tmp_path / "study", *load)
        assert server.alive(), "Hindmost does not end a running server"
    result = assert_counted(answer, runs=1, clients=3, managed=False)
    assert (result["target"]["managed"], result["target"]["address"]) == (False, server.address)
    assert result["target"]["cpus"] == [0]
    assert result["hysteresis"]["visible"] is None
    assert result["plan"]["pacing"] == "sleep", "three clients cannot spin on one CPU"
    assert {"not-restarted", "sleeping-clients"} <= reasons(answer)
    run = result["runs"][0]
    for client in run["clients"]:
        assert client["counts"]["scheduled"] == pytest.approx(150, abs=6 * 150**0.5), "a third each"
    for name in ("p50", "p90", "mean"):
        values = [client["latency_us"][name] for client in run["clients"]]
        assert run["latency_us"][name] == pytest.approx(sum(values) / 3)
    assert result["clients"]["count"] == 3
    assert sum(result["clients"]["share_of_slowest"]) == pytest.approx(1.0)


def test_in_a_closed_loop_a_reply_arrives_before_the_next_request_leaves(tmp_path: Path) -> None:
    """This detects a constant added to all latencies: the requests of a connection would overlap."""
    out = tmp_path / "study"
    load = ["--closed", "--connections", "4", "--runs", "1", "--duration", "0.5s", "--warmup", "0.3s"]
    process = start("measure", "synth", "--json", "--clients", "1", "--out", out, *load, "--quantiles", "50")
    wait_for(lambda: len(descendants(process.pid)) == 3, "guard, server, client, and nothing else")
    answer = finish(process, out)
    result = assert_counted(answer, runs=1)
    assert (result["plan"]["loop"], result["plan"]["rate_per_s"]) == ("closed", None)
    assert "closed-loop" in reasons(answer)
    assert max(result["outstanding"]["values"]) < 4, "an arrival finds its own connection idle"
    rows = answer.study.samples().sort("connection", "sent_ns")
    connection, sent, done = (rows[name].to_numpy() for name in ("connection", "sent_ns", "completed_ns"))
    next_of_same = connection[1:] == connection[:-1]
    assert next_of_same.sum() > 500
    assert (sent < done).all()
    assert (done[:-1] <= sent[1:])[next_of_same].all()
