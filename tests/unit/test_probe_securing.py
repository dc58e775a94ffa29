"""A server that accepts TLS only once: each kind of failure has a code and no traceback."""

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

from hindmost.core.plan.tls import Tls
from hindmost.core.targets import identify
from hindmost.errors import TargetError

LONG_S = 60.0
"""How long a silent server stays silent, unless the probe has ended."""
Handler = Callable[[socket.socket, threading.Event], object]


@contextmanager
def secure_once(folder, then: Handler, *, on_request: bool) -> Iterator[str]:
    """Secure the first connection that sends data, on request if `on_request`; pass later connections to `then`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    ended = threading.Event()

    def serve() -> None:
        first = True
        while not ended.is_set():
            with contextlib.suppress(OSError):
                connection, _ = listener.accept()
                connection.settimeout(LONG_S)
                with connection:
                    if on_request and not connection.recv(8):
                        continue
                    if not on_request and not connection.recv(1, socket.MSG_PEEK):
                        continue
                    if not first:
                        then(connection, ended)
                        continue
                    first = False
                    if on_request:
                        connection.sendall(b"S")
                    with context.wrap_socket(connection, server_side=True) as secured:
                        secured.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.1)
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        ended.set()
        thread.join(10)


def reset(connection: socket.socket, _: threading.Event) -> None:
    connection.recv(4096)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def reply_with(answer: bytes, *, waits: bool = False) -> Handler:
    def then(connection: socket.socket, ended: threading.Event) -> None:
        connection.sendall(answer)
        if waits:
            ended.wait(LONG_S)

    return then


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return issue(tmp_path_factory.mktemp("tls"), "server")


@pytest.mark.parametrize(
    ("protocol", "then", "code", "fields"),
    [
        ("postgresql", lambda _, ended: ended.wait(LONG_S), "no-answer", {"limit": 0.6}),
        ("postgresql", reply_with(b"S", waits=True), "no-answer", {"limit": 0.6}),
        ("postgresql", reply_with(b""), "second-connection-refused", {"reply": ""}),
        ("postgresql", reply_with(b"N"), "second-connection-refused", {"reply": "N"}),
        ("postgresql", reply_with(b"E", waits=True), "second-connection-refused", {"reply": "E"}),
        ("memcached", lambda _, ended: ended.wait(LONG_S), "no-answer", {"limit": 0.6}),
        ("memcached", reset, "second-connection-refused", {}),
    ],
    ids=["silent", "grants, then silent", "hangs up", "denies", "replies otherwise", "stalls", "resets"],
)
def test_a_server_that_accepts_tls_only_once_is_refused(certificates, protocol, then, code, fields):
    tls = Tls(ca=str(certificates / "ca.pem"))
    with secure_once(certificates, then, on_request=protocol == "postgresql") as address:
        start = time.monotonic()
        with raises(TargetError, code, address=address, **fields):
            identify(address, protocol, timeout_s=0.6, tls=tls)
    assert time.monotonic() - start < LONG_S, "the probe waited until the server ended"
