"""One connection to ten thousand, one thread to many: each carries its share, within the stated memory."""

from __future__ import annotations

import math
import os
import resource
from pathlib import Path
from typing import Any

import pytest
from measuring import Answer, assert_counts_add_up, hindmost, measure, need, servers

FAIR = 6.0
"""Standard deviations of chi-square that chance explains: one worker in a thousand million exceeds it."""


def measure_many(target: str, connections: int, out: Path, *extra: object, **options: Any) -> Answer:
    """A short run with at least four requests a second per connection."""
    rate = max(2_000, 4 * connections)
    load = ("--connections", connections, "--rate", rate, "--runs", 1, "--clients", 1, "--duration", "0.6s")
    answer = measure(target, out, *load, *extra, **options)
    assert answer.code in (4, 6), answer.err  # one run, and late sends on a busy host
    return answer


def assert_carried(answer: Answer, connections: int) -> None:
    """Assert that every request was answered, every connection was used, and memory stayed within its bound."""
    assert_counts_add_up(answer.result)
    counts = answer.result["counts"]
    assert counts["scheduled"] == counts["completed"] > 0, counts
    total = 0
    for index in range(answer.result["clients"]["count"]):
        client = answer.study.client(client=index)
        for worker in client["threads"]:
            total += assert_fair(worker["shares"])
        assert 0 < client["memory"]["peak_bytes"] <= client["memory"]["bound_bytes"], client["memory"]
        assert client["reconnects"] == 0
    assert total == connections
    assert "uneven-connections" not in {reason["code"] for reason in answer.result["reasons"]}


def assert_fair(shares: dict[str, Any]) -> int:
    """Assert that chance explains the chi-square of a worker's connections; returns their number."""
    count: int = shares["connections"]
    degrees = count - 1
    assert shares["silent"] == 0, shares
    assert abs(shares["chi_square"] - degrees) <= FAIR * math.sqrt(2.0 * degrees) + 1e-9, shares
    return count


def need_files(connections: int) -> None:
    """Skip if a process may not have this many connections."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < connections + 100:
        pytest.skip(f"a process here may have {hard} open files")


@pytest.mark.memcached
def test_a_thousand_connections_carry_their_shares_with_a_low_soft_limit_of_open_files(tmp_path):
    need("memcached")
    need_files(1_000)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    answer = measure_many(
        "memcached",
        1_000,
        tmp_path / "study",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard)),
    )
    assert_carried(answer, 1_000)


@pytest.mark.nightly
def test_memory_grows_with_connections_by_no_more_than_stated(tmp_path):
    peaks = {}
    for connections, threads in ((16, 1), (1_000, 1), (1_000, 8)):
        answer = measure_many(
            "synth", connections, tmp_path / f"{connections}-{threads}", "--threads", threads
        )
        assert_carried(answer, connections)
        peaks[connections, threads] = answer.study.client()["memory"]
    growth = peaks[1_000, 1]["peak_bytes"] - peaks[16, 1]["peak_bytes"]
    assert 0 < growth < 1_000 * 100_000, peaks
    # Threads add their own records; connections cost the same on any number of threads.
    thread_bytes = peaks[1_000, 8]["bound_bytes"] - peaks[1_000, 1]["bound_bytes"]
    assert peaks[1_000, 8]["peak_bytes"] < peaks[1_000, 1]["peak_bytes"] + 1.5 * thread_bytes, peaks


@pytest.mark.nightly
def test_more_threads_than_cpus_sleep_and_are_reported(tmp_path):
    threads = 2 * len(os.sched_getaffinity(0)) + 1
    answer = measure_many("synth", 4 * threads, tmp_path / "study", "--threads", threads)
    assert_carried(answer, 4 * threads)
    assert answer.result["clients"]["pacing"] == "sleep"
    assert "sleeping-clients" in {reason["code"] for reason in answer.result["reasons"]}


@pytest.mark.nightly
def test_many_clients_share_connections_and_rate(tmp_path):
    answer = measure(
        "synth", tmp_path / "study", "--clients", 9, "--connections", 300, "--rate", "3k", "--runs", 1
    )
    assert answer.code in (4, 6), answer.err
    assert_carried(answer, 300)


@pytest.mark.memcached
def test_more_connections_than_host_or_server_allow_are_an_error(tmp_path):
    need("memcached")
    out = tmp_path / "study"

    def few_files() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 512))

    command = ("measure", "synth", "--json", "--connections", 2_000, "--out", out)
    hindmost(*command, preexec_fn=few_files).assert_error(5, "open-files")
    command = ("measure", "memcached?connections=100", "--json", "--connections", 200, "--out", out)
    answer = hindmost(*command)
    answer.assert_error(2, "full", need=200, most=100)
    assert "memcached?connections=264" in answer.result["hint"]
    assert not out.exists()
    target = tmp_path / "few.toml"
    target.write_text(
        'name = "few"\nprotocol = "memcached"\nuser_if_root = "nobody"\n'
        'command = ["memcached", "-l", "{host}", "-p", "{port}", "-U", "0", "-t", "1", "-c", "60"]\n'
        '[stop]\nsignal = "KILL"\n'
    )
    answer = measure(target, tmp_path / "full", "--connections", 200)
    # The server refuses while connections are made, or at the first key that is stored.
    assert answer.error_codes in (["full"], ["preload"]), answer.err
    assert answer.code == 1


@pytest.mark.nightly
@pytest.mark.parametrize("connections", [1, 16, 256, 1_000, 4_000, 10_000])
@pytest.mark.parametrize("target", servers("memcached", "redis", "nginx", "synth"))
def test_up_to_ten_thousand_connections_carry_their_shares(target, connections, tmp_path):
    if target != "synth":
        need(target)
    need_files(connections)
    assert_carried(measure_many(target, connections, tmp_path / "study"), connections)


@pytest.mark.nightly
def test_ten_thousand_connections_on_eight_threads_stay_within_memory(tmp_path):
    need_files(10_000)
    answer = measure_many("synth", 10_000, tmp_path / "study", "--threads", 8)
    assert_carried(answer, 10_000)
    memory = answer.study.client()["memory"]
    assert memory["peak_bytes"] < 512 << 20, memory
