"""Every protocol at every real server that speaks it: measures, closes its account, outlives a restart of the server.

A row more is a line in `MATRIX`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from measuring import REAL, assert_counts_close, managed, measure, need, running
from secured import EXAMPLES, GRPC, POSTGRESQL, place, secured

from hindmost.plan.login import Login
from hindmost.plan.protocols import ENTRIES

pytestmark = pytest.mark.usefixtures("household")


@dataclass(frozen=True)
class Row:
    """One protocol at one server.

    Attributes
    ----------
    target : str
        A preset, with the options that make it speak the protocol, or a target file.
    workload : dict, optional
        What is sent, if not the usual.
    options : tuple of str
        Further words of the command line.
    by_url : str
        What stands behind the address, where the server is named by it.
    version : bool
        Whether the protocol asks the server who it is.
    tls : bool
        Whether TLS is put before the target.
    nightly : bool
        Whether it is of the slow ring: its server takes seconds to start, and differs little from another's.
    """

    target: str
    workload: dict[str, Any] | None = None
    options: tuple[str, ...] = ()
    by_url: str = ""
    version: bool = True
    tls: bool = False
    nightly: bool = False

    @property
    def server(self) -> str:
        """The preset's name, or the file."""
        return "postgresql" if self.target == str(POSTGRESQL) else self.target.partition("?")[0]

    def at(self, folder: Path) -> str:
        """The target as the command line has it; where it needs certificates, they are in `folder`."""
        return str(secured(Path(self.target), place(folder))) if self.tls else self.target

    def need(self) -> None:
        """A skip where it is not here."""
        if self.server.endswith(".toml"):
            pytest.importorskip("grpc" if "grpc" in self.server else "tornado")
        else:
            need(self.server)


COMMANDS = {
    "kind": "commands",
    "commands": [
        {"weight": 3, "command": "LPUSH list:{{int:1..10}} {{string:20}}"},
        {"weight": 3, "command": "LRANGE list:{{int:1..10}} 0 2"},
        {"weight": 2, "command": "ZADD board {{int:1..1000}} {{string:8}}"},
        {
            "name": "transaction",
            "command": [["MULTI"], ["INCR", "n"], ["LTRIM", "list:1", "0", "99"], ["EXEC"]],
        },
        {"command": ["EVAL", "return {KEYS[1], {1, 2, {'three'}}}", "1", "key:{{uuid}}"]},
    ],
}
SIMPLE: dict[str, Any] = {
    "kind": "sql",
    "statements": [
        {"weight": 9, "sql": "SELECT value FROM items WHERE id = {{int:1..10000}}"},
        {
            "name": "transfer",
            "sql": "BEGIN; UPDATE items SET value = 'x' WHERE id = {{int:1..10000}}; COMMIT",
        },
    ],
}
PREPARED: dict[str, Any] = {
    "kind": "sql",
    "statements": [
        {"weight": 9, "sql": "SELECT value FROM items WHERE id = $1", "parameters": ["{{int:1..10000}}"]},
        {
            "sql": "UPDATE items SET value = $1 WHERE id = $2",
            "parameters": ["{{string:20}}", "{{int:1..10000}}"],
        },
    ],
}
BOTH = {"kind": "sql", "statements": [*SIMPLE["statements"], *PREPARED["statements"]]}
RAW = {
    "kind": "raw",
    "requests": [
        {
            "name": "miss",
            "send": "get {{uuid}}\r\n",
            "until": {"delimiter": "END\r\n"},
            "miss": "END",
            "error": "ERROR",
        },
        {"name": "version", "send": "version\r\n", "until": {"delimiter": "\r\n"}},
    ],
}
PASSWORD = ("--user", "hindmost", "--password", "env:HINDMOST_TEST_PASSWORD", "--database", "postgres")
LOGIN = ("--user", "hindmost", "--database", "postgres")
MESSAGES = {
    "kind": "messages",
    "paths": ["/echo"],
    "requests": [
        {"name": "text", "weight": 3, "send": '{"id": {{int:1..1000}}, "of": "{{uuid}}"}'},
        {"name": "binary", "send": "{{string:200..70000}}", "binary": True},
    ],
}
ALL_ON_ONE_SLOWLY = ("--connections", "1", "--rate", "1k")
ALL_ON_ONE = ("--connections", "1", "--rate", "5k")

MATRIX = {
    "memcached": Row("memcached"),
    "memcached-meta": Row("memcached?protocol=memcached-meta"),
    "memcached-binary": Row("memcached?protocol=memcached-binary"),
    "memcached-through-twemproxy": Row("nutcracker"),
    "memcached-udp": Row("memcached-udp"),
    "dns-unbound": Row("unbound"),
    "redis": Row("redis"),
    "redis-commands": Row("redis", COMMANDS),
    "redis-resp3-pipelined": Row("redis", COMMANDS, ALL_ON_ONE, by_url="/0?protocol=3"),
    "postgresql": Row("postgresql", BOTH),
    "postgresql-scram": Row("postgresql?auth=scram-sha-256", SIMPLE, PASSWORD),
    "postgresql-md5": Row("postgresql?auth=md5", PREPARED, PASSWORD, nightly=True),
    "postgresql-over-tls": Row(str(POSTGRESQL), BOTH, tls=True),
    "raw-memcached-pipelined": Row("memcached?protocol=raw", RAW, ALL_ON_ONE, version=False),
    "http-nginx": Row("nginx"),
    "http2-nginx": Row("nginx?protocol=http2&listen=reuseport%20http2"),
    "http-apache": Row("apache"),
    "http2-apache": Row("apache?protocol=http2"),
    "http-haproxy": Row("haproxy"),
    "grpc-python": Row(str(GRPC)),
    "grpc-python-over-tls": Row(str(GRPC), tls=True),
    "websocket-tornado": Row(str(EXAMPLES / "websocket-python.toml"), MESSAGES),
    "websocket-tornado-pipelined": Row(str(EXAMPLES / "websocket-python.toml"), options=ALL_ON_ONE_SLOWLY),
    "http2-haproxy": Row("haproxy?protocol=http2&bind=proto%20h2"),
}


def rows() -> list[Any]:
    def marks(row: Row) -> list[pytest.MarkDecorator]:
        real = [getattr(pytest.mark, row.server)] if row.server in REAL else []
        return [*real, pytest.mark.nightly] if row.nightly else real

    return [pytest.param(row, id=name, marks=marks(row)) for name, row in MATRIX.items()]


def words(row: Row, folder: Path) -> list[str]:
    """Of the command line: a rate that any of them bears on a busy host, and what is sent."""
    rate = [] if "--rate" in row.options else ["--rate", "500"]
    given = [*rate, "--duration", "0.4s", "--warmup", "0.1s", *row.options]
    if row.workload is not None:
        file = folder / "workload.json"
        file.write_text(json.dumps(row.workload))
        given += ["--workload", str(file)]
    return given


def assert_served(result: dict[str, Any], runs: int) -> None:
    """Whatever the host did to latency: everything was served, and the account closes."""
    assert_counts_close(result)
    assert len(result["runs"]) == runs
    counts = result["counts"]
    assert counts["due"] > 0
    assert (counts["errors"], counts["unsent"]) == (0, 0), counts
    # A host that stands still for the whole patience makes timeouts; a protocol misread makes nothing else.
    assert counts["done"] > 0.9 * counts["due"], counts


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HINDMOST_TEST_PASSWORD", "hindmost")


@pytest.mark.parametrize("row", rows())
def test_it_measures_closes_its_account_and_outlives_a_restart(row: Row, tmp_path: Path) -> None:
    row.need()
    out = tmp_path / "study"
    answer = measure(row.at(tmp_path), out, *words(row, tmp_path))
    assert answer.code in (0, 4, 6), answer.err
    # Two runs, each at a server started afresh: what the first left behind is not needed by the second.
    assert_served(answer.result, runs=2)
    assert (answer.result["target"]["server_version"] not in ("", "unknown")) == row.version


@pytest.mark.parametrize("row", rows())
def test_a_server_that_is_there_already_is_measured_by_its_address(row: Row, tmp_path: Path) -> None:
    row.need()
    spec = managed(row.at(tmp_path))
    if row.options == PASSWORD:
        who = Login(user="hindmost", password="env:HINDMOST_TEST_PASSWORD", database="postgres")
        spec = spec.model_copy(update={"login": who})
    with running(spec) as server:
        path = spec.path if spec.path != "/" else row.by_url
        scheme = ENTRIES[spec.protocol].tls_scheme if row.tls else spec.protocol
        url = f"{scheme}://{server.address}{path}"
        trust = ["--ca", tmp_path / "ca.pem"] if row.tls else []
        login = [] if spec.login is None or row.options == PASSWORD else LOGIN
        answer = measure(url, tmp_path / "study", *words(row, tmp_path), *login, *trust)
    assert answer.code in (0, 4, 6), answer.err
    assert_served(answer.result, runs=2)
