"""A small server that listens on a port, and control groups, for tests of watches."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SERVER = """
import socket, sys
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as listening:
    print(listening.getsockname()[1], flush=True)
    while True:
        client, _ = listening.accept()
        with client:
            while data := client.recv(4096):
                client.sendall(b"END\\r\\n" * data.count(b"\\n"))
"""
"""It answers every line as memcached answers a request for a missing key."""


@contextlib.contextmanager
def listener_pid(port: int) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run the server on a port (0: any); yield its process and port."""
    with subprocess.Popen([sys.executable, "-c", SERVER, str(port)], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        try:
            yield server, int(server.stdout.readline())
        finally:
            end(server)


def end(application: subprocess.Popen[bytes]) -> None:
    """Kill a process and wait for its end."""
    application.kill()
    application.wait()


def create_group(name: str = "hindmost-test") -> Path:
    """Create a cgroup of version 2 or 1, below the group of this process or at the top."""
    top = Path("/sys/fs/cgroup")
    rows = (line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines())
    own = {controllers: path.lstrip("/") for _, controllers, path in rows}
    places = [folder / own.get("", "") for folder in (top / "unified", top)] + [top / "cpu", top]
    for place in places:
        folder = place / f"{name}-{os.getpid()}"
        with contextlib.suppress(OSError):
            folder.mkdir()
            if (folder / "cgroup.procs").exists():
                return folder
            folder.rmdir()
    pytest.skip("this process cannot create a cgroup")
