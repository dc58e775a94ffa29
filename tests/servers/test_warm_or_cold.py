"""Connections limited to a number of requests: each one logs in, and says goodbye to the server when it closes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from measuring import Answer, assert_counts_add_up, measure, need, parse_managed, run_server

from hindmost.core.targets.spec import ReadyProbe

pytestmark = pytest.mark.usefixtures("process_tracker")

EACH = 4
COLD = ("--requests-per-connection", str(EACH), "--runs", "1", "--clients", "1", "--connections", "8")
SHORT = ("--rate", "500", "--duration", "0.4s", "--warmup", "0.1s")
SECRET = "correct-horse"


def assert_renewed(answer: Answer) -> int:
    """Assert that everything was served, over connections that the client closed; returns their number."""
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    counts, connections = answer.result["counts"], answer.result["connections"]
    assert (counts["errors"], counts["unsent"]) == (0, 0), counts
    assert counts["completed"] > 0.9 * counts["scheduled"] > 0, counts
    # Eight connections are open when the measurement begins, and eight when it ends.
    assert abs(connections["made"] - counts["scheduled"] / EACH) <= 9, (connections, counts)
    assert (connections["closed"], connections["by_turns"], connections["failed"]) == (0, False, 0)
    assert answer.result["connect_us"]["p50"]["value"] > 0
    assert answer.result["plan"]["requests_per_connection"] == EACH
    count: int = connections["all"]
    return count


@pytest.fixture
def redis_with_password() -> Iterator[str]:
    """The address of a redis that requires a password."""
    spec = need("redis")
    command = [*spec.command, "--requirepass", SECRET]
    with run_server(spec.model_copy(update={"command": command, "ready": ReadyProbe(kind="tcp")})) as server:
        yield server.address


@pytest.mark.redis
def test_each_connection_logs_in_and_says_goodbye(
    redis_with_password: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDISCLI_AUTH", SECRET)
    url = f"redis://{redis_with_password}"
    count = assert_renewed(measure(url, tmp_path / "study", *SHORT, *COLD, "--password", "env:REDISCLI_AUTH"))
    command = ["redis-cli", "-p", redis_with_password.rpartition(":")[2], "INFO", "commandstats"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    calls = {
        line.partition(":")[0].removeprefix("cmdstat_"): int(line.partition("calls=")[2].partition(",")[0])
        for line in output.splitlines()
        if line.startswith("cmdstat_")
    }
    # Connections from before the load, and the last eight, are closed without QUIT.
    assert calls["auth"] >= calls["quit"] > 0.8 * count, (calls, count)


@pytest.mark.nightly  # its server takes seconds to start
@pytest.mark.postgresql
def test_postgresql_reports_no_abandoned_session(tmp_path: Path) -> None:
    need("postgresql")
    login = ("--user", "hindmost", "--database", "postgres")
    with run_server(parse_managed("postgresql")) as server:
        url = f"postgresql://{server.address}/postgres"
        count = assert_renewed(measure(url, tmp_path / "study", *SHORT, *COLD, *login))
        host, _, port = server.address.rpartition(":")
        query = "select sessions, sessions_abandoned from pg_stat_database where datname = 'postgres'"
        psql = subprocess.run(
            ["psql", "-h", host, "-p", port, "-U", "hindmost", "-AtF,", "-c", query, "postgres"],
            check=True,
            capture_output=True,
            text=True,
        )
    sessions, abandoned = map(int, psql.stdout.split(","))
    assert sessions >= count, (sessions, count)
    assert abandoned <= 40, (abandoned, count)
