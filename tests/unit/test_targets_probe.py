"""Identity checks against scripted servers: answers and errors."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from messages import raises
from rows import each_row

from hindmost.core.plan.first import FirstRequest
from hindmost.core.plan.protocols import Protocol
from hindmost.core.targets import first_answering, identify
from hindmost.core.targets.probe import NotListening, NotReady, WrongProtocol, accepts, recognise
from hindmost.errors import TargetError


@contextmanager
def scripted_server(*replies: bytes, linger: bool = False, pieces: int = 1 << 20) -> Iterator[str]:
    """Run a server that answers its n-th read with the n-th reply, then closes the connection (or waits)."""
    event = threading.Event()

    def serve() -> None:
        connection, _ = listener.accept()
        listener.close()  # a second check, with another protocol, is refused at once
        with connection, contextlib.suppress(ConnectionError):  # the probe may close the connection early
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for reply in replies:
                connection.recv(4096)
                for start in range(0, len(reply), pieces):
                    connection.sendall(reply[start : start + pieces])
            if linger:
                event.wait(10)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{port}"
        event.set()
        thread.join(10)


INFO = b"$60\r\n# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nos:Lin\r\n"
VALKEY = b"$51\r\n# Server\r\nredis_version:7.2.4\r\nvalkey_version:8.0.1\r\n"


@pytest.mark.parametrize("pieces", [1, 7, 1 << 20])
@pytest.mark.parametrize(
    ("protocol", "replies", "version"),
    [
        ("memcached", [b"VERSION 1.6.18\r\n"], "1.6.18"),
        ("redis", [b"+PONG\r\n", INFO], "7.0.15"),
        ("redis", [b"+PONG\r\n", VALKEY], "valkey 8.0.1"),
        ("redis", [b"+PONG\r\n", b"-NOPERM no\r\n"], "unknown"),
        ("http", [b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nA: b\r\n\r\nx"], "nginx/1.22.1"),
        ("http", [b"HTTP/1.0 204 No Content\r\n\r\n"], "HTTP/1.0"),
        ("http", [b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nServer: body"], "HTTP/1.1"),
        ("http", [b"HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\nHTTP/1.0 200 OK\r\nServer: x\r\n\r\n"], "x"),
    ],
)
def test_a_server_is_identified_from_any_split_of_its_reply(
    protocol: Protocol, replies: list[bytes], version: str, pieces: int
) -> None:
    with scripted_server(*replies, pieces=pieces) as address:
        assert identify(address, protocol, 5.0) == version


@each_row(
    ("protocol", "reply", "kind", "code", "fields"),
    [
        (
            "memcached",
            b"-ERR unknown command 'version'\r\n",
            WrongProtocol,
            "wrong-protocol",
            {"found": "redis", "reply": "-ERR unknown command 'version'"},
        ),
        (
            "memcached",
            b"HTTP/1.1 400 Bad Request\r\n\r\n",
            WrongProtocol,
            "wrong-protocol",
            {"found": "http"},
        ),
        ("memcached", b"\xff\x00 garbage", WrongProtocol, "wrong-protocol", {"reply": "\\xff\x00 garbage"}),
        ("memcached", b"", WrongProtocol, "hung-up", {}),
        ("redis", b"ERROR\r\n", WrongProtocol, "wrong-protocol", {"found": "memcached"}),
        (
            "redis",
            b"-NOAUTH Authentication required.\r\n",
            TargetError,
            "login-refused",
            {"reply": "NOAUTH Authentication required."},
        ),
        ("redis", b"-LOADING Redis\r\n", NotReady, "server-not-ready", {"reply": "LOADING Redis"}),
        ("http", b"-ERR wrong number of arguments\r\n", WrongProtocol, "wrong-protocol", {"found": "redis"}),
        ("http", b"ERROR\r\n", WrongProtocol, "wrong-protocol", {"found": "memcached"}),
        ("http", b"HTTP/1.1 503 Busy\r\n\r\n", NotReady, "server-not-ready", {"shows": "failing"}),
        ("http", b"HTTP/1.1 404 Not Found\r\n\r\n", TargetError, "request-refused", {"shows": "missing"}),
        (
            "http",
            b"HTTP/1.1 302 Found\r\nLocation: /login\r\n\r\n",
            TargetError,
            "request-refused",
            {"shows": "failing", "location": "/login"},
        ),
        ("http", b"HTTP/1.1 405 Not Allowed\r\n\r\n", TargetError, "request-refused", {"shows": "failing"}),
        ("http", b"HTTP/1.1 xyz\r\n\r\n", WrongProtocol, "wrong-protocol", {"reply": "HTTP/1.1 xyz"}),
    ],
)
def test_a_wrong_server_is_refused_with_its_reply(
    protocol: Protocol, reply: bytes, kind: type[TargetError], code: str, fields: dict[str, object]
) -> None:
    with scripted_server(reply) as address, raises(kind, code, **fields) as caught:
        identify(address, protocol, 5.0)
    assert caught.value.fields["address"] == address


def test_a_silent_server_times_out() -> None:
    with scripted_server(b"", linger=True) as address, raises(TargetError, "no-answer", limit=0.2):
        identify(address, "memcached", 0.2)


def test_the_reply_to_a_request_of_the_load_may_take_as_long_as_there() -> None:
    first = FirstRequest(b"POST / HTTP/1.1\r\nHost: a\r\n\r\n", ["2xx"], timeout_s=0.5)
    with scripted_server(b"", linger=True) as address, raises(TargetError, "no-answer", limit=0.5):
        identify(address, "http", 0.2, first=first)


def test_a_partial_reply_times_out() -> None:
    with (
        scripted_server(b"VERS", linger=True) as address,
        raises(WrongProtocol, "wrong-protocol", reply="VERS"),
    ):
        identify(address, "memcached", 0.2)


def test_an_endless_line_is_limited() -> None:
    with scripted_server(b"x" * 200_000) as address, pytest.raises(TargetError):
        identify(address, "memcached", 5.0)


def test_a_refused_connection_is_reported_as_no_listener() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    with raises(NotListening, "not-listening", address=address):
        identify(address, "redis", 1.0)


def test_an_address_that_drops_packets_times_out() -> None:
    with pytest.raises(TargetError) as caught:
        accepts("192.0.2.1:9", 0.2)  # TEST-NET-1 (RFC 5737): never routed
    assert caught.value.fields["address"] == "192.0.2.1:9"


def test_the_first_address_that_answers_is_used() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        dead = f"127.0.0.1:{closed.getsockname()[1]}"
    with scripted_server(b"VERSION 1\r\n") as address:
        assert first_answering([dead, address], "memcached") == (address, "1")
    with pytest.raises(NotListening):
        first_answering([dead], "memcached")


@each_row(
    ("reply", "what"),
    [
        (b"220 mail.example ESMTP\r\n", "a mail or FTP server"),
        (b"SSH-2.0-x\r\n", "an SSH server"),
        (b"\x15\x03\x01\x00\x02\x02\x28", "a TLS server"),
        (b"\x4a\x00\x00\x00\x0a8.0.36\x00", "MySQL"),
        (b"<html>", "an HTTP server"),
        (b"CLIENT_ERROR bad\r\n", "memcached"),
        (b"?", None),
    ],
)
def test_known_greetings_are_recognised(reply: bytes, what: str | None) -> None:
    assert recognise(reply)[0] == what
