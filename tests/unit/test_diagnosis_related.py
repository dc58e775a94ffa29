"""Backends and clients of an application, however they are connected, with real processes, sockets and pipes."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hindmost.commands.diagnose import neighbours
from hindmost.commands.diagnose.demand import Requests
from hindmost.commands.diagnose.relations import find_related
from hindmost.commands.diagnose.suspects import find_suspects
from hindmost.core.interventions.policy import Policy

PEER = """
import mmap, socket, sys, time
how, where = sys.argv[1:]
if how == "tcp":
    here = socket.create_server(("127.0.0.1", 0))
    print(here.getsockname()[1], flush=True)
    link = here.accept()
elif how == "unix":
    here = socket.socket(socket.AF_UNIX)
    here.bind(where)
    here.listen()
    print("up", flush=True)
    link = here.accept()
elif how == "memory":
    file = open(where, "r+b")
    held = mmap.mmap(file.fileno(), 4096)
    print("up", flush=True)
elif how == "alone":
    print("up", flush=True)
time.sleep(120)
"""
APPLICATION = """
import mmap, os, socket, sys, time
how, where, port = sys.argv[1:]
if how == "tcp":
    link = socket.create_connection(("127.0.0.1", int(port)))
elif how == "unix":
    link = socket.socket(socket.AF_UNIX)
    link.connect(where)
elif how == "memory":
    file = open(where, "r+b")
    held = mmap.mmap(file.fileno(), 4096)
print("up", flush=True)
time.sleep(120)
"""


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[str]]]:
    running: list[subprocess.Popen[str]] = []
    yield running
    for process in running:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def start(processes, script: str, *arguments: object, **more) -> tuple[int, str]:
    """Start a process; return its pid and the line it prints when it is ready. Only the test reads its output."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stdin=more.pop("stdin", subprocess.DEVNULL),
        text=True,
        **more,
    )
    processes.append(process)
    assert process.stdout is not None
    return process.pid, process.stdout.readline().strip()


@pytest.mark.parametrize("kind", ["tcp", "unix", "memory", "alone"])
def test_a_connected_process_is_a_backend(kind, processes, tmp_path):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        where = Path(folder) / kind
        if kind == "memory":
            where.write_bytes(bytes(4096))
        peer, port = start(processes, PEER, kind, where)
        own, _ = start(processes, APPLICATION, kind, where, port)
        related = find_related([own])
        assert related.backends.get(peer) == (None if kind == "alone" else kind)
        assert peer not in related.clients
        # From the peer's side, an application that connected is a client.
        assert (own in find_related([peer]).clients) == (kind in ("tcp", "unix"))


def test_a_reader_of_the_applications_pipe_is_a_backend_and_another_writer_is_not(processes):
    read, write = os.pipe()
    idle_script = "import time; print('up', flush=True); time.sleep(120)"
    own, _ = start(processes, idle_script, pass_fds=[write])
    reader, _ = start(processes, idle_script, pass_fds=[read])
    other_writer, _ = start(processes, idle_script, pass_fds=[write])
    os.close(read)
    os.close(write)
    related = find_related([own])
    assert related.backends.get(reader) == "pipe"
    assert other_writer not in related.backends


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can create network namespaces")
@pytest.mark.skipif(shutil.which("ip") is None, reason="ip (iproute2) is not installed")
@pytest.mark.parametrize("role", ["client", "backend"])
def test_a_peer_in_another_network_namespace_is_found(role, processes):
    name, here, there = f"hr{os.getpid()}", f"hr{os.getpid()}a", f"hr{os.getpid()}b"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        for line in (
            f"link add {here} type veth peer name {there} netns {name}",
            f"addr add 100.99.{os.getpid() % 256}.1/30 dev {here}",
            f"link set {here} up",
            f"-n {name} addr add 100.99.{os.getpid() % 256}.2/30 dev {there}",
            f"-n {name} link set {there} up",
        ):
            subprocess.run(["ip", *line.split()], check=True)
        listen = (
            "import socket, time; s = socket.create_server(('', 0)); print(s.getsockname()[1], flush=True);"
            " c = s.accept(); print('up', flush=True); time.sleep(120)"
        )
        ask = (
            "import socket, sys, time; s = socket.create_connection((sys.argv[1], int(sys.argv[2])));"
            " print('up', flush=True); time.sleep(120)"
        )
        run_in_namespace = f"import os, sys; os.execvp('ip', ['ip', 'netns', 'exec', '{name}', sys.executable, '-P', '-c', *sys.argv[1:]])"
        if role == "client":
            own, port = start(processes, listen)
            peer, _ = start(processes, run_in_namespace, ask, f"100.99.{os.getpid() % 256}.1", port)
            assert peer in find_related([own]).clients
        else:
            peer, port = start(processes, run_in_namespace, listen)
            own, _ = start(processes, ask, f"100.99.{os.getpid() % 256}.2", port)
            assert find_related([own]).backends.get(peer) == "tcp"
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)
        subprocess.run(["ip", "link", "del", here], check=False, stderr=subprocess.DEVNULL)


def test_a_backend_with_short_connections_is_found(processes, monkeypatch):
    # The time suffices for a dozen connections, however late this process gets a CPU.
    monkeypatch.setattr("hindmost.commands.diagnose.relations.SHORT_S", 3.0)
    server_script = (
        "import socket, time; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True)\n"
        "while True:\n with s.accept()[0] as link: link.recv(1); time.sleep(0.2)"
    )
    client_script = (
        "import socket, sys, time; print('up', flush=True)\n"
        "while True:\n with socket.create_connection(('127.0.0.1', int(sys.argv[1]))) as link:\n"
        "  link.send(b'x'); link.recv(1)"
    )
    peer, port = start(processes, server_script)
    own, _ = start(processes, client_script, port)
    assert find_related([own]).backends.get(peer) == "tcp"


def test_a_client_behind_a_proxy_is_found(processes):
    proxy_script = (
        "import socket, sys, time; s = socket.create_server(('127.0.0.1', 0));"
        " t = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); print(s.getsockname()[1], flush=True);"
        " c = s.accept(); time.sleep(120)"
    )
    own, port = start(processes, PEER, "tcp", "")
    proxy, front = start(processes, proxy_script, port)
    client_script, _ = start(processes, APPLICATION, "tcp", "", front)
    start(processes, PEER, "alone", "")
    assert find_related([own]).clients == {proxy, client_script}
    # For the client, the proxy is a backend, and the server is not its client.
    assert find_related([client_script]).clients == set()


ASKS = """
import socket, sys
link = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
print("up", flush=True)
for line in sys.stdin:
    link.sendall(b"x")
    link.recv(1)
    print("asked", flush=True)
"""
ANSWERS = """
import socket, threading
def answer(link):
    while link.recv(1):
        link.sendall(b"y")
here = socket.create_server(("127.0.0.1", 0))
print(here.getsockname()[1], flush=True)
while True:
    threading.Thread(target=answer, args=[here.accept()[0]], daemon=True).start()
"""


def test_requests_are_counted_without_our_own(processes):
    own, port = start(processes, ANSWERS)
    start(processes, ASKS, port, stdin=subprocess.PIPE)
    client = processes[-1]
    with socket.create_connection(("127.0.0.1", int(port))) as connection, closing(Requests(own)) as requests:
        counts = []
        for by_client, by_test in ((0, 0), (20, 0), (0, 20), (20, 20)):
            begin = requests.at_s
            for _ in range(by_client):
                print(file=client.stdin, flush=True)
                client.stdout.readline()
            for _ in range(by_test):
                connection.sendall(b"x")
                connection.recv(1)
            segments, _ = requests.rates()
            counts.append(round(segments * (requests.at_s - begin)))
        assert counts == [0, 20, 0, 20]
        socket.create_connection(("127.0.0.1", int(port))).close()
        assert requests.rates()[1] > 0


def test_a_backend_is_never_a_suspect(processes, monkeypatch):
    peer, port = start(processes, PEER, "tcp", "")
    own, _ = start(processes, APPLICATION, "tcp", "", port)
    monkeypatch.setattr(neighbours, "busy_processes", lambda: [(0.9, peer, "python")])
    related = find_suspects(own, Policy())
    assert not [name for name in related.tried if name.startswith("neighbour")]
    (note,) = [note for name, note in related.left_out.items() if name.startswith("neighbour")]
    assert (note.code, note.values["by"]) == ("application-depends", "tcp")
