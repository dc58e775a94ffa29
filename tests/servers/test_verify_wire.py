"""`hindmost measure --verify-wire` compares our stamps with tcpdump's, request by request, and works without tcpdump."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from measuring import VERDICTS, ProcessTracker, assert_counts_add_up, hindmost, measure, need

from hindmost.core.capture import find_capture_fault
from hindmost.core.capture.tcpdump import tcpdump_path
from hindmost.core.store.schema import schemas

ROOT = Path(__file__).parents[2]
NGINX = resources.files("hindmost.core.targets.presets").joinpath("nginx.toml")
SCHEMA = jsonschema.Draft202012Validator(schemas()["measure"])


@pytest.fixture(scope="module")
def capture_allowed() -> None:
    """Skip with the reason if tcpdump may not capture on loopback."""
    if fault := find_capture_fault():
        pytest.skip(f"{fault.message} ({fault.hint})")


@pytest.mark.memcached
def test_every_measured_request_is_captured_and_lies_within_our_stamps(
    capture_allowed: None, process_tracker: ProcessTracker, tmp_path: Path
) -> None:
    need("memcached")
    answer = measure("memcached", tmp_path / "study", "--rate", "5k", "--runs", 1, "--verify-wire")
    process_tracker.assert_none_left()
    result = answer.result
    assert answer.code == VERDICTS[result["verdict"]], answer.err
    SCHEMA.validate(result)
    assert_counts_add_up(result)
    proof = result["capture"]
    assert (proof["runs"], proof["of"], proof["dropped"], proof["fault"]) == (1, 1, 0, None)
    # HTTP is not preloaded, and none of these servers closes connections, so no request can be missing.
    assert proof["requests"] == proof["answered"] == result["counts"]["scheduled"]
    assert 0 < proof["wire"]["requests"] < proof["requests"] == proof["service"]["requests"]
    assert proof["service"]["upto"] == "p99"
    for run in answer.study.runs():
        assert not list(run.glob("*.pcap")), "captures are matched and removed"
        pl = pytest.importorskip("polars")
        rows = pl.read_parquet(run / "witness-0.parquet")
        capture = rows["capture_in_ns"] - rows["capture_out_ns"]
        assert (capture > 0).all()
        assert (capture < rows["completed_ns"] - rows["sent_ns"]).all(), "packets pass between our stamps"
        # On loopback, the kernel's stamps lie just before the request's and just after the reply's.
        wire = (rows["wire_in_ns"] - rows["wire_out_ns"] - capture).drop_nulls()
        assert (wire > 0).mean() > 0.9
    out = tmp_path / "study"
    assert hindmost("study", "report", out, "--json", study=out).result["capture"] == proof
    resumed = hindmost("measure", "--resume", out, "--runs", 2, "--json", study=out)
    assert resumed.result["capture"]["runs"] == 2


@pytest.mark.nightly  # the matching of connections has its own tests in crates/capture
@pytest.mark.nginx
def test_requests_on_separate_connections_are_matched(capture_allowed: None, tmp_path: Path) -> None:
    need("nginx")
    closing = tmp_path / "closing.toml"
    closing.write_text(NGINX.read_text().replace("keepalive_requests 1000000000", "keepalive_requests 1"))
    load = ("--rate", "400", "--clients", "1", "--connections", "4", "--runs", "1", "--verify-wire")
    answer = measure(str(closing), tmp_path / "study", *load)
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    proof = answer.result["capture"]
    assert proof["fault"] is None, proof
    assert proof["answered"] == answer.result["counts"]["completed"], "each is found on its own connection"
    assert "capture-differs" not in {reason["code"] for reason in answer.result["reasons"]}


def test_without_tcpdump_the_measurement_continues(tmp_path: Path) -> None:
    nowhere = {**os.environ, "PATH": str(tmp_path)}
    path = tcpdump_path()
    if path is not None and "sbin" in path:
        pytest.skip(f"{path} is found even if PATH does not contain it")
    load = ("--rate", "2k", "--runs", 1, "--verify-wire")
    answer = measure("synth", tmp_path / "study", *load, env=nowhere)
    assert answer.code == VERDICTS[answer.result["verdict"]], answer.err
    assert "note[missing-program]" in answer.err
    proof = answer.result["capture"]
    SCHEMA.validate(answer.result)
    assert (proof["runs"], proof["of"], proof["wire"], proof["service"]) == (0, 1, None, None)
    assert "no-capture" in {reason["code"] for reason in answer.result["reasons"]}
    assert answer.result["counts"]["completed"] > 0
