"""The e4 stamp from a static probe (USDT) in a real PostgreSQL."""

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
from hindmost.core.targets.launch import search_path

FAULT = _engine.trace_fault()
pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.skipif(
        FAULT is not None, reason=f"requests cannot be traced here: {'' if FAULT is None else FAULT[1]}"
    ),
]
QUERY = "usdt:postgresql:query__start"
LENGTH = {"length": {"offset": 1, "width": 4, "little": False, "more": -4}}
"""A message: its type, then its length, which includes itself (PostgreSQL's manual, 55.2)."""
COLUMNS = ["read_ns", "started_ns", "responded_ns", "batch"]


@pytest.fixture(scope="module")
def postgresql() -> Iterator[tuple[str, Path]]:
    """A server's address and its program; skips if PostgreSQL was built without probes."""
    spec = need("postgresql")
    program = Path(shutil.which("postgres", path=search_path(os.environ)) or "").resolve()
    if b"query__start" not in program.read_bytes():
        pytest.skip("this PostgreSQL was built without probes (--enable-dtrace)")
    with run_server(spec) as server:
        yield server.address, program


def log_in(address: str) -> socket.socket:
    """Open a connection and log in."""
    host, _, port = address.rpartition(":")
    client = socket.create_connection((host, int(port)), timeout=20)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    parameters = b"user\0hindmost\0database\0postgres\0\0"
    client.sendall(struct.pack("!ii", 8 + len(parameters), 3 << 16) + parameters)
    await_ready(client, 1)
    return client


def await_ready(client: socket.socket, times: int) -> None:
    """Read until the server has reported this many times that it is ready."""
    reply = b""
    while reply.count(b"Z\0\0\0\5I") < times:
        part = client.recv(1 << 16)
        assert part, "the server closed the connection"
        reply += part
    assert b"SFATAL" not in reply
    assert b"SERROR" not in reply


def query(text: bytes) -> bytes:
    return b"Q" + struct.pack("!i", 5 + len(text)) + text + b"\0"


def test_a_probe_of_postgresql_shows_when_each_query_of_a_batch_begins(postgresql, tmp_path, capsys):
    address, program = postgresql
    records = tmp_path / "records.parquet"
    batch = query(b"select 1") + query(b"select pg_sleep(0.004)") + query(b"select 2")
    with log_in(address) as client:
        port = int(address.rpartition(":")[2])
        options = {"every": 1, "records": records, "begun": (program, QUERY)}
        trace = _engine.Trace(port, json.dumps(LENGTH), block_ns=10**8, **options)
        for _ in range(20):
            client.sendall(batch)
            await_ready(client, 3)
        client.sendall(query(b"select 3"))
        await_ready(client, 1)
        counts = json.loads(trace.end())["counts"]
    assert counts["not_begun"] == counts["astray"] == 0, counts
    assert counts["done"] == counts["seen"] == 61, counts
    columns = _engine.read_columns(str(records), COLUMNS)
    read, started, responded, size = (np.frombuffer(column, dtype=np.int64) for column in columns)
    assert (started > read).all(), "without the probe, the first of a batch begins when it is read"
    assert (started <= responded).all()
    begins = started[size == 3].reshape(-1, 3)
    assert len(begins) == 20
    assert (np.diff(begins, axis=1)[:, 1] >= 4e6).all(), "the third begins when the slow one ends"

    command = ["trace", f"postgresql://{address}", "--duration", "1s", "--probe-e4"]
    assert_refused([*command, "usdt:postgresql:query__begin"], capsys, 5, "trace-function")
    assert_refused([*command, "usdt:postgresql"], capsys, 2, "bad-value")
