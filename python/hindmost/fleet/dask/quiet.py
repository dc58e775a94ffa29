"""Dask, made silent: its settings, its timers at rest in a measurement, and counters that prove it.

With its defaults a worker wakes some 90 times a second next to the load (`docs/guides/many-load-machines.md`
has what was measured).
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
    # A worker at rest sends no heartbeat; that a host is gone is seen by the end of its connection.
    "distributed.scheduler.worker-ttl": None,
    "distributed.scheduler.worker-saturation": 1.0,
    # The kernel's probes of an idle connection: the first after a quarter of this.
    "distributed.comm.timeouts.tcp": "60s",
    "distributed.comm.timeouts.connect": "10s",
    "distributed.comm.retry.count": 0,
    "distributed.scheduler.allowed-failures": 0,
    "distributed.diagnostics.nvml": False,
}
"""Of our own scheduler and workers."""

_BYTES = struct.Struct("=QQ")
_BYTES_AT = 120
"""``tcpi_bytes_acked`` and ``tcpi_bytes_received`` in ``struct tcp_info`` (linux/tcp.h)."""


def still() -> None:
    """Dask as it is here, in this process: our settings, and no talk of its own."""
    import dask

    dask.config.set(SETTINGS)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").addFilter(_is_not_dasks)


def _is_not_dasks(record: logging.LogRecord) -> bool:
    """False for the end of a wait that Dask gave up: nobody asks for it, and asyncio would tell."""
    kind = record.exc_info[0] if record.exc_info else None
    return kind is None or not kind.__module__.startswith("distributed")


def rest(server: Any) -> None:  # noqa: ANN401 (distributed has no types)
    """Stop the timers of a Dask server."""
    for timer in server.periodic_callbacks.values():
        timer.stop()


def resume(server: Any) -> None:  # noqa: ANN401
    """Let them go on."""
    for timer in server.periodic_callbacks.values():
        timer.start()


def counters() -> dict[str, int]:
    """What this process did so far.

    Returns
    -------
    dict
        ``at_ns``; ``wakeups``: how often a thread of it went to sleep by itself and so was woken
        (``voluntary_ctxt_switches``); ``cpu_ns``; ``bytes``: through its TCP connections, both ways, as
        the kernel counts them.
    """
    return {
        "at_ns": time.monotonic_ns(),
        "wakeups": _wakeups(),
        "cpu_ns": time.process_time_ns(),
        "bytes": _tcp_bytes(),
    }


def between(begin: dict[str, int], end: dict[str, int]) -> dict[str, float]:
    """What it did meanwhile."""
    return {
        "seconds": (end["at_ns"] - begin["at_ns"]) / 1e9,
        "wakeups": end["wakeups"] - begin["wakeups"],
        "cpu_ms": (end["cpu_ns"] - begin["cpu_ns"]) / 1e6,
        "bytes": end["bytes"] - begin["bytes"],
    }


def _wakeups() -> int:
    found = 0
    for status in Path("/proc/self/task").glob("*/status"):
        try:
            text = status.read_text()
        except OSError:  # the thread has ended
            continue
        found += int(text.rpartition("\nvoluntary_ctxt_switches:")[2].split()[0])
    return found


def _tcp_bytes() -> int:
    found = 0
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 (names alone)
        try:
            if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):  # noqa: PTH115
                continue
            with socket.socket(fileno=os.dup(int(name))) as one:
                if one.type == socket.SOCK_STREAM and one.family in (socket.AF_INET, socket.AF_INET6):
                    info = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
                    if len(info) >= _BYTES_AT + _BYTES.size:
                        found += sum(_BYTES.unpack_from(info, _BYTES_AT))
        except OSError:  # closed meanwhile, or it listens
            continue
    return found
