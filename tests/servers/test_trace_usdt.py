"""e4 by a probe that a server's authors put into it, in a real PostgreSQL."""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from measuring import need, run_server
from messages import assert_refused

from hindmost import _engine
from hindmost.targets.launch import search_path

FAULT = _engine.trace_fault()
pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.skipif(
        FAULT is not None, reason=f"requests cannot be traced here: {'' if FAULT is None else FAULT[1]}"
    ),
]
QUERY = "usdt:postgresql:query__start"
LENGTH = {"length": {"offset": 1, "width": 4, "little": False, "more": -4}}
"""A message: its kind, then its length, which counts itself (PostgreSQL's manual, 55.2)."""
COLUMNS = ["read_ns", "started_ns", "responded_ns", "batch"]


@pytest.fixture(scope="module")
def postgresql() -> Iterator[tuple[str, Path]]:
    """A server's address and its program; built without probes it is none to be had here."""
    spec = need("postgresql")
    program = Path(shutil.which("postgres", path=search_path(os.environ)) or "").resolve()
    if b"query__start" not in program.read_bytes():
        pytest.skip("this PostgreSQL was built without probes (--enable-dtrace)")
    with run_server(spec) as server:
        yield server.address, program


def logged_in(address: str) -> socket.socket:
    """A connection that may ask."""
    host, _, port = address.rpartition(":")
    client = socket.create_connection((host, int(port)), timeout=20)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    words = b"user\0hindmost\0database\0postgres\0\0"
    client.sendall(struct.pack("!ii", 8 + len(words), 3 << 16) + words)
    answered(client, 1)
    return client


def answered(client: socket.socket, times: int) -> None:
    """Read until the server was ready so often."""
    got = b""
    while got.count(b"Z\0\0\0\5I") < times:
        more = client.recv(1 << 16)
        assert more, "the server closed"
        got += more
    assert b"SFATAL" not in got
    assert b"SERROR" not in got


def query(text: bytes) -> bytes:
    return b"Q" + struct.pack("!i", 5 + len(text)) + text + b"\0"


def test_a_probe_of_postgresql_shows_when_each_query_of_a_batch_begins(postgresql, tmp_path, capsys):
    address, program = postgresql
    records = tmp_path / "records.parquet"
    batch = query(b"select 1") + query(b"select pg_sleep(0.004)") + query(b"select 2")
    with logged_in(address) as client:
        port = int(address.rpartition(":")[2])
        options = {"every": 1, "records": records, "begun": (program, QUERY)}
        trace = _engine.Trace(port, json.dumps(LENGTH), block_ns=10**8, **options)
        for _ in range(20):
            client.sendall(batch)
            answered(client, 3)
        client.sendall(query(b"select 3"))
        answered(client, 1)
        counts = json.loads(trace.end())["counts"]
    assert counts["not_begun"] == counts["astray"] == 0, counts
    assert counts["done"] == counts["seen"] == 61, counts
    columns = _engine.read_columns(str(records), COLUMNS)
    read, started, responded, size = (np.frombuffer(one, dtype=np.int64) for one in columns)
    assert (started > read).all(), "by rule the first of a batch begins when it is read"
    assert (started <= responded).all()
    begins = started[size == 3].reshape(-1, 3)
    assert len(begins) == 20
    assert (np.diff(begins, axis=1)[:, 1] >= 4e6).all(), "the third begins when the slow one is over"

    words = ["trace", f"postgresql://{address}", "--duration", "1s", "--probe-e4"]
    assert_refused([*words, "usdt:postgresql:query__begin"], capsys, 5, "trace-function")
    assert_refused([*words, "usdt:postgresql"], capsys, 2, "bad-value")
