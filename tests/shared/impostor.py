"""Servers that misbehave: correct at the greeting, wrong afterwards."""

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
    """A server that answers all input by `reply`; yields its ``IP:PORT``."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                while received := self.request.recv(65536):
                    reply(self.request, received)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        request_queue_size = 128

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def memcached(on_get: Misbehave) -> Misbehave:
    """Answer versions and sets as memcached does, and gets by `on_get`."""

    def reply(connection: socket.socket, received: bytes) -> None:
        if received.startswith(b"version"):
            connection.sendall(b"VERSION 1.6.0\r\n")
        elif sets := received.count(b"set "):
            connection.sendall(b"STORED\r\n" * sets)
        elif b"get " in received:
            on_get(connection, received)

    return reply


def reply_with(text: bytes, *, each: bool = True) -> Misbehave:
    """Send `text` for each get, or once for each piece of input."""
    return lambda connection, received: connection.sendall(text * (received.count(b"get ") if each else 1))


@contextmanager
def black_hole() -> Iterator[str]:
    """An address where connection attempts vanish: a listener whose accept queue is full (listen(2))."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(address)
        yield f"127.0.0.1:{address[1]}"
