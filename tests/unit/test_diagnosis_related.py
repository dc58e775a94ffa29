"""Whom an application depends on, however they are connected, and who asks it; real processes, sockets and pipes."""

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

from hindmost.studies.diagnosis import neighbours
from hindmost.studies.diagnosis.demand import Requests
from hindmost.studies.diagnosis.policy import Policy
from hindmost.studies.diagnosis.relations import find_related
from hindmost.studies.diagnosis.suspects import find_suspects

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
def started() -> Iterator[list[subprocess.Popen[str]]]:
    found: list[subprocess.Popen[str]] = []
    yield found
    for one in found:
        one.kill()
        one.wait()
        for stream in (one.stdin, one.stdout):
            if stream is not None:
                stream.close()


def start(started, script: str, *words: object, **more) -> tuple[int, str]:
    """A process, and the line that it says when it is ready; its output is nobody's pipe but ours."""
    one = subprocess.Popen(
        [sys.executable, "-P", "-c", script, *map(str, words)],
        stdout=subprocess.PIPE,
        stdin=more.pop("stdin", subprocess.DEVNULL),
        text=True,
        **more,
    )
    started.append(one)
    assert one.stdout is not None
    return one.pid, one.stdout.readline().strip()


@pytest.mark.parametrize("how", ["tcp", "unix", "memory", "alone"])
def test_what_an_application_is_connected_with_is_a_backend(how, started, tmp_path):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        where = Path(folder) / how
        if how == "memory":
            where.write_bytes(bytes(4096))
        peer, port = start(started, PEER, how, where)
        own, _ = start(started, APPLICATION, how, where, port)
        found = find_related([own])
        assert found.backends.get(peer) == (None if how == "alone" else how)
        assert peer not in found.clients
        # The other way round it is a client, where it is one that connected.
        assert (own in find_related([peer]).clients) == (how in ("tcp", "unix"))


def test_who_reads_what_it_writes_is_a_backend_and_who_writes_beside_it_is_not(started):
    read, write = os.pipe()
    sleeping = "import time; print('up', flush=True); time.sleep(120)"
    own, _ = start(started, sleeping, pass_fds=[write])
    reader, _ = start(started, sleeping, pass_fds=[read])
    beside, _ = start(started, sleeping, pass_fds=[write])
    os.close(read)
    os.close(write)
    found = find_related([own])
    assert found.backends.get(reader) == "pipe"
    assert beside not in found.backends


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes network namespaces")
@pytest.mark.skipif(shutil.which("ip") is None, reason="no ip here: iproute2")
@pytest.mark.parametrize("role", ["client", "backend"])
def test_a_peer_in_another_network_namespace_is_found(role, started):
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
        within = f"import os, sys; os.execvp('ip', ['ip', 'netns', 'exec', '{name}', sys.executable, '-P', '-c', *sys.argv[1:]])"
        if role == "client":
            own, port = start(started, listen)
            other, _ = start(started, within, ask, f"100.99.{os.getpid() % 256}.1", port)
            assert other in find_related([own]).clients
        else:
            other, port = start(started, within, listen)
            own, _ = start(started, ask, f"100.99.{os.getpid() % 256}.2", port)
            assert find_related([own]).backends.get(other) == "tcp"
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)
        subprocess.run(["ip", "link", "del", here], check=False, stderr=subprocess.DEVNULL)


def test_a_backend_that_is_asked_over_short_connections_is_found(started, monkeypatch):
    # A dozen connections, however late this process gets a CPU.
    monkeypatch.setattr("hindmost.studies.diagnosis.relations.SHORT_S", 3.0)
    answering = (
        "import socket, time; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True)\n"
        "while True:\n with s.accept()[0] as link: link.recv(1); time.sleep(0.2)"
    )
    asking = (
        "import socket, sys, time; print('up', flush=True)\n"
        "while True:\n with socket.create_connection(('127.0.0.1', int(sys.argv[1]))) as link:\n"
        "  link.send(b'x'); link.recv(1)"
    )
    peer, port = start(started, answering)
    own, _ = start(started, asking, port)
    assert find_related([own]).backends.get(peer) == "tcp"


def test_who_asks_by_way_of_a_proxy_is_a_client(started):
    passing = (
        "import socket, sys, time; s = socket.create_server(('127.0.0.1', 0));"
        " t = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); print(s.getsockname()[1], flush=True);"
        " c = s.accept(); time.sleep(120)"
    )
    own, port = start(started, PEER, "tcp", "")
    proxy, front = start(started, passing, port)
    asking, _ = start(started, APPLICATION, "tcp", "", front)
    start(started, PEER, "alone", "")
    assert find_related([own]).clients == {proxy, asking}
    # Seen from the one who asks, the proxy is a backend, and the server is no client of it.
    assert find_related([asking]).clients == set()


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


def test_what_an_application_is_sent_is_counted_without_what_we_send(started):
    own, port = start(started, ANSWERS)
    start(started, ASKS, port, stdin=subprocess.PIPE)
    client = started[-1]
    with socket.create_connection(("127.0.0.1", int(port))) as ours, closing(Requests(own)) as requests:
        counts = []
        for asked, asked_by_us in ((0, 0), (20, 0), (0, 20), (20, 20)):
            begin = requests.at_s
            for _ in range(asked):
                print(file=client.stdin, flush=True)
                client.stdout.readline()
            for _ in range(asked_by_us):
                ours.sendall(b"x")
                ours.recv(1)
            segments, _ = requests.rates()
            counts.append(round(segments * (requests.at_s - begin)))
        assert counts == [0, 20, 0, 20]
        socket.create_connection(("127.0.0.1", int(port))).close()
        assert requests.rates()[1] > 0


def test_a_backend_is_never_a_suspect(started, monkeypatch):
    peer, port = start(started, PEER, "tcp", "")
    own, _ = start(started, APPLICATION, "tcp", "", port)
    monkeypatch.setattr(neighbours, "busy_processes", lambda: [(0.9, peer, "python")])
    found = find_suspects(own, Policy())
    assert not [name for name in found.tried if name.startswith("neighbour")]
    (note,) = [note for name, note in found.left_out.items() if name.startswith("neighbour")]
    assert (note.code, note.values["by"]) == ("application-depends", "tcp")
