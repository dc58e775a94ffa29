"""Servers that require a login: who is accepted, who is refused, and where the password is stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from measuring import measure, need, parse_managed, run_server

from hindmost.core.plan.login import Login
from hindmost.core.targets.spec import ReadyProbe

pytestmark = pytest.mark.usefixtures("process_tracker")

SECRET = "correct-horse"
RATE = ("--rate", "300", "--duration", "0.3s", "--warmup", "0.1s", "--runs", "1", "--clients", "1")


@pytest.fixture
def redis_with_login() -> Iterator[str]:
    """The address of a redis whose user ada has a password, and whose default user is off."""
    spec = need("redis")
    users = ["--user", "ada", "on", f">{SECRET}", "~*", "&*", "+@all", "--user", "default", "off"]
    # Ready when it accepts connections, because this fixture does not log in.
    ready = ReadyProbe(kind="tcp")
    with run_server(spec.model_copy(update={"command": [*spec.command, *users], "ready": ready})) as server:
        yield server.address


@pytest.mark.redis
def test_a_redis_user_logs_in_with_its_password_which_is_stored_nowhere_and_others_are_refused(
    redis_with_login: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADAS_PASSWORD", SECRET)
    monkeypatch.setenv("WRONG", "battery-staple")
    study = tmp_path / "study"
    url, ada = f"redis://{redis_with_login}", ("--user", "ada", "--password", "env:ADAS_PASSWORD")
    answer = measure(f"{url}/3", study, *RATE, *ada)
    assert answer.code in (0, 4, 6), answer.err
    counts = answer.result["counts"]
    assert (counts["errors"], counts["unsent"]) == (0, 0), counts
    assert counts["completed"] > 0
    assert SECRET not in answer.out + answer.err
    files = [file for file in study.rglob("*") if file.is_file()]
    assert files
    assert [file for file in files if SECRET.encode() in file.read_bytes()] == []

    for options in ((), ("--user", "ada", "--password", "env:WRONG"), (*ada, "--database", "99")):
        answer = measure(url, tmp_path / "refused", *RATE, *options)
        answer.assert_error(1, "login-refused")
        assert "battery-staple" not in answer.out + answer.err
        assert not (tmp_path / "refused").exists()


@pytest.mark.postgresql
def test_postgresql_refuses_a_wrong_password_and_a_statement_that_cannot_be_prepared(tmp_path: Path) -> None:
    spec = parse_managed("postgresql?auth=scram-sha-256")
    need("postgresql")
    login = Login(user="hindmost", password="hindmost", database="postgres")
    study = tmp_path / "study"
    workload = tmp_path / "workload.json"
    statements = [{"sql": "SELECT nothing FROM nowhere WHERE id = $1", "parameters": ["1"]}]
    workload.write_text(json.dumps({"kind": "sql", "statements": statements}))
    with run_server(spec.model_copy(update={"login": login})) as server:
        for user in ("hindmost:battery-staple@", "hindmost@", "ada:hindmost@"):
            answer = measure(f"postgresql://{user}{server.address}/postgres", study, *RATE)
            answer.assert_error(1, "login-refused")
            assert "battery-staple" not in answer.out + answer.err
        measure(f"redis://{server.address}", study, *RATE).assert_error(1, "wrong-protocol")
        assert not study.exists()
        url = f"postgresql://hindmost:hindmost@{server.address}/postgres"
        answer = measure(url, study, *RATE, "--workload", workload)
    assert answer.code == 1, answer.err
    assert 'relation "nowhere" does not exist' in answer.err, "the server's own message"
