"""`hindmost measure --verify-wire`: our stamps beside tcpdump's, request by request, and what if there is none."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from importlib import resources
from pathlib import Path

import jsonschema
import polars as pl
import pytest
from measuring import (
    VERDICTS,
    Household,
    assert_counts_close,
    hindmost,
    measure,
    need,
    offspring,
    servers,
    start,
    wait_for,
)

from hindmost.capture import capture_fault
from hindmost.capture.tcpdump import tcpdump_path

ROOT = Path(__file__).parents[2]
SCHEMA = jsonschema.Draft202012Validator(json.loads((ROOT / "schemas" / "measure.schema.json").read_text()))


@pytest.fixture(scope="module")
def permitted() -> None:
    """A tcpdump that may capture on loopback, or a skip that says why there is none."""
    if fault := capture_fault():
        pytest.skip(f"{fault.message} ({fault.hint})")


@pytest.mark.parametrize("name", servers("memcached", "redis", "nginx"))
def test_every_measured_request_is_found_in_the_capture_and_within_our_stamps(
    name: str, permitted: None, tmp_path: Path
) -> None:
    need(name)
    household = Household()
    try:
        answer = measure(name, tmp_path / "study", "--rate", "5k", "--runs", 1, "--verify-wire")
        household.assert_empty()
    finally:
        household.close()
    result = answer.result
    assert answer.code == VERDICTS[result["verdict"]], answer.err
    SCHEMA.validate(result)
    assert_counts_close(result)
    proof = result["capture"]
    assert (proof["runs"], proof["of"], proof["dropped"], proof["fault"]) == (1, 1, 0, None)
    # HTTP is not preloaded and none of these servers closes connections: nothing can be missing.
    assert proof["requests"] == proof["answered"] == result["counts"]["due"]
    assert 0 < proof["wire"]["requests"] < proof["requests"] == proof["service"]["requests"]
    assert proof["service"]["upto"] == "p99"
    for run in answer.study.runs():
        assert not list(run.glob("*.pcap")), "captures are matched and removed"
        seen = pl.read_parquet(run / "witness-0.parquet")
        capture = seen["capture_in_ns"] - seen["capture_out_ns"]
        assert (capture > 0).all()
        assert (capture < seen["done_ns"] - seen["sent_ns"]).all(), "it passes between our stamps"
        # On loopback the kernel stamps for us just before the one and just after the other.
        wire = (seen["wire_in_ns"] - seen["wire_out_ns"] - capture).drop_nulls()
        assert (wire > 0).mean() > 0.9
    page = (answer.study.folder / "report.html").read_text()
    assert "Proof against a packet capture" in page
    assert (
        hindmost("report", answer.study.folder, "--json", study=answer.study.folder).result["capture"]
        == proof
    )


@pytest.mark.nginx
@pytest.mark.parametrize("io", ["epoll", "io_uring"])
def test_what_was_asked_again_is_not_looked_for_and_all_else_is_found(
    io: str, permitted: None, tmp_path: Path
) -> None:
    need("nginx")
    usual = resources.files("hindmost.targets.presets").joinpath("nginx.toml").read_text()
    closing = tmp_path / "closing.toml"
    closing.write_text(usual.replace("keepalive_requests 1000000000", "keepalive_requests 100"))
    # Some 2 a second have to be asked again: a run of a second may have none, five in a row have some.
    words = ("--rate", "10k", "--duration", "1s", "--clients", 1, "--io", io, "--runs", 1, "--verify-wire")
    for attempt in range(5):
        answer = measure(closing, tmp_path / f"study-{attempt}", *words)
        counts, resent = answer.result["counts"], answer.study.instance()["resent"]
        proof = answer.result["capture"]
        # A client that was kept from running for long asks all that waits again, of which nothing is looked for; and
        # where the kernel says that it dropped packets, nothing is proved.
        if 0 < resent < counts["done"] / 2 and not proof["dropped"]:
            break
    assert_counts_close(answer.result)
    assert (counts["errors"], counts["timeouts"]) == (0, 0), counts
    assert resent > 0
    if resent >= counts["done"] / 2:
        assert os.getloadavg()[0] > os.cpu_count(), f"kept from running on a calm host: {resent} of {counts}"
        return
    seen = pl.read_parquet(answer.study.runs()[0] / "witness-0.parquet")
    assert counts["done"] - resent <= proof["answered"] == proof["requests"] < counts["done"], not_seen(
        answer.study.runs()[0], seen
    )
    capture = seen["capture_in_ns"] - seen["capture_out_ns"]
    assert (capture > 0).all()
    assert (capture < seen["done_ns"] - seen["sent_ns"]).all(), "it passes between our stamps"
    wire = (seen["wire_in_ns"] - seen["wire_out_ns"] - capture).drop_nulls()
    assert len(wire) > 10
    assert (wire > 0).mean() > 0.9


def not_seen(run: Path, seen: pl.DataFrame) -> str:
    """Answered requests that no capture has, by connection: how many, when they were sent, and where they stand."""
    rows = pl.read_parquet(run / "samples-0.parquet").filter(pl.col("reply_end") > 0)
    missing = rows.join(seen.select("due_ns", "sent_ns"), on=["due_ns", "sent_ns"], how="anti")
    of = missing.group_by("client_port").agg(
        pl.len().alias("requests"),
        *(pl.col(name).min().alias(f"first {name}") for name in ("sent_ns", "request_end", "reply_end")),
        *(pl.col(name).max().alias(f"last {name}") for name in ("sent_ns", "request_end", "reply_end")),
    )
    return f"{len(missing)} of {len(rows)} are in no capture: {of.to_dicts()}"


def test_a_study_goes_on_with_its_captures(permitted: None, tmp_path: Path) -> None:
    out = tmp_path / "study"
    begun = measure("synth", out, "--rate", "2k", "--runs", 1, "--verify-wire")
    assert begun.result["capture"]["runs"] == 1
    more = hindmost("measure", "--resume", out, "--runs", 2, "--json", study=out)
    assert more.result["capture"]["runs"] == 2


def test_without_tcpdump_the_measurement_goes_on_and_says_so(tmp_path: Path) -> None:
    nowhere = {**os.environ, "PATH": str(tmp_path)}
    found = tcpdump_path()
    if found is not None and "sbin" in found:
        pytest.skip(f"{found} is found even where PATH does not name it")
    words = ("--rate", "2k", "--runs", 1, "--verify-wire")
    answer = measure("synth", tmp_path / "study", *words, env=nowhere)
    assert answer.code == VERDICTS[answer.result["verdict"]], answer.err
    assert "note[missing-program]" in answer.err
    assert "hint: apt-get install tcpdump" in answer.err
    proof = answer.result["capture"]
    SCHEMA.validate(answer.result)
    assert (proof["runs"], proof["of"], proof["wire"], proof["service"]) == (0, 1, None, None)
    assert "no-capture" in {reason["code"] for reason in answer.result["reasons"]}
    assert answer.result["counts"]["done"] > 0


def test_without_permission_the_measurement_goes_on_and_says_so(permitted: None, tmp_path: Path) -> None:
    if subprocess.run(["unshare", "-Ur", "true"], capture_output=True).returncode != 0:
        pytest.skip("no user namespaces here, so nobody can be made of us who may less")
    words = ["measure", "synth", "--out", tmp_path / "study", "--rate", "2k", "--verify-wire", "--json"]
    words += ["--runs", "1", "--duration", "0.3s", "--warmup", "0.3s", "--quantiles", "50"]
    asked = subprocess.run(
        ["unshare", "-Ur", sys.executable, "-c", "from hindmost.cli import main; main()", *words],
        capture_output=True,
        text=True,
        timeout=60,
    )
    proof = json.loads(asked.stdout)["capture"]
    assert "may not capture on lo" in proof["fault"]
    assert "setcap" in proof["hint"]
    assert "note[capture-refused]" in asked.stderr


def test_kill_9_in_mid_run_leaves_no_tcpdump(permitted: None, tmp_path: Path) -> None:
    household = Household()
    try:
        words = ("--rate", "2k", "--duration", "20s", "--warmup", "0.3s", "--runs", "1", "--verify-wire")
        child = start("measure", "synth", "--out", tmp_path / "study", *words)

        def captures() -> list[str]:
            return [words for words in offspring(child.pid).values() if "tcpdump" in words.split(" ")[0]]

        wait_for(lambda: ["tcp[13]" in words for words in captures()] == [True], "a capture runs")
        child.send_signal(signal.SIGKILL)
        child.communicate()
        household.assert_empty()
    finally:
        household.close()


def test_a_search_is_not_captured(tmp_path: Path) -> None:
    answer = measure("synth", tmp_path / "study", "--find-rate", "p99<5ms", "--verify-wire")
    answer.assert_one_clear_error(2, "--verify-wire does not go with --find-rate")
