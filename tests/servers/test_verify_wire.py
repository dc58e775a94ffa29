"""`hindmost measure --verify-wire`: our stamps beside tcpdump's, request by request, and what if there is none."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from measuring import (
    VERDICTS,
    ProcessTracker,
    assert_counts_add_up,
    hindmost,
    measure,
    need,
)

from hindmost.capture import find_capture_fault
from hindmost.capture.tcpdump import tcpdump_path
from hindmost.store.schema import schemas

ROOT = Path(__file__).parents[2]
NGINX = resources.files("hindmost.targets.presets").joinpath("nginx.toml")
SCHEMA = jsonschema.Draft202012Validator(schemas()["measure"])


@pytest.fixture(scope="module")
def permitted() -> None:
    """A tcpdump that may capture on loopback, or a skip that says why there is none."""
    if fault := find_capture_fault():
        pytest.skip(f"{fault.message} ({fault.hint})")


@pytest.mark.memcached
def test_every_measured_request_is_found_in_the_capture_and_within_our_stamps(
    permitted: None, process_tracker: ProcessTracker, tmp_path: Path
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
    # HTTP is not preloaded and none of these servers closes connections: nothing can be missing.
    assert proof["requests"] == proof["answered"] == result["counts"]["scheduled"]
    assert 0 < proof["wire"]["requests"] < proof["requests"] == proof["service"]["requests"]
    assert proof["service"]["upto"] == "p99"
    for run in answer.study.runs():
        assert not list(run.glob("*.pcap")), "captures are matched and removed"
        pl = pytest.importorskip("polars")
        seen = pl.read_parquet(run / "witness-0.parquet")
        capture = seen["capture_in_ns"] - seen["capture_out_ns"]
        assert (capture > 0).all()
        assert (capture < seen["completed_ns"] - seen["sent_ns"]).all(), "it passes between our stamps"
        # On loopback the kernel stamps for us just before the one and just after the other.
        wire = (seen["wire_in_ns"] - seen["wire_out_ns"] - capture).drop_nulls()
        assert (wire > 0).mean() > 0.9
    out = tmp_path / "study"
    assert hindmost("study", "report", out, "--json", study=out).result["capture"] == proof
    more = hindmost("measure", "--resume", out, "--runs", 2, "--json", study=out)
    assert more.result["capture"]["runs"] == 2


@pytest.mark.nightly  # the matching of connections has tests of its own in crates/capture
@pytest.mark.nginx
def test_requests_that_have_a_connection_each_are_found(permitted: None, tmp_path: Path) -> None:
    need("nginx")
    closing = tmp_path / "closing.toml"
    closing.write_text(NGINX.read_text().replace("keepalive_requests 1000000000", "keepalive_requests 1"))
    words = ("--rate", "400", "--clients", "1", "--connections", "4", "--runs", "1", "--verify-wire")
    answer = measure(str(closing), tmp_path / "study", *words)
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    proof = answer.result["capture"]
    assert proof["fault"] is None, proof
    assert proof["answered"] == answer.result["counts"]["completed"], (
        "found on its own connection, each of them"
    )
    assert "capture-differs" not in {reason["code"] for reason in answer.result["reasons"]}


def test_without_tcpdump_the_measurement_goes_on(tmp_path: Path) -> None:
    nowhere = {**os.environ, "PATH": str(tmp_path)}
    found = tcpdump_path()
    if found is not None and "sbin" in found:
        pytest.skip(f"{found} is found even where PATH does not name it")
    words = ("--rate", "2k", "--runs", 1, "--verify-wire")
    answer = measure("synth", tmp_path / "study", *words, env=nowhere)
    assert answer.code == VERDICTS[answer.result["verdict"]], answer.err
    assert "note[missing-program]" in answer.err
    proof = answer.result["capture"]
    SCHEMA.validate(answer.result)
    assert (proof["runs"], proof["of"], proof["wire"], proof["service"]) == (0, 1, None, None)
    assert "no-capture" in {reason["code"] for reason in answer.result["reasons"]}
    assert answer.result["counts"]["completed"] > 0
