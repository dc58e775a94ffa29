"""``hindmost clone serve``: what a client claims is what the server knows, but for the way between them."""

from __future__ import annotations

import socket
from pathlib import Path

from clones import measure_paths, serve, stop_serving
from measuring import ProcessTracker, hindmost

EARLY_US = 20.0
"""A reply is begun so much early at most, since writing it takes time, too."""


def test_no_client_sees_a_reply_sooner_than_the_server_made_it(tmp_path: Path) -> None:
    _, way = measure_paths(tmp_path / "one", "0.7s")
    assert len(way) > 700
    # A client that loses its processor between its write and its look at the clock takes a request for sent too late.
    early = (way <= -EARLY_US).mean()
    assert early < 0.01, f"{early:.1%} too soon, {way.min():.1f} us at least, of {len(way)}"


def test_kill_9_leaves_no_process_and_a_free_port_and_the_next_one_gives_its_account(
    process_tracker: ProcessTracker, tmp_path: Path
) -> None:
    child, address = serve("silo", "--log", tmp_path / "truth.csv")
    taken = hindmost("clone", "serve", "silo", "--address", address, "--json")
    assert (taken.code, taken.result["code"]) == (1, "cannot-listen"), (
        "a note on this host may stand before it"
    )
    child.kill()
    child.communicate(timeout=30)
    process_tracker.assert_none_left()
    words = ("--protocol", "http", "--log", tmp_path / "truth.csv", "--json")
    again, there = serve("silo", "--address", address, *words)
    assert there == address
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=5.0) as talk:
        talk.sendall(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
        heard = b"".join(iter(lambda: talk.recv(4096), b""))
    assert heard.startswith(b"HTTP/1.1 200 OK\r\n")
    assert stop_serving(again)["account"]["total"]["served"] == 1
    process_tracker.assert_none_left()
