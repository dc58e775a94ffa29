"""The servers that everybody is measured against: the project's own presets, one worker on one processor."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benches.peers.peer import KEYS, VALUE_BYTES, Protocol
from hindmost.targets import ManagedServer, preset

_PRESETS: dict[Protocol, str] = {"memcached": "memcached", "redis": "redis", "http": "nginx"}


def _fill_redis(address: str) -> None:
    """Store what redis-benchmark asks for, so that each get hits; it can only draw the keys that it sets."""
    host, _, port = address.rpartition(":")
    value = b"x" * VALUE_BYTES
    with socket.create_connection((host, int(port)), timeout=10.0) as talk:
        for index in range(KEYS):
            key = f"key:{index:012d}".encode()
            talk.sendall(
                b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" % (len(key), key, len(value), value)
            )
        heard = 0
        while heard < KEYS * len(b"+OK\r\n"):
            heard += len(talk.recv(65536))


@contextmanager
def running(protocol: Protocol, cpu: int) -> Iterator[ManagedServer]:
    """Start a server with one worker on `cpu`, filled with what the peers do not store themselves."""
    with ManagedServer(preset(_PRESETS[protocol]), cpus=[cpu]) as server:
        if protocol == "redis":
            _fill_redis(server.address)
        yield server


def freeze(server: ManagedServer, seconds: float) -> float:
    """Stop all its processes for a while; returns for how long it was, in seconds."""
    pids = server.pids()
    begun = time.monotonic()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(max(0.0, begun + seconds - time.monotonic()))
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    return time.monotonic() - begun
