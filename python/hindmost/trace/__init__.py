"""Stages of requests in a running server, traced in the kernel by the engine's probes."""

from hindmost.trace.able import finding
from hindmost.trace.server import Server, find_server
from hindmost.trace.tracing import TraceRequest, trace

__all__ = ["Server", "TraceRequest", "find_server", "finding", "trace"]
