"""A real tcpdump beside real servers: what it saw is what was asked, and it leaves nothing behind."""

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

from hindmost.capture import Capture, FinishedCapture, RunCapture, find_capture_fault, read_exchanges
from hindmost.capture import tcpdump as tcpdump_module
from hindmost.errors import HostUnfit
from hindmost.targets import ManagedServer


@pytest.fixture(scope="module")
def permitted() -> None:
    """A tcpdump that may capture on loopback, or a skip that says why there is none."""
    if fault := find_capture_fault():
        pytest.skip(f"{fault.message} ({fault.hint})")


@contextmanager
def talking(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield connection


def converse(connection: socket.socket, asked: bytes, end: bytes) -> tuple[int, int]:
    """Ask, and wait for a reply that ends so; the wall clock before and after."""
    before = time.time_ns()
    connection.sendall(asked)
    heard = b""
    while not heard.endswith(end):
        heard += connection.recv(65536)
    return before, time.time_ns()


SPOKEN: dict[str, list[tuple[bytes, bytes, int]]] = {
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
def test_every_request_is_found_with_its_reply_and_lies_within_the_wall_clock(
    name: str, permitted: None, tmp_path: Path
) -> None:
    spec = need(name)
    with ManagedServer(spec) as server:
        port = int(server.address.rpartition(":")[2])
        spoken = []
        with (
            Capture(tmp_path / "a.pcap", port, ring_kib=8192, snaplen=512) as capture,
            talking(port) as connection,
        ):
            capture.pause()
            for _ in range(50):
                for asked, end, outcome in SPOKEN[name]:
                    spoken.append((*converse(connection, asked, end), len(asked), outcome))
            caught = capture.finish()
    assert (caught.dropped, caught.whole) == (0, True)
    found = read_exchanges(caught.path, port, spec.protocol)
    assert found.counts["lost"] == found.counts["unanswered"] == found.counts["holes"] == 0
    assert [flow["whole"] for flow in found.flows] == [True]
    before, after, request_bytes, outcome = np.array(spoken, dtype=np.uint64).T
    assert found.request_bytes.tolist() == request_bytes.tolist()
    assert found.outcome.tolist() == outcome.tolist()
    assert np.count_nonzero(found.out_ns < before) == np.count_nonzero(found.in_ns > after) == 0
    assert found.wire_ns.min() > 0


@pytest.mark.memcached
def test_what_the_kernel_had_no_room_for_is_told(permitted: None, tmp_path: Path) -> None:
    with ManagedServer(need("memcached")) as server:
        port = int(server.address.rpartition(":")[2])
        with (
            Capture(tmp_path / "a.pcap", port, ring_kib=512, snaplen=2000) as capture,
            talking(port) as connection,
        ):
            capture.pause()
            for _ in range(1000):
                converse(connection, b"set a 0 0 1300\r\n" + b"x" * 1300 + b"\r\n", b"STORED\r\n")
            caught = capture.finish()
    assert caught.dropped > 0
    assert caught.captured > 0
    assert len(read_exchanges(caught.path, port, "memcached")) < 1000


@contextmanager
def echoing(host: str) -> Iterator[int]:
    """A server that answers every get by END; its port."""
    with socket.create_server(
        (host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET
    ) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:  # the test is over
                    return
                threading.Thread(target=talk, args=(connection,), daemon=True).start()

        def talk(connection: socket.socket) -> None:
            with connection:
                while connection.recv(4096):
                    connection.sendall(b"END\r\n")

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]


def test_only_the_named_connections_are_captured(permitted: None, tmp_path: Path) -> None:
    with echoing("127.0.0.1") as port, ExitStack() as stack:
        connections = [stack.enter_context(talking(port)) for _ in range(6)]
        ports = [one.getsockname()[1] for one in connections]
        capture = Capture(tmp_path / "a.pcap", port, ring_kib=2048, client_ports=ports[1:3])
        stack.enter_context(capture)
        for connection in connections * 3:
            converse(connection, b"get a\r\n", b"END\r\n")
        caught = capture.finish()
    found = read_exchanges(caught.path, port, "memcached")
    assert {int(flow["client"].rpartition(":")[2]) for flow in found.flows} == set(ports[1:3])
    assert len(found) == 6


@pytest.mark.nightly  # what other tests of captures meet by chance
def test_a_capture_ends_while_connections_go_on_being_made(permitted: None, tmp_path: Path) -> None:
    """As during the warm-up, with a server that closes connections: what came before its end is in it."""
    with echoing("127.0.0.1") as port, Capture(tmp_path / "a.pcap", port, packets="opening") as capture:
        capture.pause()
        with talking(port) as early:
            mine, over = early.getsockname()[1], threading.Event()

            def knock() -> None:
                while not over.wait(0.002):
                    socket.create_connection(("127.0.0.1", port), timeout=10).close()

            knocking = threading.Thread(target=knock)
            knocking.start()
            try:
                caught = capture.finish(30.0)
            finally:
                over.set()
                knocking.join()
    assert caught.whole
    flows = read_exchanges(caught.path, port, "memcached").flows
    assert mine in {int(flow["client"].rpartition(":")[2]) for flow in flows}


def test_neither_kill_9_nor_an_exception_leaves_a_tcpdump(permitted: None, tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from hindmost.capture import Capture\n"
        "with Capture(Path(sys.argv[1]), 9, ring_kib=1024) as capture:\n"
        "    capture.pause(); print(capture.pid, flush=True); time.sleep(60)\n"
    )
    process_tracker = ProcessTracker()
    try:
        child = subprocess.Popen([sys.executable, "-c", script, tmp_path / "a.pcap"], stdout=subprocess.PIPE)
        assert child.stdout is not None
        stopped = process_state(int(child.stdout.readline()))
        child.kill()
        child.wait()
        child.stdout.close()
        assert stopped == "T", "it does not run while it is held"
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


def test_what_makes_a_capture_impossible_has_a_code(permitted: None, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = find_capture_fault("nowhere0")
    assert fault is not None
    assert fault.code == "no-such-interface"
    # In a user namespace of its own even root may not look at the host's packets.
    if subprocess.run(["unshare", "-Ur", "true"], capture_output=True).returncode == 0:
        script = "from hindmost.capture import find_capture_fault; print(find_capture_fault().code)"
        asked = subprocess.run(
            ["unshare", "-Ur", sys.executable, "-c", script], capture_output=True, text=True, check=True
        )
        assert asked.stdout.strip() == "capture-refused"
    monkeypatch.setattr(tcpdump_module, "_PLACES", "")
    monkeypatch.setenv("PATH", "")
    fault = find_capture_fault()
    assert isinstance(fault, HostUnfit)
    assert (fault.code, fault.hint) == ("missing-program", "apt-get install tcpdump")


def test_a_connection_opened_as_one_capture_gives_way_to_the_other_is_in_one(
    permitted: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy host tcpdump starts slowly, and a server that closes connections has new ones all the time."""
    finish = Capture.finish
    opened: list[socket.socket] = []

    def finished(self: Capture, within_s: float = 10.0) -> FinishedCapture:
        caught = finish(self, within_s)
        if not opened:
            opened.append(socket.create_connection(listening.getsockname(), timeout=10))
        return caught

    monkeypatch.setattr(Capture, "finish", finished)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        with RunCapture(tmp_path, address, 1_000.0, 1.0) as witness:
            witness.start()
            with opened[0] as connection:
                port = connection.getsockname()[1]
            witness.finish()
            seen = [openings(tmp_path / name, port) for name in ("opening.pcap", "bytes.pcap")]
    assert sum(seen) == 1, seen


def openings(pcap: Path, client_port: int) -> int:
    """Packets by which that port opened a connection."""
    program = tcpdump_module.tcpdump_path()
    assert program is not None
    chosen = f"src port {client_port} and tcp[tcpflags] & tcp-syn != 0"
    said = subprocess.run([program, "-n", "-r", pcap, chosen], capture_output=True, text=True, check=True)
    return len(said.stdout.splitlines())
