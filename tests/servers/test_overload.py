"""Overload, and servers that stop: memory is bounded, every request is counted, the run ends, and the result is invalid
or inconclusive and gives the carried rate."""

from __future__ import annotations

import shlex
import socket
import time
from typing import Any

import impostor
import pytest
from measuring import Answer, assert_counts_add_up, measure, need, need_two_cpus

SLOW = 'synth?service={"kind":"deterministic","mean_us":1000}'
"""A capacity of a thousand requests a second."""


def overload(target: str, out: Any, *options: object, rate: str = "5k", runs: str = "1") -> Answer:
    """Send many times the rate that the server can carry."""
    load = ("--rate", rate, "--runs", runs, "--timeout", "0.5s", "--clients", 1)
    answer = measure(target, out, *load, *options)
    assert answer.code in (4, 6), answer.err  # 6 if this host also delayed the client
    assert_counts_add_up(answer.result)
    memory = answer.study.client()["memory"]
    assert memory["peak_bytes"] <= memory["bound_bytes"], memory
    return answer


def codes(answer: Answer) -> dict[str, str]:
    return {reason["code"]: reason["level"] for reason in answer.result["reasons"]}


def few_keys(tmp_path: Any) -> Any:
    file = tmp_path / "few.json"
    file.write_text('{"kind": "key-value", "keys": 100}')
    return file


def test_a_saturated_server_is_named_with_its_rate_and_a_search_is_suggested(tmp_path):
    answer = overload(SLOW, tmp_path / "study", "--workload", few_keys(tmp_path), runs="3..8")
    result = answer.result
    assert codes(answer)["rate-not-reached"] in ("inconclusive", "invalid")
    assert "wide-intervals" not in codes(answer), "more runs would not help, so none are requested"
    assert len(result["runs"]) == 3, "three runs are enough, though eight were allowed"
    saturation = result["saturation"]
    assert saturation["by"] == "server"
    assert saturation["requested_per_s"] == 5_000.0
    # The server cannot answer more than a thousand; interference on its CPU lowers that. A client without CPU at the
    # beginning reads the replies that arrived meanwhile later.
    delay = max(answer.study.client(run)["threads"][0]["run_delay_share"] for run in (1, 2, 3))
    assert 0.0 < saturation["answered_per_s"]["value"] <= 1_000.0 * (1.03 + delay), (saturation, delay)
    command = shlex.split(saturation["find"])
    assert command[:3] == ["hindmost", "measure", SLOW]
    assert float(command[command.index("--rate") + 1]) < saturation["answered_per_s"]["value"]


@pytest.mark.nightly
def test_overload_takes_no_more_memory_than_stated(tmp_path):
    few = few_keys(tmp_path)
    light = measure(SLOW, tmp_path / "light", "--rate", 100, "--runs", 1, "--clients", 1, "--workload", few)
    full = overload(SLOW, tmp_path / "full", "--workload", few, rate="20k", runs="3..8")
    peaks = [answer.study.client()["memory"]["peak_bytes"] for answer in (light, full)]
    # Waiting requests fill the memory reserved for them: at most all of 80 MiB.
    assert peaks[1] < peaks[0] + (80 << 20), peaks
    assert peaks[1] < 4 * peaks[0], peaks


def byte_by_byte(connection: socket.socket, received: bytes) -> None:
    for byte in b"END\r\n" * received.count(b"get "):
        connection.sendall(bytes([byte]))
        time.sleep(1.0)


def stops_reading(connection: socket.socket, received: bytes) -> None:
    time.sleep(60.0)


@pytest.mark.parametrize(
    ("behave", "by"),
    [
        pytest.param(stops_reading, "silence", id="stops reading", marks=pytest.mark.nightly),
        pytest.param(lambda *_: None, "silence", id="never answers"),
        pytest.param(byte_by_byte, None, id="answers a byte a second", marks=pytest.mark.nightly),
    ],
)
def test_a_server_that_stops_leaves_every_request_counted(behave, by, tmp_path):
    gets = tmp_path / "gets.json"
    gets.write_text('{"kind": "key-value", "keys": 100, "get_ratio": 1.0}')
    with impostor.impostor(impostor.memcached(behave)) as address:
        answer = overload(f"memcached://{address}", tmp_path / "study", "--workload", gets)
    result = answer.result
    assert result["counts"]["timeouts"] + result["counts"]["unsent"] > 0.9 * result["counts"]["scheduled"]
    assert result["saturation"]["answered_per_s"]["value"] < 200.0
    if by is not None:
        assert result["saturation"]["by"] == by
    assert "unanswered" in codes(answer)
    assert all(latency["value"] == "inf" for latency in result["latency_us"].values()), (
        "all are infinitely late"
    )


@pytest.mark.nightly
@pytest.mark.memcached
def test_memcached_at_twice_its_capacity(tmp_path):
    need("memcached")
    need_two_cpus()
    flat_out = measure("memcached", tmp_path / "closed", "--closed", "--runs", 1, "--duration", "2s")
    capacity = flat_out.result["throughput"]["achieved"]
    answer = measure(
        "memcached", tmp_path / "study", "--rate", round(2.0 * capacity), "--runs", "3..5", "--duration", "3s"
    )
    assert answer.code in (4, 6), answer.err  # 6 if this host also delayed the client
    assert_counts_add_up(answer.result)
    saturation = answer.result["saturation"]
    assert saturation["by"] in ("server", "client")
    assert 0.5 * capacity < saturation["answered_per_s"]["value"] < 2.0 * capacity, (capacity, saturation)
    memory = answer.study.client()["memory"]
    assert memory["peak_bytes"] <= memory["bound_bytes"], memory
