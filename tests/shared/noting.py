"""A server of HTTP that notes what arrives: methods, paths, headers, bodies, and on which connection."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Noted:
    """One request as it arrived."""

    method: str
    path: str
    version: str
    headers: dict[str, str]
    body: bytes
    connection: int


@dataclass
class Noting:
    """What has arrived so far, and where the server listens."""

    port: int = 0
    arrived: list[Noted] = field(default_factory=list)
    connections: int = 0

    @property
    def loaded(self) -> list[Noted]:
        """What an instance sent, of one run: the study and the run have looked at the server before."""
        return [one for one in self.arrived if one.connection > 1]


@contextmanager
def noting(statuses: dict[str, int] | None = None) -> Iterator[Noting]:
    """A server that answers every request with 200, or as `statuses` has it by method."""
    notes = Noting()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def setup(self) -> None:
            super().setup()
            with lock:
                self.number = notes.connections
                notes.connections += 1

        def any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = dict(self.headers.items())
            one = Noted(self.command, self.path, self.request_version, headers, body, self.number)
            with lock:
                notes.arrived.append(one)
            self.send_response((statuses or {}).get(self.command, 200))
            self.send_header("Content-Length", "2")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(b"ok")

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = any

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 128
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        notes.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield notes
        finally:
            server.shutdown()
            thread.join()
