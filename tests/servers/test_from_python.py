"""`hindmost.measure(...)` and its siblings, as people call them from Python, against the embedded server."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from factorials import BODY, study_file

import hindmost
from hindmost.errors import TargetError, UsageError
from hindmost.fleet.cpus import Allotment
from hindmost.results import AttributionResult, MeasureResult, SearchResult, VerificationResult
from hindmost.run.soundness import Remaking
from hindmost.studies import begin

SERVER = 'synth?service={"kind": "exponential", "mean_us": 200}'
SHORT = {"duration": "400ms", "warmup": "100ms", "remake": 0, "quantiles": "50,90", "connections": 4}


@pytest.fixture(scope="module", autouse=True)
def _hasty() -> Iterator[None]:
    """What `measuring.start` spares other tests: no run is made again, the host is looked at once, clients sleep."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Remaking, "again", lambda *_: False)
        patch.setattr(Remaking, "most", property(lambda self: self.asked))
        patch.setattr(begin, "LOOKS", 1)
        patch.setattr(Allotment, "pacing", property(lambda _: "sleep"))
        yield


@pytest.fixture(scope="module")
def few(tmp_path_factory) -> Path:
    """A workload of so few keys that storing them takes no time."""
    file = tmp_path_factory.mktemp("few") / "few.json"
    file.write_text('{"kind": "key-value", "keys": 50}')
    return file


@pytest.fixture(scope="module")
def measured(few, tmp_path_factory) -> MeasureResult:
    lines: list[str] = []
    out = tmp_path_factory.mktemp("measured") / "study"
    found = hindmost.measure(SERVER, rate=500, runs=2, workload=few, out=out, progress=lines.append, **SHORT)
    assert isinstance(found, MeasureResult)
    assert [line for line in lines if line.startswith(("run 1:", "run 2:"))], lines
    return found


def test_a_measurement_from_python_is_the_study_that_the_command_line_would_make(measured):
    assert measured.study.name == "study"
    assert (measured.study / "report.html").exists()
    assert json.loads((measured.study / "result.json").read_text()) == measured.document
    assert {**hindmost.open_study(measured.study).document, "created": ""} == {
        **measured.document,
        "created": "",
    }
    assert measured.document["counts"]["errors"] == 0
    plan = measured.document["plan"]
    assert (plan["rate_per_s"], plan["runs"], plan["duration_s"]) == (500.0, [2, 2], 0.4)


def test_its_requests_are_those_that_were_sent(measured):
    rows = measured.requests().filter(pl.col("status").is_in(["hit", "miss"])).collect()
    assert rows.height == measured.document["counts"]["done"]
    assert rows["latency_us"].min() > 0


def test_nothing_is_printed_and_the_process_keeps_its_processors(few, tmp_path, capfd):
    mine = os.sched_getaffinity(0)
    found = hindmost.measure(
        "synth", rate="200", runs=1, require=["p50<1us"], workload=str(few), out=str(tmp_path / "s"), **SHORT
    )
    assert found.limits["result"].to_list() in (["crossed"], ["undecided"])
    assert capfd.readouterr() == ("", "")
    assert os.sched_getaffinity(0) == mine
    assert found.verdict in ("valid", "invalid", "inconclusive")


def test_a_server_that_is_not_there_is_an_error_with_a_hint_and_leaves_no_study(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with pytest.raises(TargetError) as caught:
        hindmost.measure(f"memcached://127.0.0.1:{port}", runs=1, out=tmp_path / "study")
    assert caught.value.hint
    assert not (tmp_path / "study").exists()


def test_a_taken_folder_and_contradictions_are_errors_that_name_them(measured, few):
    with pytest.raises(UsageError, match="already holds a study"):
        hindmost.measure("synth", rate=200, runs=1, workload=few, out=measured.study)
    with pytest.raises(UsageError, match="precision"):
        hindmost.measure("synth", find_rate="p90<1s", precision="5%")
    with pytest.raises(UsageError, match="rate 'fast' cannot be read"):
        hindmost.measure("synth", rate="fast")


def test_a_search_from_python_knows_its_rates(few, tmp_path):
    options = {**SHORT, "duration": "300ms", "runs": "5..5"}
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


def test_a_study_of_factors_from_python_has_its_effects(tmp_path):
    found = hindmost.attribute(study_file(tmp_path, BODY), out=tmp_path / "study")
    assert isinstance(found, AttributionResult)
    body = found.effects.filter(
        (pl.col("term") == "body") & (pl.col("quantile") == "p50") & (pl.col("coding") == "average")
    )
    assert body.height == 0 or body["value"].item() > 50, "200 us were planted; a busy host may leave no run"
    assert set(found.document["loads"][0]["cells"][0]["levels"]) == {"body"}
    assert set(found.runs.columns) >= ({"body", "quantile", "value"} if found.runs.height else set())
    assert found.requests().collect()["part"].n_unique() > 1
    assert isinstance(hindmost.open_study(str(tmp_path / "study")), AttributionResult)


def test_a_clone_is_served_for_as_long_as_the_block_lasts():
    with hindmost.synth.serve("silo") as server:
        host, port = server.address.split(":")
        assert server.target == f"memcached://{server.address}"
        socket.create_connection((host, int(port)), timeout=10).close()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((host, int(port)), timeout=10)


def test_a_clone_is_verified_from_python(tmp_path):
    clone = hindmost.load_clone("silo")
    file = tmp_path / "clone.json"
    file.write_text(clone.text)
    found = hindmost.synth.verify(
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
