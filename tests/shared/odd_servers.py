"""One server on raw sockets with named behaviours, each as odd as some real server."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import itertools
import socket
import socketserver
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

Serve = Callable[["Connection"], None]


@dataclass(frozen=True, slots=True)
class Connection:
    """A client's connection, and its number, counted from 0."""

    socket: socket.socket
    number: int
    buffer: bytearray = field(default_factory=bytearray)

    def send(self, content: bytes) -> None:
        """Send all of it."""
        self.socket.sendall(content)

    def receive_until(self, end: bytes, idle_s: float | None = None) -> bytes | None:
        """Return the next request, through `end`; None if none arrives within `idle_s` seconds."""
        while end not in self.buffer:
            self.socket.settimeout(idle_s)
            try:
                received = self.socket.recv(65536)
            except TimeoutError:
                return None
            if not received:
                raise ConnectionResetError
            self.buffer.extend(received)
        request, _, remainder = bytes(self.buffer).partition(end)
        self.buffer[:] = remainder
        return request + end

    def receive_exactly(self, count: int) -> bytes:
        """Return this many bytes."""
        while len(self.buffer) < count:
            self.socket.settimeout(None)
            received = self.socket.recv(65536)
            if not received:
                raise ConnectionResetError
            self.buffer.extend(received)
        content = bytes(self.buffer[:count])
        del self.buffer[:count]
        return content


@contextmanager
def odd_server(serve: Serve) -> Iterator[str]:
    """Serve each connection by `serve`; yield the server's ``IP:PORT``."""
    numbers = itertools.count()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                serve(Connection(self.request, next(numbers)))

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        request_queue_size = 128

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@contextmanager
def odd_datagrams(reply: Callable[[bytes, int], bytes]) -> Iterator[str]:
    """Answer each datagram, counted from 0, by `reply`; yield the server's ``IP:PORT``."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(0.05)
        stop = threading.Event()

        def serve() -> None:
            numbers = itertools.count()
            while not stop.is_set():
                with contextlib.suppress(TimeoutError, ConnectionError):
                    request, client = server.recvfrom(65536)
                    server.sendto(reply(request, next(numbers)), client)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        stop.set()
        thread.join()


def each(
    end: bytes, good: bytes, odd: bytes, *, every: int = 10, hello: bytes = b"", closes: bool = False
) -> Serve:
    """Answer requests that end with `end` by `good`, and every `every`-th of a connection by `odd`."""

    def serve(connection: Connection) -> None:
        connection.send(hello)
        for number in itertools.count(1):
            connection.receive_until(end)
            is_odd = number % every == 0
            connection.send(odd if is_odd else good)
            if is_odd and closes:
                return

    return serve


def idle(end: bytes, good: bytes, farewell: bytes, idle_s: float = 0.05) -> Serve:
    """Answer by `good`; send `farewell` and close if no request arrives for `idle_s` seconds."""

    def serve(connection: Connection) -> None:
        while connection.receive_until(end, idle_s) is not None:
            connection.send(good)
        connection.send(farewell)

    return serve


def full(end: bytes, good: bytes, farewell: bytes, *, carries: int = 10, first: int = 2) -> Serve:
    """Close after some replies; after the `first` connections, refuse every second one with `farewell`."""

    def serve(connection: Connection) -> None:
        if connection.number >= first and connection.number % 2:
            return connection.send(farewell)
        for _ in range(carries):
            connection.receive_until(end)
            connection.send(good)

    return serve


HEAD = b"HTTP/1.1 200 OK\r\n"
OK = HEAD + b"Content-Length: 2\r\n\r\nok"
GET = b"\r\n\r\n"

HTTP: dict[str, Serve] = {
    "408 on idle connections": idle(
        GET, OK, b"HTTP/1.0 408 Request Time-out\r\nConnection: close\r\n\r\nlate"
    ),
    "503 at accept": full(GET, OK, b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"),
    "two lengths": each(GET, OK, HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nok"),
    "two lengths in one field": each(GET, OK, HEAD + b"Content-Length: 2, 3\r\n\r\nok"),
    "a length that is no number": each(GET, OK, HEAD + b"Content-Length: two\r\n\r\nok"),
    "a chunk end after 204": each(GET, OK, b"HTTP/1.1 204 No Content\r\n\r\n0\r\n\r\n"),
    "a body after 304": each(GET, OK, b"HTTP/1.1 304 Not Modified\r\n\r\nbody"),
    "more than was stated": each(GET, OK, OK + b"more"),
    "a chunk without size": each(GET, OK, HEAD + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n"),
    "no HTTP": each(GET, OK, b"SSH-2.0-OpenSSH_9.2\r\n"),
    "zero bytes": each(GET, OK, bytes(64)),
    "TLS": each(GET, OK, b"\x15\x03\x01\x00\x02\x02\x28"),
    "a status that is no number": each(GET, OK, b"HTTP/1.1 OK\r\nContent-Length: 0\r\n\r\n"),
    "a head without end": each(GET, OK, HEAD + b"X: " + b"y" * 70_000),
    "another protocol": each(GET, OK, b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n\x81\x02hi"),
}
"""HTTP/1.1 servers that cost requests or connections."""

FORGIVEN: dict[str, Serve] = {
    "two thousand headers": each(GET, OK, HEAD + b"X: v\r\n" * 2000 + b"Content-Length: 2\r\n\r\nok"),
    "a length twice": each(GET, OK, HEAD + b"Content-Length: 2, 2\r\n\r\nok"),
    "a folded header": each(GET, OK, HEAD + b"X-Long: a\r\n b\r\nContent-Length: 2\r\n\r\nok"),
    "a blank before the colon": each(GET, OK, HEAD + b"Server : old\r\nContent-Length: 2\r\n\r\nok"),
    "a header without name": each(GET, OK, HEAD + b": v\r\nContent-Length: 2\r\n\r\nok"),
    "empty lines behind a body": each(GET, OK, OK + b"\r\n\r\n"),
    "early hints": each(GET, OK, b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n" + OK),
    "trailers": each(GET, OK, HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n"),
    "line feeds alone": each(GET, OK, b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok"),
    "no reason": each(GET, OK, b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok"),
}
"""HTTP/1.1 servers that cost nothing."""

LOOKUP = b"hindmost\r\n"
VALUE = b"$1\r\nv\r\n"
REDIS: dict[str, Serve] = {
    "idle timeout": idle(LOOKUP, VALUE, b"-ERR idle timeout\r\n"),
    "max number of clients": full(LOOKUP, VALUE, b"-ERR max number of clients reached\r\n"),
    "two replies": each(LOOKUP, VALUE, VALUE + VALUE),
    "no RESP": each(LOOKUP, VALUE, b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    "a bulk of another length": each(LOOKUP, VALUE, b"$1\r\nvwxyz\r\n"),
    "a negative length": each(LOOKUP, VALUE, b"$-7\r\n"),
    "closes after each reply": each(LOOKUP, VALUE, VALUE, every=1, closes=True),
}
"""Redis servers; a request ends with `LOOKUP`."""

PUSH = b">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n"
PUSHED: dict[str, Serve] = {
    "pushes before replies": each(LOOKUP, PUSH + VALUE, VALUE),
    "pushes behind replies": each(LOOKUP, VALUE + PUSH, VALUE, hello=PUSH),
}
"""Redis servers that push messages, which RESP3 allows at any time."""

MISS = b"END\r\n"
MEMCACHED: dict[str, Serve] = {
    "too many open connections": full(b"\r\n", MISS, b"ERROR Too many open connections\r\n"),
    "an error on idle connections": idle(b"\r\n", MISS, b"SERVER_ERROR shutting down\r\n"),
    "two replies": each(b"\r\n", MISS, MISS + MISS),
    "a value without its end": each(b"\r\n", MISS, b"VALUE k 0 1\r\nvwxyz\r\nEND\r\n"),
    "HTTP": each(b"\r\n", MISS, b"HTTP/1.1 400 Bad Request\r\n\r\n"),
}
"""memcached servers."""


def binary_reply(
    opaque: bytes,
    status: int = 1,
    body: bytes = b"",
    *,
    magic: int = 0x81,
    key: int = 0,
    length: int | None = None,
) -> bytes:
    """Return a reply of memcached's binary protocol to a Get."""
    length = len(body) if length is None else length
    return struct.pack("!BBHBBHI", magic, 0, key, 0, 0, status, length) + opaque + bytes(8) + body


def binary(odd: Callable[[bytes], bytes]) -> Serve:
    """Answer each Get by a miss, and every tenth of a connection by `odd` of its opaque."""

    def serve(connection: Connection) -> None:
        for number in itertools.count(1):
            head = connection.receive_exactly(24)
            connection.receive_exactly(int.from_bytes(head[8:12]))
            connection.send((odd if number % 10 == 0 else binary_reply)(head[12:16]))

    return serve


MEMCACHED_BINARY: dict[str, Serve] = {
    "a wrong magic": binary(lambda opaque: binary_reply(opaque, magic=0x80)),
    "text": binary(lambda _: b"ERROR\r\n"),
    "the number of another request": binary(lambda opaque: binary_reply(bytes(3) + b"\1")),
    "two replies": binary(lambda opaque: 2 * binary_reply(opaque)),
    "a body of 4 GiB": binary(lambda opaque: binary_reply(opaque, 0, length=0xFFFF_FFFF)),
    "a body that is longer than it says": binary(lambda opaque: binary_reply(opaque, 0, bytes(9), length=4)),
    "a body that is shorter than it says": binary(lambda opaque: binary_reply(opaque, 0, bytes(4), length=9)),
    "a key that is longer than the body": binary(lambda opaque: binary_reply(opaque, key=1)),
}
"""memcached servers with the binary protocol."""

MEMCACHED_BINARY_ERROR = binary(lambda opaque: binary_reply(opaque, 0x82, b"Out of memory"))


def message(kind: bytes, body: bytes = b"") -> bytes:
    """Return a message of PostgreSQL's protocol."""
    return kind + struct.pack("!I", len(body) + 4) + body


def error(severity: bytes, code: bytes, text: bytes) -> bytes:
    """Return an ErrorResponse."""
    return message(b"E", b"S" + severity + b"\0V" + severity + b"\0C" + code + b"\0M" + text + b"\0\0")


READY = message(b"Z", b"I")
ROW = message(b"C", b"SELECT 1\0") + READY
NOTICE = message(b"N", b"SWARNING\0VWARNING\0C01000\0Mhi\0\0")
STATUS = message(b"S", b"TimeZone\0UTC\0")
NOTIFICATION = message(b"A", b"\0\0\0\1channel\0payload\0")
SQL = b"SELECT 1\0"


def postgresql(serve: Serve) -> Serve:
    """Let a client log in without a password, then serve it."""

    def begin(connection: Connection) -> None:
        (length,) = struct.unpack("!I", connection.receive_exactly(4))
        connection.receive_exactly(length - 4)
        connection.send(message(b"R", bytes(4)) + READY)
        serve(connection)

    return begin


POSTGRESQL: dict[str, Serve] = {
    "idle session timeout": postgresql(
        idle(SQL, ROW, error(b"FATAL", b"57P05", b"terminating connection due to idle-session timeout"))
    ),
    "shut down": postgresql(
        each(SQL, ROW, error(b"FATAL", b"57P01", b"terminating connection"), closes=True)
    ),
    "two replies": postgresql(each(SQL, ROW, ROW + ROW)),
    "no message": postgresql(each(SQL, ROW, b"HTTP/1.1 400 Bad Request\r\n\r\n")),
    "an unknown message": postgresql(each(SQL, ROW, message(b"%", b"x") + ROW)),
}
"""PostgreSQL servers that cost requests or connections."""

ANY_TIME: dict[str, Serve] = {
    "a notice behind each reply": postgresql(each(SQL, ROW + NOTICE, ROW + NOTICE)),
    "settings and notifications": postgresql(
        each(SQL, STATUS + ROW + NOTIFICATION, NOTICE + ROW, hello=STATUS)
    ),
}
"""PostgreSQL servers that send messages which are allowed at any time."""


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return an HTTP/2 frame."""
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 6, 7, 9
STATUS_200 = b"\x88"


def http2(
    odd: Callable[[int], bytes],
    *,
    settings: bytes = b"",
    every: int = 10,
    good: Callable[[int], bytes] | None = None,
) -> Serve:
    """Answer HTTP/2 requests by 200 or `good`, and every `every`-th of a connection by `odd` of its stream."""
    good = good or (lambda stream: frame(HEADERS, 4, stream, STATUS_200) + frame(DATA, 1, stream, b"ok"))

    def serve(connection: Connection) -> None:
        connection.receive_exactly(24)
        connection.send(frame(SETTINGS, 0, 0, settings))
        requests = 0
        while True:
            head = connection.receive_exactly(9)
            connection.receive_exactly(int.from_bytes(head[:3]))
            kind, flags, stream = head[3], head[4], int.from_bytes(head[5:])
            if kind == SETTINGS and not flags & 1:
                connection.send(frame(SETTINGS, 1, 0))
            if kind == HEADERS:
                requests += 1
                connection.send(good(stream) if requests % every else odd(stream))

    return serve


HTTP2: dict[str, Serve] = {
    "no frames": http2(lambda _: b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    "a continuation of nothing": http2(lambda stream: frame(CONTINUATION, 4, stream, STATUS_200)),
    "a frame that is too long": http2(lambda stream: b"\xff\xff\xff" + frame(DATA, 1, stream)[3:]),
    "fields that are none": http2(lambda stream: frame(HEADERS, 5, stream, b"\xff\xff\xff\xff\xff\xff")),
}
"""HTTP/2 servers that break a connection."""

HTTP2_ORDERLY: dict[str, Serve] = {
    "a reset": http2(lambda stream: frame(RST_STREAM, 0, stream, b"\0\0\0\2")),
    "frames of unknown types": http2(
        lambda stream: frame(0xBB, 0, stream, b"x") + frame(HEADERS, 5, stream, STATUS_200)
    ),
    "a ping": http2(lambda stream: frame(PING, 0, 0, bytes(8)) + frame(HEADERS, 5, stream, STATUS_200)),
    "no streams for a while": http2(
        lambda stream: frame(SETTINGS, 0, 0, b"\0\3\0\0\0\1") + frame(HEADERS, 5, stream, STATUS_200)
    ),
}
"""HTTP/2 servers that break no connection."""


def grpc_reply(
    stream: int, status: bytes | None = b"0", payload: bytes = b"\0\0\0\0\x02ok", *, head: bytes = STATUS_200
) -> bytes:
    """Return the answer to a call: fields, a message, and trailers if there is a status."""
    last = b"" if status is None else b"\0\x0bgrpc-status" + bytes([len(status)]) + status
    return frame(HEADERS, 4, stream, head) + frame(DATA, 0, stream, payload) + frame(HEADERS, 5, stream, last)


def goodbye(stream: int, last: int) -> bytes:
    """Return a reply interrupted by a GOAWAY with `last` as the last stream to be answered."""
    whole = grpc_reply(stream)
    split = 9 + len(STATUS_200)
    return whole[:split] + frame(GOAWAY, 0, 0, last.to_bytes(4) + bytes(4)) + whole[split:]


def grpc(odd: Callable[[int], bytes]) -> Serve:
    """Answer calls by OK and a message, and every tenth of a connection by `odd` of its stream."""
    return http2(odd, good=grpc_reply)


TRAILERS_ONLY = STATUS_200 + b"\0\x0bgrpc-status\x01"
GRPC: dict[str, tuple[str | None, Serve]] = {
    "a status that nobody knows": ("UNKNOWN", grpc(lambda stream: grpc_reply(stream, b"99"))),
    "trailers without status": ("UNKNOWN", grpc(lambda stream: grpc_reply(stream, None))),
    "no trailers": (
        "UNKNOWN",
        grpc(
            lambda stream: (
                frame(HEADERS, 4, stream, TRAILERS_ONLY + b"0") + frame(DATA, 1, stream, b"\0\0\0\0\x02ok")
            )
        ),
    ),
    "a page": ("UNAVAILABLE", grpc(lambda stream: frame(HEADERS, 5, stream, b"\x48\x03503"))),
    "a reset": ("CANCELLED", grpc(lambda stream: frame(RST_STREAM, 0, stream, b"\0\0\0\x08"))),
    "a reset behind the message": (
        "INTERNAL",
        grpc(lambda stream: grpc_reply(stream)[:26] + frame(RST_STREAM, 0, stream, b"\0\0\0\x02")),
    ),
    "trailers only": (
        "UNAVAILABLE",
        grpc(lambda stream: frame(HEADERS, 5, stream, TRAILERS_ONLY[:-1] + b"\x0214")),
    ),
    "trailers only that are OK": (
        "INTERNAL",
        grpc(lambda stream: frame(HEADERS, 5, stream, TRAILERS_ONLY + b"0")),
    ),
    "a compressed message": (
        "INTERNAL",
        grpc(lambda stream: grpc_reply(stream, payload=b"\x01\0\0\0\x02ok")),
    ),
    "a message that is cut off": (
        "INTERNAL",
        grpc(lambda stream: grpc_reply(stream, payload=b"\0\0\0\0\x09ok")),
    ),
    "two messages": ("INTERNAL", grpc(lambda stream: grpc_reply(stream, payload=bytes(10)))),
    "a farewell in a reply": (None, grpc(lambda stream: goodbye(stream, stream))),
    "a farewell to all": (None, grpc(lambda stream: goodbye(stream, 2**31 - 1))),
}
"""gRPC servers, and the status that their calls count as; None if they cost nothing."""

GRPC_BROKEN: dict[str, Serve] = {
    "a status that is no number": grpc(lambda stream: grpc_reply(stream, b"OK")),
    "no frames": grpc(lambda _: b"HTTP/1.1 400 Bad Request\r\n\r\n"),
}
"""gRPC servers that break a connection."""


def websocket(odd: bytes, *, hello: bytes = b"", every: int = 10) -> Serve:
    """Answer each message by one, and every `every`-th of a connection by `odd`."""

    def serve(connection: Connection) -> None:
        opening = connection.receive_until(b"\r\n\r\n") or b""
        key = next(line for line in opening.splitlines() if line.startswith(b"Sec-WebSocket-Key: "))[19:]
        digest = hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
        connection.send(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + base64.b64encode(digest) + b"\r\n\r\n" + hello
        )
        for number in itertools.count(1):
            head = connection.receive_exactly(2)
            connection.receive_exactly(4 + (head[1] & 0x7F))
            connection.send(odd if number % every == 0 else b"\x81\x02ok")

    return serve


WEBSOCKET: dict[str, Serve] = {
    "a masked frame": websocket(b"\x81\x80\0\0\0\0"),
    "a reserved bit": websocket(b"\xc1\x02ok"),
    "a continuation of nothing": websocket(b"\x80\x02ok"),
    "HTTP": websocket(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
}
"""WebSocket servers that break a connection."""

WEBSOCKET_ORDERLY: dict[str, Serve] = {
    "a greeting": websocket(b"\x81\x02ok", hello=b"\x81\x07welcome"),
    "news behind a reply": websocket(b"\x81\x02ok\x81\x04news"),
    "a message in pieces": websocket(b"\x01\x01o\x89\x00\x80\x01k"),
}
"""WebSocket servers that cost nothing."""
