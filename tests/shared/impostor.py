"""Servers that misbehave: right at the greeting, wrong afterwards."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Misbehave = Callable[[socket.socket, bytes], None]


@contextmanager
def impostor(reply: Misbehave) -> Iterator[str]:
    """A server that answers every piece of input by `reply`; yields its ``IP:PORT``."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                while heard := self.request.recv(65536):
                    reply(self.request, heard)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        request_queue_size = 128

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def memcached(on_get: Misbehave) -> Misbehave:
    """Like memcached for versions and sets; a get is answered by `on_get`."""

    def reply(connection: socket.socket, heard: bytes) -> None:
        if heard.startswith(b"version"):
            connection.sendall(b"VERSION 1.6.0\r\n")
        elif sets := heard.count(b"set "):
            connection.sendall(b"STORED\r\n" * sets)
        elif b"get " in heard:
            on_get(connection, heard)

    return reply


def saying(text: bytes, *, each: bool = True) -> Misbehave:
    """`text` for each get, or once for each piece of input."""
    return lambda connection, heard: connection.sendall(text * (heard.count(b"get ") if each else 1))


@contextmanager
def black_hole() -> Iterator[str]:
    """An address where connection attempts vanish: a listener whose accept queue is full (listen(2))."""
    with contextlib.ExitStack() as held:
        listener = held.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        for _ in range(4):
            filler = held.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(address)
        yield f"127.0.0.1:{address[1]}"
