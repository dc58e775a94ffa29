"""An HTTP server that records requests: methods, paths, headers, bodies, and the connection of each."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class LoggedRequest:
    """One request as received."""

    method: str
    path: str
    version: str
    headers: dict[str, str]
    body: bytes
    connection: int


@dataclass
class RequestLog:
    """The requests received so far, and the server's port."""

    port: int = 0
    requests: list[LoggedRequest] = field(default_factory=list)
    connections: int = 0

    @property
    def load_requests(self) -> list[LoggedRequest]:
        """Requests of the client in one run: connection 0 and 1 are the probes of the study and the run."""
        return [request for request in self.requests if request.connection > 1]


@contextmanager
def record_requests(
    statuses: dict[str, int] | None = None, locations: dict[str, str] | None = None
) -> Iterator[RequestLog]:
    """A server that answers every request with 200, or by method with the status in `statuses`.

    Requests for a path in `locations` are redirected.
    """
    log = RequestLog()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def setup(self) -> None:
            super().setup()
            with lock:
                self.number = log.connections
                log.connections += 1

        def record_request(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = dict(self.headers.items())
            request = LoggedRequest(self.command, self.path, self.request_version, headers, body, self.number)
            with lock:
                log.requests.append(request)
            location = (locations or {}).get(self.path)
            self.send_response(302 if location else (statuses or {}).get(self.command, 200))
            if location:
                self.send_header("Location", location)
            self.send_header("Content-Length", "2")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(b"ok")

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = record_request

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 128
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        log.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield log
        finally:
            server.shutdown()
            thread.join()
