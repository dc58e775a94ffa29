"""Stages of requests in a running server, traced in the kernel by the engine's probes."""

from hindmost.core.tracing.server import Server, find_server
from hindmost.core.tracing.support import check_tracing
from hindmost.core.tracing.tracing import TraceRequest, trace

__all__ = ["Server", "TraceRequest", "check_tracing", "find_server", "trace"]
