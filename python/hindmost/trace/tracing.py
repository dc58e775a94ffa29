"""A trace: so many seconds of a server's requests, and what they say."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hindmost import _engine
from hindmost.errors import Inconclusive, Interrupted, UsageError
from hindmost.trace.able import unable
from hindmost.trace.begun import Function
from hindmost.trace.document import document_of
from hindmost.trace.server import Server
from hindmost.trace.taken import Look
from hindmost.trace.usage import Usage

MOST_BLOCKS = 500
LEAST_BLOCK_S = 0.1
"""Shorter ones would be too alike their neighbours for the bootstrap, whose blocks have to be independent."""
LEAST_WINDOWS = 20
"""As many as two seconds have without windows, of which there are no intervals either."""


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """What to trace, and how.

    Attributes
    ----------
    server : Server
    duration_s : float
    one_connection_in : int
        Follow one connection in so many, whole.
    one_window_in : int
        Follow all for one stretch of time in so many, at random places.
    records : Path or None
        A Parquet file for requests in full.
    log : Path or None
        A text file for latencies as they come.
    every : int
        One request in so many goes there.
    handover : bool
        False: as on kernels before 6.16, which do not show when a response is handed over.
    who : bool
        Follow the scheduler as well, and say who held requests up.
    begun : Function or None
        The function with which the server begins a request (e4); without one, a rule says when.
    """

    server: Server
    duration_s: float = 10.0
    one_connection_in: int = 1
    one_window_in: int = 1
    records: Path | None = None
    log: Path | None = None
    every: int = 1
    handover: bool = True
    who: bool = False
    begun: Function | None = None

    def check(self) -> None:
        """Raise what is wrong before anything is attached.

        Raises
        ------
        UsageError
        """
        if not 0.5 <= self.duration_s <= 86_400:
            raise UsageError(
                "bad-value",
                f"a trace takes from 500 ms to a day, not {self.duration_s:g} s",
                option="--duration",
                value=self.duration_s,
                least=0.5,
                most=86_400,
                unit="s",
            )
        shares = {
            "--connections": self.one_connection_in,
            "--windows": self.one_window_in,
            "--every": self.every,
        }
        for option, value in shares.items():
            if value < 1:
                raise UsageError(
                    "bad-value",
                    f"{option} {value}: it must be at least 1",
                    option=option,
                    value=value,
                    least=1,
                )
        if self.begun is not None and self.one_connection_in > 1:
            raise UsageError(
                "conflicting-options",
                "--probe-e4 needs all connections: a call belongs to what its thread read last, and the trace"
                " does not see reads of connections that it does not follow",
                hint=f"--windows {self.one_connection_in} follows all connections for a part of the time",
                options=["--probe-e4", "--connections"],
            )
        least = LEAST_WINDOWS * LEAST_BLOCK_S * self.one_window_in
        if self.one_window_in > 1 and self.duration_s < least:
            raise UsageError(
                "bad-value",
                f"{self.duration_s:g} s contain {self.duration_s / least * LEAST_WINDOWS:.1f} windows of"
                f" {LEAST_BLOCK_S:g} s, one in {self.one_window_in}; an interval needs {LEAST_WINDOWS}",
                hint=f"--duration {least:g}s",
                option="--duration",
                value=self.duration_s,
                least=least,
                unit="s",
            )


def trace(request: TraceRequest, ready: Callable[[], None] | None = None) -> dict[str, Any]:
    """Trace, and give the document ``hindmost.trace/1``; an interruption ends it early, and is no error.

    Parameters
    ----------
    request : TraceRequest
    ready : callable, optional
        Called when the probes are attached.

    Raises
    ------
    UsageError
        If the request cannot be meant.
    HostUnfit
        If the kernel lets us load no probes.
    Inconclusive
        If no request was seen.
    """
    running = Running(request)
    running.start()
    try:
        if ready is not None:
            ready()
        time.sleep(request.duration_s)
    except (KeyboardInterrupt, Interrupted):
        pass
    return running.end()


class Running:
    """A trace in the making.

    Parameters
    ----------
    request : TraceRequest

    Raises
    ------
    UsageError
        If the request cannot be meant.
    """

    def __init__(self, request: TraceRequest) -> None:
        request.check()
        self.request = request
        self._trace: _engine.Trace | None = None
        self._threads: dict[int, str] = {}
        self._used = Usage.of(None)
        self._look: Look | None = None

    def start(self) -> None:
        """Attach the probes.

        Raises
        ------
        HostUnfit
            If the kernel lets us load none.
        """
        request, server = self.request, self.request.server
        block_s = max(LEAST_BLOCK_S, request.duration_s / MOST_BLOCKS / request.one_window_in)
        try:
            self._trace = _engine.Trace(
                server.port,
                server.framing,
                block_ns=int(block_s * 1e9),
                one_connection_in=request.one_connection_in,
                one_window_in=request.one_window_in,
                every=request.every,
                records=request.records,
                log=request.log,
                handover=request.handover,
                who=request.who,
                begun=None if request.begun is None else (request.begun.file, request.begun.name),
            )
        except _engine.EngineError as error:
            raise unable(*error.args) from None
        self._threads, self._used = server.threads(), Usage.of(server.pid)
        self._look = Look.at(server.pid)

    def drop(self) -> None:
        """Let go of the kernel, if it was not yet."""
        if self._trace is not None:
            self._trace.end()
            self._trace = None

    def end(self) -> dict[str, Any]:
        """Detach, and give the document.

        Raises
        ------
        Inconclusive
            If no request was seen.
        """
        assert self._trace is not None, "it was started"
        running, self._trace = self._trace, None
        server = self.request.server
        used = Usage.of(server.pid).since(self._used)
        looks = None if self._look is None else (self._look, Look.at(server.pid))
        traced = json.loads(running.end())
        counts = traced["counts"]
        if not counts["done"]:
            raise Inconclusive(
                "no-traced-requests",
                f"the trace followed no request of port {server.port} from end to end in"
                f" {traced['lasted_ns'] / 1e9:.1f} s: the server read {counts['seen']} requests, and"
                f" {counts['unframed']} times the bytes were not a {server.protocol} request",
                hint=_hint(counts),
                port=server.port,
                seen=counts["seen"],
                unframed=counts["unframed"],
                unreadable=counts["unreadable"],
                arrived=counts["arrived"],
                datagrams=counts["datagrams"],
                protocol=server.protocol,
            )
        return document_of(self.request, traced, {**self._threads, **server.threads()}, used, looks)


def _hint(counts: Mapping[str, int]) -> str:
    if counts["unframed"]:
        return (
            "--protocol exchange counts all bytes that are read before a reply as one request (also TLS);"
            " --protocol length:OFFSET,WIDTH is for a protocol with a length field"
        )
    if counts["unreadable"]:
        return (
            f"{counts['unreadable']} reads used several buffers (readv, recvmsg) or io_uring, into which the"
            " trace cannot look; --protocol exchange needs no look: it counts all bytes read before a reply"
            " as one request"
        )
    if counts["datagrams"]:
        return f"{counts['datagrams']} UDP datagrams arrived; the trace follows TCP alone"
    if counts["arrived"] and not counts["before"]:
        return (
            f"{counts['arrived']} segments arrived that the server did not read by a system call that the"
            " trace sees: it cannot follow splice between sockets, nor a server that hangs"
        )
    return "put load on the server: hindmost measure ... in another terminal"
