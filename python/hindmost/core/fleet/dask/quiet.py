"""Keeps Dask silent: settings, timers that rest during a measurement, and counters that verify it.

With default settings, a worker wakes about 90 times per second next to the load
(`docs/benchmarks.md` has the measurements).
"""

from __future__ import annotations

import logging
import os
import socket
import struct
import time
from pathlib import Path
from typing import Any

SETTINGS: dict[str, Any] = {
    "distributed.admin.tick.interval": "10s",
    "distributed.admin.tick.limit": "60s",
    "distributed.admin.tick.cycle": "30s",
    "distributed.admin.system-monitor.interval": "30s",
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.memory.monitor-interval": "30s",
    "distributed.worker.http.routes": [],
    "distributed.scheduler.http.routes": [],
    # A resting worker sends no heartbeat; the end of its connection shows that a host is gone.
    "distributed.scheduler.worker-ttl": None,
    "distributed.scheduler.worker-saturation": 1.0,
    # Keep-alive probes of an idle connection: the first after a quarter of this time.
    "distributed.comm.timeouts.tcp": "60s",
    "distributed.comm.timeouts.connect": "10s",
    "distributed.comm.retry.count": 0,
    "distributed.scheduler.allowed-failures": 0,
    "distributed.diagnostics.nvml": False,
}
"""Settings of our own scheduler and workers."""

_BYTES = struct.Struct("=QQ")
_BYTES_AT = 120
"""``tcpi_bytes_acked`` and ``tcpi_bytes_received`` in ``struct tcp_info`` (linux/tcp.h)."""


def configure() -> None:
    """Apply our Dask settings to this process, and silence Dask's log."""
    import dask

    dask.config.set(SETTINGS)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").addFilter(_is_not_dasks)


def _is_not_dasks(record: logging.LogRecord) -> bool:
    """Drop asyncio's log of a wait that Dask abandoned."""
    kind = record.exc_info[0] if record.exc_info else None
    return kind is None or not kind.__module__.startswith("distributed")


def pause(server: Any) -> None:  # noqa: ANN401 (distributed has no types)
    """Stop the timers of a Dask server."""
    for timer in server.periodic_callbacks.values():
        timer.stop()


def resume(server: Any) -> None:  # noqa: ANN401
    """Restart the timers of a Dask server."""
    for timer in server.periodic_callbacks.values():
        timer.start()


def counters() -> dict[str, int]:
    """Read the activity counters of this process.

    Returns
    -------
    dict
        ``at_ns``; ``wakeups``: how often one of its threads slept and was woken
        (``voluntary_ctxt_switches``); ``cpu_ns``; ``bytes``: sent and received on its TCP connections, as
        counted by the kernel.
    """
    return {
        "at_ns": time.monotonic_ns(),
        "wakeups": _wakeups(),
        "cpu_ns": time.process_time_ns(),
        "bytes": _tcp_bytes(),
    }


def between(begin: dict[str, int], end: dict[str, int]) -> dict[str, float]:
    """Return the activity between two readings."""
    return {
        "seconds": (end["at_ns"] - begin["at_ns"]) / 1e9,
        "wakeups": end["wakeups"] - begin["wakeups"],
        "cpu_ms": (end["cpu_ns"] - begin["cpu_ns"]) / 1e6,
        "bytes": end["bytes"] - begin["bytes"],
    }


def _wakeups() -> int:
    wakeups = 0
    for status in Path("/proc/self/task").glob("*/status"):
        try:
            text = status.read_text()
        except OSError:  # the thread has ended
            continue
        wakeups += int(text.rpartition("\nvoluntary_ctxt_switches:")[2].split()[0])
    return wakeups


def _tcp_bytes() -> int:
    total = 0
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 (names alone)
        try:
            if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):  # noqa: PTH115
                continue
            with socket.socket(fileno=os.dup(int(name))) as connection:
                if connection.type == socket.SOCK_STREAM and connection.family in (
                    socket.AF_INET,
                    socket.AF_INET6,
                ):
                    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
                    if len(info) >= _BYTES_AT + _BYTES.size:
                        total += sum(_BYTES.unpack_from(info, _BYTES_AT))
        except OSError:  # closed meanwhile, or it listens
            continue
    return total
