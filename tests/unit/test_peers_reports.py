"""Parsers of the benches for reports of other load testers, on recorded output of the pinned versions.

Expected values were read from the files in ``peers/`` by eye, or with tools other than the parsers under test.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benches.peers.peer import Job, Peer, Unreadable
from benches.peers.registry import PEERS

RECORDINGS = Path(__file__).parent / "peers"
FOREIGN = {peer.name: peer for peer in PEERS if peer.source.kind != "here"}

REPORTS = {
    "wrk": (102405, 93127.46, {"p50": 34, "p99": 828, "p99.9": 2739, "mean": 59.121, "max": 3873}),
    "ab": (60000, 79161.42, {"p50": 49, "p99": 105, "mean": 51, "max": 3000}),
    "h2load": (200, 200.0, {"p50": 240, "p99": 496, "p99.9": 503, "mean": 250.395, "max": 503}),
    "hey": (200, 199.26, {"p50": 200, "p99": 500, "p99.9": 800, "mean": 221, "max": 800}),
    "oha": (
        200,
        201.64,
        {"p50": 144.766, "p99": 1198.424, "p99.9": 2317.826, "mean": 166.601, "max": 2317.826},
    ),
    "fortio": (200, 196.878, {"p50": 114.651, "p99": 250, "p99.9": 382.719, "mean": 123.804, "max": 390.899}),
    "bombardier": (
        201,
        72.7283,
        {"p50": 2218, "p99": 1014269, "mean": 40912.97, "max": 1030469.0},
    ),
    "vegeta": (
        200,
        100.521955,
        {"p50": 1762.61, "p99": 1031318.408, "p99.9": 1038215.853, "mean": 57310.35, "max": 1038215.853},
    ),
    "k6": (201, 200.859, {"p50": 125.946, "p99": 395.794, "p99.9": 449.772, "mean": 139.44, "max": 462.511}),
    "redis-benchmark": (20000, 36101.08, {"p50": 47, "p99": 1671, "p99.9": 4583, "mean": 91, "max": 7351}),
    "null client": (123456, 61724.54, {}),
    "memaslap": (98239, 98239.0, {"mean": 40, "max": 1977}),
}


def job(folder: Path, rate: float | None = None) -> Job:
    return Job("127.0.0.1:8080", 16, 2.0, rate, 50_000.0, folder)


def read_recording(peer: Peer, folder: Path) -> tuple[Job, str]:
    shutil.copytree(RECORDINGS / peer.name, folder, dirs_exist_ok=True)
    out = folder / "stdout"
    return job(folder), out.read_text() if out.exists() else ""


def test_every_foreign_peer_has_a_recorded_output() -> None:
    assert set(REPORTS) == set(FOREIGN) == {path.name for path in RECORDINGS.iterdir()}


@pytest.mark.parametrize("name", REPORTS)
def test_a_recorded_report_is_parsed(name: str, tmp_path: Path) -> None:
    requests, per_s, latency_us = REPORTS[name]
    report = FOREIGN[name].read(*read_recording(FOREIGN[name], tmp_path))
    assert (report.requests, report.errors) == (requests, 0)
    assert report.per_s == pytest.approx(per_s, rel=1e-4)
    assert dict(report.latency_us) == pytest.approx(latency_us, rel=1e-4)


@pytest.mark.parametrize("name", REPORTS)
def test_an_output_without_its_summary_is_refused(name: str, tmp_path: Path) -> None:
    peer = FOREIGN[name]
    recorded_job, _ = read_recording(peer, tmp_path)
    for path in tmp_path.glob("summary.*"):
        path.unlink()
    with pytest.raises(Unreadable, match=name):
        peer.read(recorded_job, "not a report\n")


@pytest.mark.parametrize("name", [name for name, peer in FOREIGN.items() if peer.paced])
def test_the_rate_is_in_the_command_of_paced_peers(name: str, tmp_path: Path) -> None:
    def command_and_script(rate: float | None) -> str:
        command = " ".join(FOREIGN[name].command(job(tmp_path, rate), name))
        return command + "".join(path.read_text() for path in sorted(tmp_path.glob("script*")))

    paced = command_and_script(3200.0)
    assert "3200" in paced or "200.000000" in paced, (
        "neither the total rate nor that of each of 16 connections"
    )
    assert command_and_script(None) != paced


def test_redis_benchmark_gets_enough_requests_for_the_duration(tmp_path: Path) -> None:
    assert "100000" in FOREIGN["redis-benchmark"].command(job(tmp_path), "redis-benchmark")
