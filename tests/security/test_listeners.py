"""Listeners: a hostile peer costs little memory and time, and does not block other peers."""

from __future__ import annotations

import contextlib
import resource
import socket
import stat
import time
import urllib.request

import pytest

from hindmost.commands.harvest.hadoop import SECRET
from hindmost.core.kubernetes import serving
from hindmost.core.store.files import install

HEAD = "POST /filter HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n"


@pytest.fixture
def extender(monkeypatch):
    monkeypatch.setattr(serving, "REQUEST_S", 1.0)
    with serving.Extender(lambda *_: None) as running:
        yield running


def connect(extender):
    host, _, port = extender.address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=20)


def is_healthy(extender):
    with urllib.request.urlopen(f"http://{extender.address}/healthz", timeout=5) as answer:
        return answer.status == 200


def test_bodies_that_are_announced_but_not_sent_take_no_memory(extender):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peers = [connect(extender) for _ in range(6)]
    for peer in peers:
        peer.sendall(HEAD.format(150 << 20).encode() + b"x" * 1000)
    assert is_healthy(extender)
    for peer in peers:
        assert peer.recv(100) == b"", "the server closed the connection after its time limit"
        peer.close()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10
    assert extender.counts["unreadable"] == 6


def test_a_slowly_sent_body_is_cut_off(extender):
    with connect(extender) as peer:
        peer.sendall(HEAD.format(1000).encode())
        start = time.monotonic()
        with pytest.raises(OSError):  # noqa: PT011, PT012 - a reset or a broken pipe
            while time.monotonic() - start < 20:
                peer.sendall(b"x")
                time.sleep(0.05)
        assert time.monotonic() - start < 10


def test_the_memory_for_all_bodies_is_bounded(extender):
    extender._room = 100_000
    with connect(extender) as peer:
        peer.sendall(HEAD.format(1 << 20).encode() + b"x" * 200_000)
        with contextlib.suppress(ConnectionError):
            assert peer.recv(1000) == b""
    assert extender._room == 100_000
    assert is_healthy(extender)


def test_connections_beyond_the_limit_are_refused(extender):
    peers = [connect(extender) for _ in range(3 * serving.CONNECTIONS)]
    closed = 0
    for peer in peers[serving.CONNECTIONS :]:
        peer.settimeout(5)
        try:
            closed += peer.recv(1) == b""
        except OSError:
            closed += 1
    assert closed >= serving.CONNECTIONS
    for peer in peers:
        peer.close()
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            assert is_healthy(extender)
            break
        except OSError:
            time.sleep(0.05)
    assert is_healthy(extender)


def test_only_the_owner_can_read_the_key_of_the_board(tmp_path):
    install(tmp_path, {SECRET: "key\n", "other.tsv": "x\n"})
    assert stat.S_IMODE((tmp_path / SECRET).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "other.tsv").stat().st_mode) == 0o644
