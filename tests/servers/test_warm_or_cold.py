"""Connections that carry so many requests each: made anew in any protocol, with all that it takes to be let in."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from measuring import Answer, assert_counts_close, managed, measure, need, running
from test_matrix import LOGIN, MATRIX, words

from hindmost.plan.protocols import ENTRIES
from hindmost.targets.spec import ReadyProbe

pytestmark = pytest.mark.usefixtures("household")

EACH = 4
COLD = ("--requests-per-connection", str(EACH), "--runs", "1", "--connections", "8")
SECRET = "correct-horse"
CLOSES = {"memcached", "memcached-meta", "memcached-binary", "redis-commands"}
"""Where the server is told to close, and does so within a millisecond, on a busy host at least now and then."""
LEAVES = {"http2-nginx", "raw-memcached"}
"""Where it is told nothing."""
ROWS = MATRIX | {"raw-memcached": replace(MATRIX["raw-memcached-pipelined"], options=())}


def assert_made_anew(answer: Answer) -> dict[str, Any]:
    """Everything was served, by connections that are ours to close, and the time to make them is told."""
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_close(answer.result)
    counts, found = answer.result["counts"], answer.result["connections"]
    assert (counts["errors"], counts["unsent"]) == (0, 0), counts
    assert counts["done"] > 0.9 * counts["due"] > 0, counts
    # Eight are open when the measurement begins, and eight when it ends.
    assert abs(found["made"] - counts["due"] / EACH) <= 9, (found, counts)
    assert (found["closed"], found["by_turns"], found["failed"]) == (0, False, 0)
    assert answer.result["connect_us"]["p50"]["value"] > 0
    return answer.result


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("memcached", marks=pytest.mark.memcached),
        pytest.param("memcached-meta", marks=pytest.mark.memcached),
        pytest.param("memcached-binary", marks=pytest.mark.memcached),
        pytest.param("redis-commands", marks=pytest.mark.redis),
        pytest.param("http2-nginx", marks=[pytest.mark.nginx, pytest.mark.nightly]),
        pytest.param("raw-memcached", marks=pytest.mark.memcached),
        "websocket-tornado",
        pytest.param("postgresql-over-tls", marks=pytest.mark.postgresql),
    ],
)
def test_each_connection_carries_as_many_as_asked_and_the_server_is_told(name: str, tmp_path: Path) -> None:
    row = ROWS[name]
    row.need()
    spec = managed(row.at(tmp_path))
    scheme, trust = spec.protocol, []
    if row.tls:
        scheme, trust = ENTRIES[spec.protocol].tls_scheme, [*LOGIN, "--ca", tmp_path / "ca.pem"]
    with running(spec) as server:
        url = f"{scheme}://{server.address}{spec.path if spec.path != '/' else ''}"
        answer = measure(url, tmp_path / "study", *words(row, tmp_path), *COLD, *trust)
        closed = closed_by_the_server(server.address)
    result = assert_made_anew(answer)
    found = result["connections"]
    assert result["plan"]["requests_per_connection"] == EACH
    assert closed > 0 if name in CLOSES else closed == 0 or name not in LEAVES, (closed, found)
    if row.tls:
        assert found["full_handshakes"] + found["resumed_handshakes"] == found["all"]
        assert result["handshake_us"]["p50"]["value"] > 0


def closed_by_the_server(address: str) -> int:
    """Connections that `address` was the first to close: whose ends rest there (TIME_WAIT, 6)."""
    port = f":{int(address.rpartition(':')[2]):04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(local.endswith(port) and state == "06" for _, local, _, state, *_ in rows)


@pytest.fixture
def protected() -> Iterator[str]:
    """The address of a redis that asks for a password."""
    spec = need("redis")
    command = [*spec.command, "--requirepass", SECRET]
    with running(spec.model_copy(update={"command": command, "ready": ReadyProbe(kind="tcp")})) as server:
        yield server.address


@pytest.mark.redis
def test_each_connection_logs_in_and_says_goodbye(
    protected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDISCLI_AUTH", SECRET)
    answer = measure(
        f"redis://{protected}", tmp_path / "study", *words(MATRIX["redis"], tmp_path), *COLD,
        "--password", "env:REDISCLI_AUTH",
    )  # fmt: skip
    result = assert_made_anew(answer)
    port = protected.rpartition(":")[2]
    asked = ["redis-cli", "-p", port, "INFO", "commandstats"]
    told = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    calls = {
        line.partition(":")[0].removeprefix("cmdstat_"): int(line.partition("calls=")[2].partition(",")[0])
        for line in told.splitlines()
        if line.startswith("cmdstat_")
    }
    # Those that were there before the load, and the last eight, are closed without a word.
    assert calls["auth"] >= calls["quit"] > 0.8 * result["connections"]["all"], (calls, result["connections"])


@pytest.mark.postgresql
def test_postgresql_finds_no_session_that_was_abandoned(tmp_path: Path) -> None:
    row = MATRIX["postgresql"]
    row.need()
    with running(managed("postgresql")) as server:
        answer = measure(
            f"postgresql://{server.address}/postgres",
            tmp_path / "study",
            *words(row, tmp_path),
            *LOGIN,
            *COLD,
        )
        host, _, port = server.address.rpartition(":")
        query = "select sessions, sessions_abandoned from pg_stat_database where datname = 'postgres'"
        told = subprocess.run(
            ["psql", "-h", host, "-p", port, "-U", "hindmost", "-AtF,", "-c", query, "postgres"],
            check=True,
            capture_output=True,
            text=True,
        )
    made = assert_made_anew(answer)["connections"]["all"]
    sessions, abandoned = map(int, told.stdout.split(","))
    assert sessions >= made, (sessions, made)
    assert abandoned <= 40, (abandoned, made)


@pytest.mark.memcached
def test_what_makes_no_connections_is_refused(tmp_path: Path) -> None:
    need("memcached-udp")
    answer = measure("memcached-udp", tmp_path / "study", *words(MATRIX["memcached-udp"], tmp_path), *COLD)
    answer.assert_one_clear_error(2, "requests_per_connection", "left out", "UDP makes no connections")
