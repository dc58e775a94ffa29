"""`hindmost.measure(...)` and the other functions of the Python interface, against the embedded server."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest
from factorials import BODY, study_file
from messages import raises
from msgspec.structs import replace

import hindmost
from hindmost.core.store.estimates import encode
from hindmost.errors import TargetError, UsageError
from hindmost.results import AttributionResult, MeasureResult, SearchResult, VerificationResult

SERVER = 'synth?service={"kind": "exponential", "mean_us": 200}'
SHORT = {"duration": "300ms", "warmup": "100ms", "remake": 0, "quantiles": "50,90", "connections": 4}


@pytest.fixture(scope="module")
def few_keys(tmp_path_factory) -> Path:
    """A workload of few keys, which take no time to store."""
    file = tmp_path_factory.mktemp("few") / "few.json"
    file.write_text('{"kind": "key-value", "keys": 50}')
    return file


def test_a_measurement_from_python_equals_the_study_of_the_command_line(few_keys, tmp_path, capfd):
    lines: list[str] = []
    cpus = os.sched_getaffinity(0)
    out = tmp_path / "study"
    result = hindmost.measure(
        SERVER,
        rate=500,
        runs=2,
        require=["p50<1us"],
        workload=few_keys,
        out=out,
        progress=lines.append,
        **SHORT,
    )
    assert isinstance(result, MeasureResult)
    assert [line for line in lines if line.startswith(("run 1:", "run 2:"))], lines
    assert capfd.readouterr() == ("", "")
    assert os.sched_getaffinity(0) == cpus
    assert result.study == out
    assert (out / "report.html").exists()
    assert json.loads((out / "result.json").read_text()) == json.loads(encode(result.document))
    reopened = hindmost.open_study(out).document
    assert replace(reopened, created="") == replace(result.document, created="")
    assert result.limits["result"].to_list() in (["crossed"], ["undecided"])
    assert result.document.counts.errors == 0
    plan = result.document.plan
    assert (plan["rate_per_s"], plan["runs"], plan["duration_s"]) == (500.0, [2, 2], 0.3)
    pl = pytest.importorskip("polars")
    rows = result.requests().filter(pl.col("status").is_in(["hit", "miss"])).collect()
    assert rows.height == result.document.counts.completed
    assert rows["latency_us"].min() > 0

    with raises(UsageError, "study-exists"):
        hindmost.measure("synth", rate=200, runs=1, workload=few_keys, out=out)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with raises(TargetError, "not-listening") as error:
        hindmost.measure(f"memcached://127.0.0.1:{port}", runs=1, out=tmp_path / "none")
    assert error.value.hint
    assert not (tmp_path / "none").exists()


@pytest.mark.nightly  # test_find_rate.py makes such a study by the command line every time
def test_a_search_from_python_knows_its_rates(few_keys, tmp_path):
    options = {**SHORT, "runs": "5..5"}
    result = hindmost.measure(
        "synth", rate=200, find_rate="p50<1us", workload=few_keys, out=tmp_path / "study", **options
    )
    assert isinstance(result, SearchResult)
    assert result.latency["rate_per_s"].to_list() == sorted(result.steps["rate_per_s"])
    assert result.rate_per_s is None, "no server answers in a microsecond"
    assert result.verdict == "open"
    assert result.page() == (tmp_path / "study" / "report.html").read_text()
    assert result.figures
    reopened = hindmost.open_study(tmp_path / "study")
    assert isinstance(reopened, SearchResult)
    assert reopened.document.steps == result.document.steps
    assert reopened.page() == result.page()


@pytest.mark.nightly  # a minute; test_attribute.py makes such a study by the command line every time
def test_a_study_of_factors_from_python_has_its_effects(tmp_path):
    result = hindmost.attribute(study_file(tmp_path, BODY), out=tmp_path / "study")
    assert isinstance(result, AttributionResult)
    pl = pytest.importorskip("polars")
    body = result.effects.filter(
        (pl.col("term") == "body") & (pl.col("quantile") == "p50") & (pl.col("coding") == "average")
    )
    assert body.height == 0 or body["value"].item() > 50, (
        "the planted effect is 200 us; a busy host may leave no run"
    )
    assert set(result.document.loads[0].cells[0].levels) == {"body"}
    assert set(result.runs.columns) >= ({"body", "quantile", "value"} if result.runs.height else set())
    assert result.requests().collect()["part"].n_unique() > 1
    assert isinstance(hindmost.open_study(str(tmp_path / "study")), AttributionResult)


def test_a_clone_is_served_until_its_block_ends():
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
    result = hindmost.clone.verify(
        clone,
        f"synth?clone={file}",
        loads="20%",
        pairs=2,
        duration="300ms",
        warmup="100ms",
        out=tmp_path / "v",
    )
    assert isinstance(result, VerificationResult)
    assert result.verdict in ("equivalent", "different", "open")
    ratios = result.ratios  # empty if all pairs were disturbed
    assert set(ratios["of"]) <= {"clone", "as_logged", "floor"}
    assert result.document.points[0].pairs + result.document.points[0].left_out >= 2
    assert result.figures
