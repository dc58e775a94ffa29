"""The extender over HTTP: ``/filter`` and ``/prioritize`` for kube-scheduler, ``/healthz``, ``/metrics``.

A request that cannot be read gets status 400, a failed decision 500. A scheduler with ``ignorable: true``
then continues without the extender, which suits an extender that only advises.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec

from hindmost.core.kubernetes.extender import (
    Judge,
    Unreadable,
    decode_question,
    filter_nodes,
    prioritise_nodes,
    read_question,
)

MOST_BYTES = 256 << 20
"""Most bytes of all bodies; 5,000 whole nodes have about 60 MB."""
SILENCE_S = 30.0
"""Time after which a silent connection is closed."""
REQUEST_S = 30.0
"""Longest time for receiving a request."""
CONNECTIONS = 64
"""Most connections; further ones are closed (a scheduler uses a few)."""
PIECE = 1 << 20
LENGTH = re.compile(r"[0-9]{1,18}")


class Extender:
    """A server that passes requests to a judge while its context is active.

    Parameters
    ----------
    judge : Judge
        Makes the decisions.
    host, port
        Where to listen; with port 0, any free port is used (see `address`).
    gauges : callable, optional
        Additional metrics by name.
    prefix : str
        Prefix of the metrics' names.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        gauges: Callable[[], Mapping[str, float]] = dict,
        prefix: str = "hindmost_extender",
    ) -> None:
        self.judge, self.gauges, self.prefix = judge, gauges, prefix
        self.counts: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._room = MOST_BYTES
        self._server = _Server((host, port), _handler(self))

    @property
    def address(self) -> str:
        """The listening address as host:port."""
        host, port = self._server.server_address[:2]
        return f"{host if isinstance(host, str) else host.decode()}:{port}"

    def __enter__(self) -> Extender:
        """Start the server."""
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening; requests in progress may finish."""
        self._server.shutdown()
        self._server.server_close()

    def take(self, count: int) -> bool:
        """Reserve memory for a body; return False if the limit for all bodies is exceeded."""
        with self._lock:
            if count > self._room:
                return False
            self._room -= count
            return True

    def give(self, count: int) -> None:
        """Release reserved memory."""
        with self._lock:
            self._room += count

    def count(self, what: str) -> None:
        """Increment a counter of ``/metrics``."""
        with self._lock:
            self.counts[what] += 1

    def answer(self, verb: str, body: bytes) -> tuple[int, object]:
        """Process a request and return status and document."""
        try:
            question = read_question(decode_question(body))
        except Exception as error:  # whatever the body contains
            self.count("unreadable")
            if not isinstance(error, Unreadable):
                error = Unreadable(f"the body cannot be read: {error}")
            return 400, _error(error.code, error.message, **error.fields)
        try:
            found = (filter_nodes if verb == "filter" else prioritise_nodes)(self.judge, question)
        except Exception as error:
            self.count("failed")
            return 500, _error("judge-failed", f"the extender failed: {error}")
        self.count(verb)
        return 200, found

    def metrics(self) -> str:
        """Return counters and gauges in the Prometheus format."""
        with self._lock:
            counts = dict(self.counts)
        lines = [
            f'{self.prefix}_questions_total{{kind="{kind}"}} {counts.get(kind, 0)}'
            for kind in ("filter", "prioritize", "unreadable", "failed")
        ]
        lines += [f"{self.prefix}_{name} {value:g}" for name, value in self.gauges().items()]
        return "\n".join(lines) + "\n"


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self._places = threading.BoundedSemaphore(CONNECTIONS)

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 (as the base has it)
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 (as above)
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 (as above)
        """Ignore errors of connections, such as clients that disconnect during a request."""


def _error(code: str, message: str, **fields: object) -> dict[str, Any]:
    """Return an ``Error`` for kube-scheduler, with a code and fields that it ignores."""
    return {"Error": message, "Code": code, "Fields": fields}


def _handler(extender: Extender) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = SILENCE_S
        # Send head and body together: a body that waits for the head's acknowledgement is 40 ms late.
        wbufsize = -1
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            path = self.path.rstrip("/")
            if path == "/healthz":
                self._send(200, b"ok\n", "text/plain")
            elif path == "/metrics":
                self._send(200, extender.metrics().encode(), "text/plain; version=0.0.4")
            else:
                self._send(404, b"/filter, /prioritize, /healthz, /metrics\n", "text/plain")

        def do_POST(self) -> None:
            verb = self.path.strip("/").rpartition("/")[2]
            length = self.headers.get("Content-Length", "")
            if not LENGTH.fullmatch(length) or int(length) > MOST_BYTES:
                self.close_connection = True
                extender.count("unreadable")
                wrong = f"the body has {length or 'unknown'} bytes; at most {MOST_BYTES} are read"
                self._json(
                    413 if LENGTH.fullmatch(length) else 411, _error("bad-question", wrong, most=MOST_BYTES)
                )
                return
            body = self._body(int(length))
            if body is None:
                self.close_connection = True
                return
            try:
                self._answer(verb, body)
            finally:
                extender.give(len(body))

        def _body(self, length: int) -> bytes | None:
            """Read a body in pieces; return None if it takes too long or needs too much memory."""
            body, until = bytearray(), time.monotonic() + REQUEST_S
            try:
                while len(body) < length:
                    left = until - time.monotonic()
                    if left <= 0:
                        raise TimeoutError
                    self.connection.settimeout(min(left, SILENCE_S))
                    piece = self.rfile.read1(min(PIECE, length - len(body)))
                    if not piece:
                        raise ConnectionError
                    if not extender.take(len(piece)):
                        raise MemoryError
                    body += piece
            except (OSError, MemoryError):
                extender.give(len(body))
                extender.count("unreadable")
                return None
            self.connection.settimeout(SILENCE_S)
            return bytes(body)

        def _answer(self, verb: str, body: bytes) -> None:
            if verb in {"filter", "prioritize"}:
                self._json(*extender.answer(verb, body))
            else:
                wrong = f"there is no verb {verb}; use filter or prioritize"
                self._json(404, _error("unknown-name", wrong, value=verb, known=["filter", "prioritize"]))

        def _json(self, status: int, document: Any) -> None:  # noqa: ANN401 (JSON)
            self._send(status, msgspec.json.encode(document), "application/json")

        def _send(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing, because requests are counted."""

    return Handler
