"""A trace: follows a server's requests for some seconds, and builds the document."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from hindmost import _engine
from hindmost.core.store.engine import TraceCounts
from hindmost.core.tracing.answer import document_of
from hindmost.core.tracing.begin_probe import Function
from hindmost.core.tracing.document import Trace
from hindmost.core.tracing.interference import CpuCounters
from hindmost.core.tracing.server import Server
from hindmost.core.tracing.support import tracing_error
from hindmost.core.tracing.usage import Usage
from hindmost.core.tracing.windows import LEAST_WINDOWS, LOOK_S, WINDOW_S, choose_windows, most_windows
from hindmost.errors import Inconclusive, Interrupted, UsageError

MOST_BLOCKS = 500
LEAST_BLOCK_S = 0.1
"""Shortest block, s. The bootstrap needs independent blocks, and shorter ones depend on their neighbours."""


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """What to trace, and how.

    Attributes
    ----------
    server : Server
    duration_s : float
    one_connection_in : int
        Follow one in this many connections, completely.
    one_window_in : int or None
        Follow all connections in one of this many windows of time, chosen at random; 1: all the time. None:
        `trace` chooses it, so that the trace costs the server little.
    records : Path or None
        Parquet file for complete records of requests.
    log : Path or None
        Text file for latencies as they occur.
    every : int
        Record one in this many requests.
    handover : bool
        False behaves like a kernel before 6.16, which does not show when a response is handed over.
    who : bool
        Also follow the scheduler, and name the culprits that delayed requests.
    begun : Function or None
        The function that starts a request (e4); without it, a rule decides.
    expected_cost : float or None
        Share of the server's CPU time that the trace takes, as estimated when `one_window_in` was chosen.
    """

    server: Server
    duration_s: float = 10.0
    one_connection_in: int = 1
    one_window_in: int | None = 1
    records: Path | None = None
    log: Path | None = None
    every: int = 1
    handover: bool = True
    who: bool = False
    begun: Function | None = None
    expected_cost: float | None = None

    @property
    def block_s(self) -> float:
        """Length of a block of time, and of a window, s."""
        one_in = self.one_window_in or 1
        least = LEAST_BLOCK_S if one_in == 1 else WINDOW_S
        return max(least, self.duration_s / MOST_BLOCKS / one_in)

    def check(self) -> None:
        """Check the request before any probe is attached.

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
            "--windows": 1 if self.one_window_in is None else self.one_window_in,
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
        one_in = self.one_window_in or 1
        least = LEAST_WINDOWS * WINDOW_S * one_in
        if one_in > 1 and self.duration_s < least:
            raise UsageError(
                "bad-value",
                f"{self.duration_s:g} s contain {self.duration_s / least * LEAST_WINDOWS:.1f} windows of"
                f" {WINDOW_S:g} s, one in {one_in}; an interval needs {LEAST_WINDOWS}",
                hint=f"--duration {least:g}s",
                option="--duration",
                value=self.duration_s,
                least=least,
                unit="s",
            )


def trace(request: TraceRequest, ready: Callable[[], None] | None = None) -> Trace:
    """Trace a server and return the document ``hindmost.trace/2``. An interruption ends the trace early.

    Parameters
    ----------
    request : TraceRequest
        If it leaves the share of windows open, a short trace of all requests decides it.
    ready : callable, optional
        Called once the trace has started.

    Raises
    ------
    UsageError
        The request is not valid.
    HostUnfit
        The kernel does not permit loading probes.
    Inconclusive
        No request was seen.
    """
    request.check()
    running = RunningTrace(decide_windows(request) if request.one_window_in is None else request)
    running.start()
    try:
        if ready is not None:
            ready()
        time.sleep(request.duration_s)
    except (KeyboardInterrupt, Interrupted):
        pass
    return running.end()


def decide_windows(request: TraceRequest) -> TraceRequest:
    """Return the request with a share of windows that follows from a short trace of all requests."""
    everything = replace(request, one_window_in=1)
    if most_windows(request.duration_s) == 1:
        return everything
    look = RunningTrace(replace(everything, records=None, log=None))
    look.start()
    try:
        time.sleep(LOOK_S)
        seen = look.end()
    except Inconclusive:  # no requests, which cost nothing
        return everything
    finally:
        look.abort()
    one_in, cost = choose_windows(seen, request.duration_s)
    return replace(request, one_window_in=one_in, expected_cost=cost)


class RunningTrace:
    """A trace in progress.

    Parameters
    ----------
    request : TraceRequest
        With a share of windows.

    Raises
    ------
    UsageError
        The request is not valid.
    """

    def __init__(self, request: TraceRequest) -> None:
        request.check()
        self.request = request
        self._trace: _engine.Trace | None = None
        self._threads: dict[int, str] = {}
        self._used = Usage.read(None)
        self._look: CpuCounters | None = None

    def start(self) -> None:
        """Attach the probes.

        Raises
        ------
        HostUnfit
            The kernel does not permit loading probes.
        """
        request, server = self.request, self.request.server
        try:
            self._trace = _engine.Trace(
                server.port,
                server.framing,
                block_ns=int(request.block_s * 1e9),
                one_connection_in=request.one_connection_in,
                one_window_in=request.one_window_in or 1,
                every=request.every,
                records=request.records,
                log=request.log,
                handover=request.handover,
                who=request.who,
                begun=None if request.begun is None else (request.begun.file, request.begun.name),
            )
        except _engine.EngineError as error:
            raise tracing_error(*error.args) from None
        self._threads, self._used = server.threads(), Usage.read(server.pid)
        self._look = CpuCounters.read(server.pid)

    def abort(self) -> None:
        """Detach the probes without a document, if they are still attached."""
        if self._trace is not None:
            self._trace.end()
            self._trace = None

    def end(self) -> Trace:
        """Detach the probes and return the document.

        Raises
        ------
        Inconclusive
            No request was seen.
        """
        assert self._trace is not None, "it was started"
        running, self._trace = self._trace, None
        server = self.request.server
        used = Usage.read(server.pid).since(self._used)
        looks = None if self._look is None else (self._look, CpuCounters.read(server.pid))
        traced = json.loads(running.end())
        counts = msgspec.convert(traced["counts"], TraceCounts)
        if not counts.done:
            raise Inconclusive(
                "no-traced-requests",
                f"the trace followed no request of port {server.port} from end to end in"
                f" {traced['lasted_ns'] / 1e9:.1f} s: the server read {counts.seen} requests, and"
                f" {counts.unframed} times the bytes were not a {server.protocol} request",
                hint=_hint(counts),
                port=server.port,
                seen=counts.seen,
                unframed=counts.unframed,
                unreadable=counts.unreadable,
                arrived=counts.arrived,
                datagrams=counts.datagrams,
                protocol=server.protocol,
            )
        return document_of(self.request, traced, {**self._threads, **server.threads()}, used, looks)


def _hint(counts: TraceCounts) -> str:
    if counts.unframed:
        return (
            "--protocol exchange counts all bytes read before a reply as one request (also TLS);"
            " --protocol length:OFFSET,WIDTH is for a protocol with a length field"
        )
    if counts.unreadable:
        return (
            f"{counts.unreadable} reads used several buffers (readv, recvmsg) or io_uring, which the trace"
            " cannot read; use --protocol exchange, which counts all bytes read before a reply as one request"
        )
    if counts.datagrams:
        return f"{counts.datagrams} UDP datagrams arrived, but the trace follows only TCP"
    if counts.arrived and not counts.before:
        return (
            f"{counts.arrived} segments arrived that the server did not read by a system call that the"
            " trace sees: it cannot follow splice between sockets, or a server that hangs"
        )
    return "put load on the server: run hindmost measure in another terminal"
