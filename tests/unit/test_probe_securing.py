"""A server that goes along with TLS once, and not again: each way has a code, none is a traceback."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from certificates import issue
from messages import raises

from hindmost.errors import TargetError
from hindmost.plan.tls import Tls
from hindmost.targets import identify

LONG_S = 60.0
"""How long a silent server stays silent, unless the probe is over."""
Then = Callable[[socket.socket, threading.Event], object]


@contextmanager
def once(folder, then: Then, *, asked: bool) -> Iterator[str]:
    """Secures the first connection that says something, asked for it if `asked`; what follows is `then`'s."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    over = threading.Event()

    def serve() -> None:
        first = True
        while not over.is_set():
            with contextlib.suppress(OSError):
                connection, _ = listener.accept()
                connection.settimeout(LONG_S)
                with connection:
                    if asked and not connection.recv(8):
                        continue
                    if not asked and not connection.recv(1, socket.MSG_PEEK):
                        continue
                    if not first:
                        then(connection, over)
                        continue
                    first = False
                    if asked:
                        connection.sendall(b"S")
                    with context.wrap_socket(connection, server_side=True) as there:
                        there.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.1)
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        over.set()
        thread.join(10)


def reset(connection: socket.socket, _: threading.Event) -> None:
    connection.recv(4096)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def says(answer: bytes, *, waits: bool = False) -> Then:
    def then(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(answer)
        if waits:
            over.wait(LONG_S)

    return then


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return issue(tmp_path_factory.mktemp("tls"), "server")


@pytest.mark.parametrize(
    ("protocol", "then", "code", "fields"),
    [
        ("postgresql", lambda _, over: over.wait(LONG_S), "no-answer", {"limit": 0.6}),
        ("postgresql", says(b"S", waits=True), "no-answer", {"limit": 0.6}),
        ("postgresql", says(b""), "second-connection-refused", {"reply": ""}),
        ("postgresql", says(b"N"), "second-connection-refused", {"reply": "N"}),
        ("postgresql", says(b"E", waits=True), "second-connection-refused", {"reply": "E"}),
        ("memcached", lambda _, over: over.wait(LONG_S), "no-answer", {"limit": 0.6}),
        ("memcached", reset, "second-connection-refused", {}),
    ],
    ids=["silent", "grants, then silent", "hangs up", "denies", "says else", "stalls", "resets"],
)
def test_a_server_that_secures_only_one_connection_is_refused(certificates, protocol, then, code, fields):
    tls = Tls(ca=str(certificates / "ca.pem"))
    with once(certificates, then, asked=protocol == "postgresql") as address:
        begun = time.monotonic()
        with raises(TargetError, code, address=address, **fields):
            identify(address, protocol, timeout_s=0.6, tls=tls)
    assert time.monotonic() - begun < LONG_S, "it waited for the server's end"
