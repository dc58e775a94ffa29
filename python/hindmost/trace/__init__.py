"""Stages of requests in a running server, traced in the kernel by the engine's probes."""

from hindmost.trace.server import Server, find_server
from hindmost.trace.support import check_tracing
from hindmost.trace.tracing import TraceRequest, trace

__all__ = ["Server", "TraceRequest", "check_tracing", "find_server", "trace"]
