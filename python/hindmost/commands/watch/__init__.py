"""Watching a running application: finding it, the daemon, and the ring file that it writes."""

from hindmost.commands.watch.application import Application, find_application
from hindmost.commands.watch.daemon import WatchRequest, watch
from hindmost.commands.watch.latency import LatencySource, latency_from
from hindmost.commands.watch.ring import Ring, merge, read_ring

__all__ = [
    "Application",
    "LatencySource",
    "Ring",
    "WatchRequest",
    "find_application",
    "latency_from",
    "merge",
    "read_ring",
    "watch",
]
