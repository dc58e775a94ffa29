"""The application's metrics during a window, from which an anomaly's signature is computed."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hindmost import _engine
from hindmost.commands.watch.daemon import translate_error

SIGNATURE_METRICS = (
    "app.run_us",
    "app.run_delay_us",
    "app.switches",
    "app.read_calls",
    "app.write_calls",
    "app.minor_faults",
    "app.major_faults",
    "app.disk_read_bytes",
    "app.disk_write_bytes",
    "cgroup.throttled_us",
)
"""The application's own metrics among those that a watch samples. The host's totals are left out: on a busy
host they move with unrelated programs and would speak against every cause."""
SET_BY = {"quota": frozenset({"cgroup.throttled_us"})}
"""Metrics that an experiment sets itself, by the policy's word for the change."""


class MetricRates:
    """Rates of an application's metrics between readings.

    Raises
    ------
    TargetError
        The application has ended.
    """

    def __init__(self, pid: int) -> None:
        names = [name for name, _, _ in _engine.watch_counters()]
        self._at = [names.index(name) for name in SIGNATURE_METRICS]
        try:
            self._sampler = _engine.Sampler(pid)
        except _engine.EngineError as error:
            raise translate_error(error, pid=pid) from None
        self._before, self._since_ns = self._read_counters()

    def _read_counters(self) -> tuple[NDArray[np.float64], int]:
        values = self._sampler.now()
        # A metric that the host does not report (-1) stays constant.
        return np.array([max(0, values[at]) for at in self._at], dtype=np.float64), _engine.monotonic_ns()

    def begin(self) -> None:
        """Take the first reading of a window."""
        self._before, self._since_ns = self._read_counters()

    def end(self) -> NDArray[np.float64]:
        """Return the increase per second since the last reading."""
        now, at_ns = self._read_counters()
        seconds = max(1e-9, (at_ns - self._since_ns) / 1e9)
        # The totals of a process disappear when it ends.
        grown = np.where(now >= self._before, now - self._before, math.nan)
        return np.asarray(grown / seconds)
