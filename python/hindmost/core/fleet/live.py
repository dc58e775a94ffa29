"""What the clients of a run do while it goes on, read once per second from memory that they share with us."""

from __future__ import annotations

import time
from dataclasses import dataclass

from hindmost import _engine

INTERVAL_S = 1.0


@dataclass(frozen=True, slots=True)
class Interval:
    """What happened since the last reading: requests per second, failures, and percentiles of latency.

    ``failed``: errors, timeouts and unsent requests. ``p50_us`` and ``p99_us``: None if no request completed.
    """

    sent_per_s: float
    completed_per_s: float
    failed: int
    p50_us: float | None
    p99_us: float | None


class LiveView:
    """Reads the counters of all clients of a run on this host, without a call to the clients.

    Parameters
    ----------
    workers : int
        Number of worker threads of all clients.
    """

    def __init__(self, workers: int) -> None:
        self._counters = _engine.LiveCounters(workers)
        self._read_at = 0.0

    def begin(self) -> None:
        """Start the first interval: the load begins."""
        self._read_at = time.monotonic()

    def fileno(self) -> int:
        """Return the descriptor of the memory, for the clients."""
        return self._counters.fileno()

    def wait_s(self) -> float:
        """Return the time until the next reading, in s."""
        return max(0.0, self._read_at + INTERVAL_S - time.monotonic())

    def read(self) -> Interval | None:
        """Return what happened since the last reading; None if it is too early for another one."""
        now = time.monotonic()
        seconds = now - self._read_at
        if seconds < INTERVAL_S:
            return None
        self._read_at = now
        sent, completed, failed, quantiles = self._counters.read()
        p50_us = None if quantiles is None else quantiles[0] / 1e3
        p99_us = None if quantiles is None else quantiles[1] / 1e3
        return Interval(sent / seconds, completed / seconds, failed, p50_us, p99_us)
