"""Waits for a backend: Little's law on sampled connections, and a real server with a slow backend."""

from __future__ import annotations

import os
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from rows import each_row

from hindmost.commands.diagnose import upstream
from hindmost.commands.diagnose.netlink import TcpSocket
from hindmost.commands.diagnose.upstream import Waits, find_slow_upstream


def connection(received: int, sent: int, cookie: int = 1, port: int = 5432) -> TcpSocket:
    info = bytes(152) + struct.pack("=II", received, sent)
    return TcpSocket(40_000, port, 7, cookie, "10.0.0.2", info)


def test_a_call_waits_from_its_data_to_the_reply():
    waits = Waits()
    for received, sent in [(5, 5), (5, 6), (5, 6), (6, 6), (6, 6), (7, 7), (7, 8)]:
        waits.add([connection(received, sent)])
    assert waits.waiting["10.0.0.2", 5432] == 3
    assert waits.replies["10.0.0.2", 5432] == 2, "the replies before the first sample are unknown"
    assert waits.slowest(2) == (("10.0.0.2", 5432), pytest.approx(3 / 7))
    assert waits.slowest(3) is None


def test_each_new_connection_is_a_call():
    waits = Waits()
    waits.add([])
    for cookie in range(1, 5):
        waits.add([connection(0, 1, cookie)])
        waits.add([connection(1, 1, cookie)])
    assert (waits.waiting["10.0.0.2", 5432], waits.replies["10.0.0.2", 5432]) == (4, 4)


def test_connections_on_which_nothing_was_sent_do_not_wait():
    waits = Waits()
    for _ in range(3):
        waits.add([connection(0, 0), connection(9, 9, cookie=2)])
    assert waits.slowest(0) is None


BACKEND = """
import socketserver, sys, time
class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(100):
            time.sleep(float(sys.argv[1]))
            self.request.sendall(b"answer")
with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
"""


@contextmanager
def run_backend(seconds: float) -> Iterator[int]:
    """Run a server in a process of its own that takes `seconds` for each request; yield its port."""
    with subprocess.Popen([sys.executable, "-c", BACKEND, str(seconds)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        process.kill()


@contextmanager
def serve(handle) -> Iterator[int]:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            handle(self.request)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@each_row(("backend_s", "own_s", "named"), [(0.02, 0.0, True), (0.001, 0.02, False)])
def test_a_slow_backend_is_told_from_slow_code(monkeypatch, backend_s, own_s, named):
    """The server and the probe are threads of this process; the port tells them apart."""
    latencies: list[tuple[int, int]] = []
    stop = threading.Event()
    with run_backend(backend_s) as backend:

        def forward(connection: socket.socket) -> None:
            with socket.create_connection(("127.0.0.1", backend)) as behind:
                while data := connection.recv(100):
                    time.sleep(own_s)
                    behind.sendall(data)
                    connection.sendall(behind.recv(100))

        with serve(forward) as front, socket.create_connection(("127.0.0.1", front)) as probe:

            def send() -> None:
                while not stop.is_set():
                    begun = time.monotonic_ns()
                    probe.sendall(b"request")
                    probe.recv(100)
                    latencies.append((begun, time.monotonic_ns() - begun))

            prober = threading.Thread(target=send)
            prober.start()
            monkeypatch.setattr(upstream, "listening_ports", lambda _: [front])
            monkeypatch.setattr(upstream, "process_tree", lambda _: [os.getpid()])

            def watch_probe(seconds: float, sample) -> list[float]:
                until = time.monotonic() + seconds
                while time.monotonic() < until:
                    sample()
                    time.sleep(0.002)
                taken = [latency / 1e3 for _, latency in latencies]
                latencies.clear()
                return taken

            windows = SimpleNamespace(requests=None, quantile=0.95, watch_probe=watch_probe)
            note = find_slow_upstream(os.getpid(), windows, 3_000.0, look_s=1.5)
            stop.set()
            prober.join()
    if named:
        assert note is not None
        assert note.code == "upstream-slow"
        assert note.values["peer"] == f"127.0.0.1:{backend}"
        assert note.values["wait_us"] > 0.5 * note.values["mean_us"]
    else:
        assert note is None
