"""More than a server can do, or one that stops: memory is bounded, the account closes, the run ends, and the
answer is invalid and says what was carried."""

from __future__ import annotations

import shlex
import socket
import time
from typing import Any

import impostor
import pytest
from measuring import Answer, assert_counts_add_up, measure, need, need_two_cpus

SLOW = 'synth?service={"kind":"deterministic","mean_us":1000}'
"""A thousand requests a second and no more."""


def overloaded(target: str, out: Any, *more: object, rate: str = "5k", runs: str = "1") -> Answer:
    """Many times what the server can do."""
    words = ("--rate", rate, "--runs", runs, "--timeout", "0.5s", "--clients", 1)
    answer = measure(target, out, *words, *more)
    assert answer.code in (4, 6), answer.err  # 6 where this host made the client late, too
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


def test_a_saturated_server_is_named_with_what_it_carried_and_how_to_find_what_holds(tmp_path):
    answer = overloaded(SLOW, tmp_path / "study", "--workload", few_keys(tmp_path), runs="3..8")
    result = answer.result
    assert codes(answer)["rate-not-reached"] in ("inconclusive", "invalid")
    assert "wide-intervals" not in codes(answer), "more runs would not help, so none are asked for"
    assert len(result["runs"]) == 3, "three runs tell enough, though eight were allowed"
    full = result["saturation"]
    assert full["by"] == "server"
    assert full["requested_per_s"] == 5_000.0
    # It cannot do more than a thousand; a host that takes its processor away lets it do less. A client that had no
    # processor at the beginning reads afterwards what came meanwhile.
    waited = max(answer.study.client(run)["threads"][0]["run_delay_share"] for run in (1, 2, 3))
    assert 0.0 < full["answered_per_s"]["value"] <= 1_000.0 * (1.03 + waited), (full, waited)
    words = shlex.split(full["find"])
    assert words[:3] == ["hindmost", "measure", SLOW]
    assert float(words[words.index("--rate") + 1]) < full["answered_per_s"]["value"]


@pytest.mark.nightly
def test_overload_takes_no_more_memory_than_is_told(tmp_path):
    few = few_keys(tmp_path)
    isolated = measure(
        SLOW, tmp_path / "isolated", "--rate", 100, "--runs", 1, "--clients", 1, "--workload", few
    )
    full = overloaded(SLOW, tmp_path / "full", "--workload", few, rate="20k", runs="3..8")
    peaks = [one.study.client()["memory"]["peak_bytes"] for one in (isolated, full)]
    # Requests that wait fill what was set aside for them: at most all of 80 MiB.
    assert peaks[1] < peaks[0] + (80 << 20), peaks
    assert peaks[1] < 4 * peaks[0], peaks


def byte_by_byte(connection: socket.socket, heard: bytes) -> None:
    for byte in b"END\r\n" * heard.count(b"get "):
        connection.sendall(bytes([byte]))
        time.sleep(1.0)


def stops_reading(connection: socket.socket, heard: bytes) -> None:
    time.sleep(60.0)


@pytest.mark.parametrize(
    ("behave", "by"),
    [
        pytest.param(stops_reading, "silence", id="stops reading", marks=pytest.mark.nightly),
        pytest.param(lambda *_: None, "silence", id="never answers"),
        pytest.param(byte_by_byte, None, id="answers a byte a second", marks=pytest.mark.nightly),
    ],
)
def test_a_server_that_stops_leaves_every_request_accounted_for(behave, by, tmp_path):
    gets = tmp_path / "gets.json"
    gets.write_text('{"kind": "key-value", "keys": 100, "get_ratio": 1.0}')
    with impostor.impostor(impostor.memcached(behave)) as address:
        answer = overloaded(f"memcached://{address}", tmp_path / "study", "--workload", gets)
    result = answer.result
    assert result["counts"]["timeouts"] + result["counts"]["unsent"] > 0.9 * result["counts"]["scheduled"]
    assert result["saturation"]["answered_per_s"]["value"] < 200.0
    if by is not None:
        assert result["saturation"]["by"] == by
    assert "unanswered" in codes(answer)
    assert all(one["value"] == "inf" for one in result["latency_us"].values()), "infinitely late, all of it"


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
    assert answer.code in (4, 6), answer.err  # 6 where this host made the client late, too
    assert_counts_add_up(answer.result)
    full = answer.result["saturation"]
    assert full["by"] in ("server", "client")
    assert 0.5 * capacity < full["answered_per_s"]["value"] < 2.0 * capacity, (capacity, full)
    memory = answer.study.client()["memory"]
    assert memory["peak_bytes"] <= memory["bound_bytes"], memory
