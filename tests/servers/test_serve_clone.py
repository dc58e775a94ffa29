"""``hindmost clone serve``: the client's latency equals the server's log plus the path between them."""

from __future__ import annotations

import socket
from pathlib import Path

from clones import measure_paths, serve, stop_serving
from measuring import ProcessTracker, hindmost

EARLY_US = 20.0
"""Largest lead of a reply, which is begun early because writing it takes time."""


def test_no_client_receives_a_reply_before_the_server_made_it(tmp_path: Path) -> None:
    _, path = measure_paths(tmp_path / "one", "0.7s")
    assert len(path) > 700
    # A client that loses its CPU between its write and its reading of the clock records a request as sent too late.
    early = (path <= -EARLY_US).mean()
    assert early < 0.01, f"{early:.1%} too early, {path.min():.1f} us at least, of {len(path)}"


def test_kill_9_leaves_no_process_and_a_free_port_and_the_next_server_counts_its_requests(
    process_tracker: ProcessTracker, tmp_path: Path
) -> None:
    child, address = serve("silo", "--log", tmp_path / "truth.csv")
    conflict = hindmost("clone", "serve", "silo", "--address", address, "--json")
    assert (conflict.code, conflict.result["code"]) == (1, "cannot-listen"), (
        "stderr may begin with a note on the host"
    )
    child.kill()
    child.communicate(timeout=30)
    process_tracker.assert_none_left()
    options = ("--protocol", "http", "--log", tmp_path / "truth.csv", "--json")
    second, new_address = serve("silo", "--address", address, *options)
    assert new_address == address
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=5.0) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
        reply = b"".join(iter(lambda: connection.recv(4096), b""))
    assert reply.startswith(b"HTTP/1.1 200 OK\r\n")
    assert stop_serving(second)["account"]["total"]["served"] == 1
    process_tracker.assert_none_left()
