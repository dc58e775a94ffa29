"""`hindmost.measure(...)` and its siblings, as people call them from Python, against the embedded server."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest
from factorials import BODY, study_file
from messages import raises

import hindmost
from hindmost.errors import TargetError, UsageError
from hindmost.results import AttributionResult, MeasureResult, SearchResult, VerificationResult

SERVER = 'synth?service={"kind": "exponential", "mean_us": 200}'
SHORT = {"duration": "300ms", "warmup": "100ms", "remake": 0, "quantiles": "50,90", "connections": 4}


@pytest.fixture(scope="module")
def few(tmp_path_factory) -> Path:
    """A workload of so few keys that storing them takes no time."""
    file = tmp_path_factory.mktemp("few") / "few.json"
    file.write_text('{"kind": "key-value", "keys": 50}')
    return file


def test_a_measurement_from_python_is_the_study_that_the_command_line_would_make(few, tmp_path, capfd):
    lines: list[str] = []
    mine = os.sched_getaffinity(0)
    out = tmp_path / "study"
    found = hindmost.measure(
        SERVER, rate=500, runs=2, require=["p50<1us"], workload=few, out=out, progress=lines.append, **SHORT
    )
    assert isinstance(found, MeasureResult)
    assert [line for line in lines if line.startswith(("run 1:", "run 2:"))], lines
    assert capfd.readouterr() == ("", "")
    assert os.sched_getaffinity(0) == mine
    assert found.study == out
    assert (out / "report.html").exists()
    assert json.loads((out / "result.json").read_text()) == found.document
    assert {**hindmost.open_study(out).document, "created": ""} == {**found.document, "created": ""}
    assert found.limits["result"].to_list() in (["crossed"], ["undecided"])
    assert found.document["counts"]["errors"] == 0
    plan = found.document["plan"]
    assert (plan["rate_per_s"], plan["runs"], plan["duration_s"]) == (500.0, [2, 2], 0.3)
    pl = pytest.importorskip("polars")
    rows = found.requests().filter(pl.col("status").is_in(["hit", "miss"])).collect()
    assert rows.height == found.document["counts"]["completed"]
    assert rows["latency_us"].min() > 0

    with raises(UsageError, "study-exists"):
        hindmost.measure("synth", rate=200, runs=1, workload=few, out=out)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with raises(TargetError, "not-listening") as caught:
        hindmost.measure(f"memcached://127.0.0.1:{port}", runs=1, out=tmp_path / "none")
    assert caught.value.hint
    assert not (tmp_path / "none").exists()


@pytest.mark.nightly  # test_find_rate.py makes such a study by the command line every time
def test_a_search_from_python_knows_its_rates(few, tmp_path):
    options = {**SHORT, "runs": "5..5"}
    found = hindmost.measure(
        "synth", rate=200, find_rate="p50<1us", workload=few, out=tmp_path / "study", **options
    )
    assert isinstance(found, SearchResult)
    assert found.latency["rate_per_s"].to_list() == sorted(found.steps["rate_per_s"])
    assert found.rate_per_s is None, "no server answers in a microsecond"
    assert found.verdict == "open"
    assert found.page() == (tmp_path / "study" / "report.html").read_text()
    assert found.figures
    again = hindmost.open_study(tmp_path / "study")
    assert isinstance(again, SearchResult)
    assert again.document["steps"] == found.document["steps"]
    assert again.page() == found.page()


@pytest.mark.nightly  # a minute; test_attribute.py makes such a study by the command line every time
def test_a_study_of_factors_from_python_has_its_effects(tmp_path):
    found = hindmost.attribute(study_file(tmp_path, BODY), out=tmp_path / "study")
    assert isinstance(found, AttributionResult)
    pl = pytest.importorskip("polars")
    body = found.effects.filter(
        (pl.col("term") == "body") & (pl.col("quantile") == "p50") & (pl.col("coding") == "average")
    )
    assert body.height == 0 or body["value"].item() > 50, "200 us were planted; a busy host may leave no run"
    assert set(found.document["loads"][0]["cells"][0]["levels"]) == {"body"}
    assert set(found.runs.columns) >= ({"body", "quantile", "value"} if found.runs.height else set())
    assert found.requests().collect()["part"].n_unique() > 1
    assert isinstance(hindmost.open_study(str(tmp_path / "study")), AttributionResult)


def test_a_clone_is_served_for_as_long_as_the_block_lasts():
    with hindmost.clone.serve("silo") as server:
        host, port = server.address.split(":")
        assert server.target == f"memcached://{server.address}"
        socket.create_connection((host, int(port)), timeout=10).close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), timeout=10)


@pytest.mark.nightly  # a minute; test_synth_verify.py makes such a study by the command line every time
def test_a_clone_is_verified_from_python(tmp_path):
    clone = hindmost.load_clone("silo")
    file = tmp_path / "clone.json"
    file.write_text(clone.text)
    found = hindmost.clone.verify(
        clone,
        f"synth?clone={file}",
        loads="20%",
        pairs=2,
        duration="300ms",
        warmup="100ms",
        out=tmp_path / "v",
    )
    assert isinstance(found, VerificationResult)
    assert found.verdict in ("equivalent", "different", "open")
    ratios = found.ratios  # empty where the host disturbed all pairs
    assert set(ratios["of"]) <= {"clone", "as_logged", "floor"}
    assert found.document["points"][0]["pairs"] + found.document["points"][0]["left_out"] >= 2
    assert found.figures
