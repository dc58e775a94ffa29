"""Connections that carry so many requests each: each logs in anew, and the server is told when one goes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from measuring import Answer, assert_counts_add_up, measure, need, parse_managed, run_server

from hindmost.targets.spec import ReadyProbe

pytestmark = pytest.mark.usefixtures("process_tracker")

EACH = 4
COLD = ("--requests-per-connection", str(EACH), "--runs", "1", "--clients", "1", "--connections", "8")
SHORT = ("--rate", "500", "--duration", "0.4s", "--warmup", "0.1s")
SECRET = "correct-horse"


def assert_made_anew(answer: Answer) -> int:
    """Everything was served, over connections that the client closed; returns how many connections there were."""
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    counts, found = answer.result["counts"], answer.result["connections"]
    assert (counts["errors"], counts["unsent"]) == (0, 0), counts
    assert counts["completed"] > 0.9 * counts["scheduled"] > 0, counts
    # Eight are open when the measurement begins, and eight when it ends.
    assert abs(found["made"] - counts["scheduled"] / EACH) <= 9, (found, counts)
    assert (found["closed"], found["by_turns"], found["failed"]) == (0, False, 0)
    assert answer.result["connect_us"]["p50"]["value"] > 0
    assert answer.result["plan"]["requests_per_connection"] == EACH
    made: int = found["all"]
    return made


@pytest.fixture
def protected() -> Iterator[str]:
    """The address of a redis that asks for a password."""
    spec = need("redis")
    command = [*spec.command, "--requirepass", SECRET]
    with run_server(spec.model_copy(update={"command": command, "ready": ReadyProbe(kind="tcp")})) as server:
        yield server.address


@pytest.mark.redis
def test_each_connection_logs_in_and_says_goodbye(
    protected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDISCLI_AUTH", SECRET)
    url = f"redis://{protected}"
    made = assert_made_anew(
        measure(url, tmp_path / "study", *SHORT, *COLD, "--password", "env:REDISCLI_AUTH")
    )
    asked = ["redis-cli", "-p", protected.rpartition(":")[2], "INFO", "commandstats"]
    told = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    calls = {
        line.partition(":")[0].removeprefix("cmdstat_"): int(line.partition("calls=")[2].partition(",")[0])
        for line in told.splitlines()
        if line.startswith("cmdstat_")
    }
    # Those that were there before the load, and the last eight, are closed without a word.
    assert calls["auth"] >= calls["quit"] > 0.8 * made, (calls, made)


@pytest.mark.nightly  # its server takes seconds to start
@pytest.mark.postgresql
def test_postgresql_finds_no_session_that_was_abandoned(tmp_path: Path) -> None:
    need("postgresql")
    login = ("--user", "hindmost", "--database", "postgres")
    with run_server(parse_managed("postgresql")) as server:
        url = f"postgresql://{server.address}/postgres"
        made = assert_made_anew(measure(url, tmp_path / "study", *SHORT, *COLD, *login))
        host, _, port = server.address.rpartition(":")
        query = "select sessions, sessions_abandoned from pg_stat_database where datname = 'postgres'"
        told = subprocess.run(
            ["psql", "-h", host, "-p", port, "-U", "hindmost", "-AtF,", "-c", query, "postgres"],
            check=True,
            capture_output=True,
            text=True,
        )
    sessions, abandoned = map(int, told.stdout.split(","))
    assert sessions >= made, (sessions, made)
    assert abandoned <= 40, (abandoned, made)
