"""The servers of all measurements: the project's own presets, one worker on one CPU."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from benches.peers.peer import KEYS, VALUE_BYTES, Protocol
from hindmost.core.targets import ManagedServer, preset

_PRESETS: dict[Protocol, str] = {"memcached": "memcached", "redis": "redis", "http": "nginx"}


def _fill_redis(address: str) -> None:
    """Store the keys that redis-benchmark requests, so that each get hits; it can only request keys that it
    sets."""
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


_GIVE_WAY_S = 0.01
"""After a freeze, the server has its CPU to itself for this time in seconds, to clear its backlog."""


@contextmanager
def running(protocol: Protocol, cpu: int) -> Iterator[ManagedServer]:
    """Start a server with one worker on `cpu`, filled with keys that the peers do not store themselves."""
    with ManagedServer(preset(_PRESETS[protocol]), cpus=[cpu]) as server:
        if protocol == "redis":
            _fill_redis(server.address)
        yield server


def freeze(pids: Sequence[int], cpu: int, seconds: float) -> float:
    """Stop processes for a while; return the actual duration in seconds.

    Runs on their CPU `cpu`, which is idle meanwhile, so that the client is not disturbed.
    """
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    begun = time.monotonic()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(max(0.0, begun + seconds - time.monotonic()))
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    lasted = time.monotonic() - begun
    time.sleep(_GIVE_WAY_S)
    os.sched_setaffinity(0, before)
    return lasted
