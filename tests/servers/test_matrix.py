"""Every protocol against every real server that supports it: measured, every request counted, repeated after a restart.

A new row is one line in `MATRIX`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from measuring import REAL, assert_counts_add_up, measure, need, parse_managed, run_server
from tls_targets import EXAMPLES, GRPC, POSTGRESQL, add_tls, place_certificates

pytestmark = pytest.mark.usefixtures("process_tracker")


@dataclass(frozen=True)
class Row:
    """One protocol at one server.

    Attributes
    ----------
    target : str
        A preset, with the options that select the protocol, or a target file.
    version : str, optional
        Prefix of the version that the server reports; None where the protocol does not provide one.
    workload : dict, optional
        The workload, if not the default.
    options : tuple of str
        Further command line options.
    by_url : str, optional
        Suffix of the address, if the server is already running and given by its URL.
    kinds : frozenset of str
        Kinds of requests that the result must contain.
    tls : bool
        Whether the target uses TLS.
    runs : int
        Number of runs, each with a restarted server.
    nightly : bool
        Whether another row covers the same code path with another server or login.
    """

    target: str
    version: str | None = ""
    workload: dict[str, Any] | None = None
    options: tuple[str, ...] = ()
    by_url: str | None = None
    kinds: frozenset[str] = frozenset()
    tls: bool = False
    runs: int = 1
    nightly: bool = False

    @property
    def server(self) -> str:
        """The preset's name, or the file."""
        return "postgresql" if self.target == str(POSTGRESQL) else self.target.partition("?")[0]

    def target_in(self, folder: Path) -> str:
        """The target for the command line; certificates that it needs are put into `folder`."""
        return str(add_tls(Path(self.target), place_certificates(folder))) if self.tls else self.target

    def need(self) -> None:
        """Skip if the server is not installed."""
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
BOTH: dict[str, Any] = {
    "kind": "sql",
    "statements": [
        {"weight": 9, "sql": "SELECT value FROM items WHERE id = {{int:1..10000}}"},
        {
            "name": "transfer",
            "sql": "BEGIN; UPDATE items SET value = 'x' WHERE id = {{int:1..10000}}; COMMIT",
        },
        {
            "name": "prepared",
            "weight": 9,
            "sql": "SELECT value FROM items WHERE id = $1",
            "parameters": ["{{int:1..10000}}"],
        },
        {
            "sql": "UPDATE items SET value = $1 WHERE id = $2",
            "parameters": ["{{string:20}}", "{{int:1..10000}}"],
        },
    ],
}
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
MESSAGES = {
    "kind": "messages",
    "paths": ["/echo"],
    "requests": [
        {"name": "text", "weight": 3, "send": '{"id": {{int:1..1000}}, "of": "{{uuid}}"}'},
        {"name": "binary", "send": "{{string:200..70000}}", "binary": True},
    ],
}
NAMES = {
    "kind": "dns",
    "queries": [
        {"name": "www.example", "type": "A", "weight": 2},
        {"name": "www.example", "type": "AAAA"},
        {"name": "h{{int:1..1000}}.example", "type": "A", "called": "absent"},
    ],
}
ALL_ON_ONE = ("--connections", "1", "--rate", "5k")
GET_AND_SET = frozenset({"get", "set"})

MATRIX = {
    "memcached": Row("memcached", "1.", kinds=GET_AND_SET, runs=2),
    "memcached-meta": Row("memcached?protocol=memcached-meta", "1.", kinds=GET_AND_SET),
    "memcached-binary": Row("memcached?protocol=memcached-binary", "1.", kinds=GET_AND_SET),
    "memcached-through-twemproxy": Row("nutcracker", "1.", kinds=GET_AND_SET),
    "memcached-udp": Row("memcached-udp", "1.", kinds=GET_AND_SET),
    "dns-unbound": Row("unbound", "unbound 1", NAMES, kinds=frozenset({"A", "AAAA", "absent"})),
    "redis": Row("redis", kinds=GET_AND_SET),
    "redis-resp3-pipelined": Row(
        "redis",
        workload=COMMANDS,
        options=ALL_ON_ONE,
        by_url="/0?protocol=3",
        kinds=frozenset({"transaction"}),
    ),
    "postgresql-scram": Row("postgresql?auth=scram-sha-256", "PostgreSQL 1", BOTH, PASSWORD),
    "postgresql": Row(
        "postgresql", "PostgreSQL 1", BOTH, kinds=frozenset({"transfer", "prepared"}), nightly=True
    ),
    "postgresql-md5": Row("postgresql?auth=md5", "PostgreSQL 1", BOTH, PASSWORD, nightly=True),
    "postgresql-over-tls": Row(str(POSTGRESQL), "PostgreSQL 1", BOTH, tls=True, nightly=True),
    "raw-memcached-pipelined": Row(
        "memcached?protocol=raw", None, RAW, ALL_ON_ONE, kinds=frozenset({"miss", "version"})
    ),
    "http-nginx": Row("nginx", "nginx/", runs=2),
    "http2-nginx": Row("nginx?protocol=http2&listen=reuseport%20http2", "HTTP/2"),
    "http-apache": Row("apache", "Apache/"),
    "http2-apache": Row("apache?protocol=http2", "HTTP/2", nightly=True),
    "http-haproxy": Row("haproxy", "nginx/"),
    "http2-haproxy": Row("haproxy?protocol=http2&bind=proto%20h2", "HTTP/2", nightly=True),
    "grpc-python": Row(str(GRPC)),
    "grpc-python-over-tls": Row(str(GRPC), tls=True, nightly=True),
    "websocket-tornado": Row(
        str(EXAMPLES / "websocket-python.toml"), workload=MESSAGES, kinds=frozenset({"text", "binary"})
    ),
}


def rows() -> list[Any]:
    def marks(row: Row) -> list[pytest.MarkDecorator]:
        real = [getattr(pytest.mark, row.server)] if row.server in REAL else []
        return [*real, pytest.mark.nightly] if row.nightly else real

    return [pytest.param(row, id=name, marks=marks(row)) for name, row in MATRIX.items()]


def options(row: Row, folder: Path) -> list[str]:
    """Command line options: the workload, and a rate that every server carries on a busy host."""
    rate = [] if "--rate" in row.options else ["--rate", "500"]
    procedure = ["--runs", str(row.runs), "--clients", "1", "--duration", "0.3s", "--warmup", "0.1s"]
    workload: list[str] = []
    if row.workload is not None:
        file = folder / "workload.json"
        file.write_text(json.dumps(row.workload))
        workload = ["--workload", str(file)]
    return [*rate, *procedure, *row.options, *workload]


@pytest.mark.parametrize("row", rows())
def test_each_protocol_is_measured_at_each_server_that_speaks_it(
    row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row.need()
    monkeypatch.setenv("HINDMOST_TEST_PASSWORD", "hindmost")
    target = row.target_in(tmp_path)
    if row.by_url is None:
        answer = measure(target, tmp_path / "study", *options(row, tmp_path))
    else:
        spec = parse_managed(target)
        with run_server(spec) as server:
            url = f"{spec.protocol}://{server.address}{row.by_url}"
            answer = measure(url, tmp_path / "study", *options(row, tmp_path))
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    # Each run has a restarted server, so the second run does not depend on the first.
    assert len(answer.result["runs"]) == row.runs
    counts = answer.result["counts"]
    assert counts["scheduled"] > 0
    assert (counts["errors"], counts["unsent"]) == (0, 0), counts
    # A stopped host causes some timeouts; a protocol error would cause nothing else.
    assert counts["completed"] > 0.9 * counts["scheduled"], counts
    assert row.kinds <= set(answer.result["by_kind"])
    if row.by_url is not None:
        return  # a running server is not asked for its version
    version = answer.result["target"]["server_version"]
    assert version.startswith(row.version or "")
    assert (version not in ("", "unknown")) == (row.version is not None), version
    if row.tls:
        connections = answer.result["connections"]
        assert connections["full_handshakes"] + connections["resumed_handshakes"] == connections["all"] > 0
