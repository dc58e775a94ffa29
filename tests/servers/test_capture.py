"""A real tcpdump next to real servers: the capture matches the requests, and leaves nothing behind."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest
from measuring import ProcessTracker, need, process_state

from hindmost.core.capture import Capture, FinishedCapture, RunCapture, find_capture_fault, read_exchanges
from hindmost.core.capture import tcpdump as tcpdump_module
from hindmost.core.targets import ManagedServer
from hindmost.errors import HostUnfit


@pytest.fixture(scope="module")
def capture_allowed() -> None:
    """Skip with the reason if tcpdump may not capture on loopback."""
    if fault := find_capture_fault():
        pytest.skip(f"{fault.message} ({fault.hint})")


@contextmanager
def connect(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield connection


def exchange(connection: socket.socket, request: bytes, end: bytes) -> tuple[int, int]:
    """Send a request and wait for a reply with this end; returns the wall-clock times before and after."""
    before = time.time_ns()
    connection.sendall(request)
    reply = b""
    while not reply.endswith(end):
        reply += connection.recv(65536)
    return before, time.time_ns()


EXCHANGES: dict[str, list[tuple[bytes, bytes, int]]] = {
    "memcached": [
        (b"set a 0 0 300\r\n" + b"x" * 300 + b"\r\n", b"STORED\r\n", 0),
        (b"get a\r\n", b"END\r\n", 0),
        (b"get nothing\r\n", b"END\r\n", 1),
        (b"gets a b\r\n", b"END\r\n", 1),
    ],
    "nginx": [
        (b"GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n", b"</html>\r\n", 1),
        (b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", b"\r\n\r\n", 0),
    ],
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("memcached", marks=pytest.mark.memcached),
        pytest.param("nginx", marks=[pytest.mark.nginx, pytest.mark.nightly]),
    ],
)
def test_every_request_is_captured_with_its_reply_within_the_measured_times(
    name: str, capture_allowed: None, tmp_path: Path
) -> None:
    spec = need(name)
    with ManagedServer(spec) as server:
        port = int(server.address.rpartition(":")[2])
        exchanges = []
        with (
            Capture(tmp_path / "a.pcap", port, ring_kib=8192, snaplen=512) as capture,
            connect(port) as connection,
        ):
            capture.pause()
            for _ in range(50):
                for request, end, outcome in EXCHANGES[name]:
                    exchanges.append((*exchange(connection, request, end), len(request), outcome))
            capture_result = capture.finish()
    assert (capture_result.dropped, capture_result.whole) == (0, True)
    captured = read_exchanges(capture_result.path, port, spec.protocol)
    assert captured.counts["lost"] == captured.counts["unanswered"] == captured.counts["holes"] == 0
    assert [flow["whole"] for flow in captured.flows] == [True]
    before, after, request_bytes, outcome = np.array(exchanges, dtype=np.uint64).T
    assert captured.request_bytes.tolist() == request_bytes.tolist()
    assert captured.outcome.tolist() == outcome.tolist()
    assert np.count_nonzero(captured.out_ns < before) == np.count_nonzero(captured.in_ns > after) == 0
    assert captured.wire_ns.min() > 0


@pytest.mark.memcached
def test_packets_that_the_kernel_dropped_are_counted(capture_allowed: None, tmp_path: Path) -> None:
    with ManagedServer(need("memcached")) as server:
        port = int(server.address.rpartition(":")[2])
        with (
            Capture(tmp_path / "a.pcap", port, ring_kib=512, snaplen=2000) as capture,
            connect(port) as connection,
        ):
            capture.pause()
            for _ in range(1000):
                exchange(connection, b"set a 0 0 1300\r\n" + b"x" * 1300 + b"\r\n", b"STORED\r\n")
            result = capture.finish()
    assert result.dropped > 0
    assert result.captured > 0
    assert len(read_exchanges(result.path, port, "memcached")) < 1000


@contextmanager
def serve_misses(host: str) -> Iterator[int]:
    """A server that answers every get by END; yields its port."""
    with socket.create_server(
        (host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET
    ) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:  # the test is over
                    return
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

        def answer(connection: socket.socket) -> None:
            with connection:
                while connection.recv(4096):
                    connection.sendall(b"END\r\n")

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]


def test_only_the_named_connections_are_captured(capture_allowed: None, tmp_path: Path) -> None:
    with serve_misses("127.0.0.1") as port, ExitStack() as stack:
        connections = [stack.enter_context(connect(port)) for _ in range(6)]
        ports = [connection.getsockname()[1] for connection in connections]
        capture = Capture(tmp_path / "a.pcap", port, ring_kib=2048, client_ports=ports[1:3])
        stack.enter_context(capture)
        for connection in connections * 3:
            exchange(connection, b"get a\r\n", b"END\r\n")
        result = capture.finish()
    captured = read_exchanges(result.path, port, "memcached")
    assert {int(flow["client"].rpartition(":")[2]) for flow in captured.flows} == set(ports[1:3])
    assert len(captured) == 6


@pytest.mark.nightly  # other tests of captures meet this case by chance
def test_a_capture_ends_while_new_connections_are_made(capture_allowed: None, tmp_path: Path) -> None:
    """As during warm-up, with a server that closes connections: everything before the end is captured."""
    with serve_misses("127.0.0.1") as port, Capture(tmp_path / "a.pcap", port, packets="opening") as capture:
        capture.pause()
        with connect(port) as early:
            early_port, done = early.getsockname()[1], threading.Event()

            def knock() -> None:
                while not done.wait(0.002):
                    socket.create_connection(("127.0.0.1", port), timeout=10).close()

            thread = threading.Thread(target=knock)
            thread.start()
            try:
                result = capture.finish(30.0)
            finally:
                done.set()
                thread.join()
    assert result.whole
    flows = read_exchanges(result.path, port, "memcached").flows
    assert early_port in {int(flow["client"].rpartition(":")[2]) for flow in flows}


def test_neither_kill_9_nor_an_exception_leaves_a_tcpdump(capture_allowed: None, tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from hindmost.core.capture import Capture\n"
        "with Capture(Path(sys.argv[1]), 9, ring_kib=1024) as capture:\n"
        "    capture.pause(); print(capture.pid, flush=True); time.sleep(60)\n"
    )
    process_tracker = ProcessTracker()
    try:
        child = subprocess.Popen([sys.executable, "-c", script, tmp_path / "a.pcap"], stdout=subprocess.PIPE)
        assert child.stdout is not None
        state = process_state(int(child.stdout.readline()))
        child.kill()
        child.wait()
        child.stdout.close()
        assert state == "T", "a paused tcpdump is stopped"
        process_tracker.assert_none_left()
    finally:
        process_tracker.close()

    pids: list[int] = []

    def fail() -> None:
        with Capture(tmp_path / "a.pcap", 9, ring_kib=1024) as capture:
            capture.pause()
            pids.append(capture.pid)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert process_state(pids[0]) == "X"


def test_every_obstacle_to_a_capture_has_a_code(
    capture_allowed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = find_capture_fault("nowhere0")
    assert fault is not None
    assert fault.code == "no-such-interface"
    # In its own user namespace even root may not capture the host's packets.
    if subprocess.run(["unshare", "-Ur", "true"], capture_output=True).returncode == 0:
        script = "from hindmost.core.capture import find_capture_fault; print(find_capture_fault().code)"
        process = subprocess.run(
            ["unshare", "-Ur", sys.executable, "-c", script], capture_output=True, text=True, check=True
        )
        assert process.stdout.strip() == "capture-refused"
    monkeypatch.setattr(tcpdump_module, "_PLACES", "")
    monkeypatch.setenv("PATH", "")
    fault = find_capture_fault()
    assert isinstance(fault, HostUnfit)
    assert (fault.code, fault.hint) == ("missing-program", "apt-get install tcpdump")


def test_a_connection_opened_between_two_captures_is_in_exactly_one(
    capture_allowed: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy host tcpdump starts slowly, and a server that closes connections has new ones all the time."""
    finish = Capture.finish
    connections: list[socket.socket] = []

    def finish_and_connect(self: Capture, within_s: float = 10.0) -> FinishedCapture:
        result = finish(self, within_s)
        if not connections:
            connections.append(socket.create_connection(listening.getsockname(), timeout=10))
        return result

    monkeypatch.setattr(Capture, "finish", finish_and_connect)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        with RunCapture(tmp_path, address, 1_000.0, 1.0) as captures:
            captures.start()
            with connections[0] as connection:
                port = connection.getsockname()[1]
            captures.finish()
            counts = [count_openings(tmp_path / name, port) for name in ("opening.pcap", "bytes.pcap")]
    assert sum(counts) == 1, counts


def count_openings(pcap: Path, client_port: int) -> int:
    """Number of SYN packets from the port."""
    program = tcpdump_module.tcpdump_path()
    assert program is not None
    syn = f"src port {client_port} and tcp[tcpflags] & tcp-syn != 0"
    process = subprocess.run([program, "-n", "-r", pcap, syn], capture_output=True, text=True, check=True)
    return len(process.stdout.splitlines())
