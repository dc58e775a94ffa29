"""Servers that ask who the client is: who is let in, who is told why not, and where a password stands afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from measuring import managed, measure, need, running

from hindmost.plan.login import Login
from hindmost.targets.spec import ReadyProbe

pytestmark = pytest.mark.usefixtures("household")

SECRET = "correct-horse"
RATE = ("--rate", "300", "--duration", "0.3s", "--warmup", "0.1s", "--runs", "1")


@pytest.fixture(scope="module")
def protected() -> Iterator[str]:
    """The address of a redis whose user ada has a password, and whose default user is off."""
    spec = need("redis")
    users = ["--user", "ada", "on", f">{SECRET}", "~*", "&*", "+@all", "--user", "default", "off"]
    # Ready when it accepts connections: it is not told the password here.
    ready = ReadyProbe(kind="tcp")
    with running(spec.model_copy(update={"command": [*spec.command, *users], "ready": ready})) as server:
        yield server.address


@pytest.mark.redis
@pytest.mark.parametrize(
    ("who", "more", "options"),
    [
        (f"ada:{SECRET}@", "", ()),
        (f"ada:{SECRET}@", "/2?protocol=3", ()),
        ("", "/3", ("--user", "ada", "--password", "env:ADAS_PASSWORD")),
    ],
    ids=["url", "resp3", "options"],
)
def test_a_user_is_let_in_and_the_password_is_in_no_file(
    who: str,
    more: str,
    options: tuple[str, ...],
    protected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ADAS_PASSWORD", SECRET)
    study = tmp_path / "study"
    answer = measure(f"redis://{who}{protected}{more}", study, *RATE, *options)
    assert answer.code in (0, 4, 6), answer.err
    counts = answer.result["counts"]
    assert (counts["errors"], counts["unsent"]) == (0, 0), counts
    assert counts["done"] > 0
    assert SECRET not in answer.out + answer.err
    files = [file for file in study.rglob("*") if file.is_file()]
    assert files
    assert [file for file in files if SECRET.encode() in file.read_bytes()] == []


@pytest.mark.redis
@pytest.mark.parametrize(
    ("who", "options", "words"),
    [
        ("", (), ["NOAUTH", "--password"]),
        ("ada:battery-staple@", (), ["WRONGPASS"]),
        ("", ("--user", "ada", "--password", "env:WRONG"), ["WRONGPASS"]),
        ("", ("--user", "ada", "--password", "env:NOWHERE"), ["no variable NOWHERE"]),
        (f"ada:{SECRET}@", ("--database", "99"), ["DB index is out of range", "--database"]),
    ],
)
def test_who_is_not_let_in_is_told_why(
    who: str,
    options: tuple[str, ...],
    words: list[str],
    protected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WRONG", "battery-staple")
    answer = measure(f"redis://{who}{protected}", tmp_path / "study", *RATE, *options)
    assert answer.code in (1, 2), answer.err
    assert "Traceback" not in answer.err
    assert "battery-staple" not in answer.err
    for word in words:
        assert word in answer.err
    assert not (tmp_path / "study").exists()


@pytest.mark.postgresql
@pytest.mark.parametrize(
    ("who", "words"),
    [
        ("hindmost:battery-staple@", ["password authentication failed"]),
        ("hindmost@", ["password", "--password env:"]),
        ("ada:hindmost@", ["28P01", "ada"]),
    ],
)
def test_postgresql_says_why_it_lets_nobody_in(
    who: str, words: list[str], scram: str, tmp_path: Path
) -> None:
    answer = measure(f"postgresql://{who}{scram}/postgres", tmp_path / "study", *RATE)
    assert answer.code == 1, answer.err
    assert "Traceback" not in answer.err
    assert "battery-staple" not in answer.err
    for word in words:
        assert word in answer.err
    assert not (tmp_path / "study").exists()


@pytest.mark.postgresql
def test_a_postgresql_that_is_taken_for_another_server_is_told(scram: str, tmp_path: Path) -> None:
    answer = measure(f"redis://{scram}", tmp_path / "study", *RATE)
    answer.assert_one_clear_error(1, "does not speak redis: it is postgresql", f"postgresql://{scram}")
    answer = measure(f"postgresqls://hindmost@{scram}/postgres", tmp_path / "study", *RATE, "--insecure")
    answer.assert_one_clear_error(1, scram, "answered `N`", "ssl_cert_file")


@pytest.mark.postgresql
def test_a_statement_that_cannot_be_prepared_is_told_with_the_servers_words(
    scram: str, tmp_path: Path
) -> None:
    workload = tmp_path / "workload.json"
    statements = [{"sql": "SELECT nothing FROM nowhere WHERE id = $1", "parameters": ["1"]}]
    workload.write_text(json.dumps({"kind": "sql", "statements": statements}))
    url = f"postgresql://hindmost:hindmost@{scram}/postgres"
    answer = measure(url, tmp_path / "study", *RATE, "--workload", workload)
    assert answer.code in (1, 3), answer.err
    assert 'relation "nowhere" does not exist' in answer.err


@pytest.fixture(scope="module")
def scram() -> Iterator[str]:
    """The address of a PostgreSQL that asks for passwords."""
    spec = managed("postgresql?auth=scram-sha-256")
    need("postgresql")
    who = Login(user="hindmost", password="hindmost", database="postgres")
    with running(spec.model_copy(update={"login": who})) as server:
        yield server.address


@pytest.mark.memcached
def test_a_login_is_refused_where_nobody_asks(tmp_path: Path) -> None:
    with running(need("memcached")) as server:
        answer = measure(f"memcached://{server.address}", tmp_path / "study", *RATE, "--user", "ada")
    answer.assert_one_clear_error(2, "--user", "memcached")
