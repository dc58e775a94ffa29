"""What an application does while a window lasts: the metrics by which an anomaly has a signature."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hindmost import _engine
from hindmost.watch.daemon import translate_error

JUDGED = (
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
"""The application's own, of those that a watch reads every second. The host's totals move with whatever else
runs there, and would speak against every cause on a busy host."""
SET_BY = {"quota": frozenset({"cgroup.throttled_us"})}
"""By what is touched: metrics that an experiment sets itself."""


class Moves:
    """Rates of an application's metrics, from one look to the next.

    Raises
    ------
    TargetError
        It has ended.
    """

    def __init__(self, pid: int) -> None:
        names = [name for name, _, _ in _engine.watch_counters()]
        self._at = [names.index(name) for name in JUDGED]
        try:
            self._sampler = _engine.Sampler(pid)
        except _engine.EngineError as error:
            raise translate_error(error, pid=pid) from None
        self._before, self._since_ns = self._look()

    def _look(self) -> tuple[NDArray[np.float64], int]:
        values = self._sampler.now()
        # What the host does not tell (-1) moves with nothing.
        return np.array([max(0, values[at]) for at in self._at], dtype=np.float64), _engine.monotonic_ns()

    def begin(self) -> None:
        """Look."""
        self._before, self._since_ns = self._look()

    def end(self) -> NDArray[np.float64]:
        """What was added a second since the last look."""
        now, at_ns = self._look()
        seconds = max(1e-9, (at_ns - self._since_ns) / 1e9)
        # A process that ended takes its totals along.
        grown = np.where(now >= self._before, now - self._before, math.nan)
        return np.asarray(grown / seconds)
