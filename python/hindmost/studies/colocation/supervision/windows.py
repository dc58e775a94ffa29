"""The server's latency in windows one after another, looked at while they last."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from hindmost import _engine

NS = 1e9


@dataclass(frozen=True, slots=True)
class Window:
    """One window that is over.

    Attributes
    ----------
    begin_ns, end_ns : int
        Of the monotonic clock.
    requests, failed, waiting : int
        Due in it and answered or still awaited; failures told while it lasted; still awaited at its end.
    percentile_us : float
        Infinite where nothing was answered or a failure belongs to the percentile.
    sorted_us : list of float
        Of all its requests, ascending.
    answered : list of (int, float)
        When each was due, nanoseconds, and its latency, microseconds; in order.
    """

    begin_ns: int
    end_ns: int
    requests: int
    failed: int
    percentile_us: float
    sorted_us: list[float] = field(default_factory=list)
    waiting: int = 0
    answered: list[tuple[int, float]] = field(default_factory=list)

    def at(self, quantile: float) -> float:
        """Another percentile, microseconds (nearest rank)."""
        return _percentile(self.sorted_us, quantile)


@dataclass(slots=True)
class Windows:
    """A probe read as it goes; a request belongs to the window in which it was due.

    Parameters
    ----------
    probe : Prober
    quantile : float
        In (0, 1).
    window_s : float
    rate : float
        Requests a second.
    limit_us : float
        What counts as slow.
    """

    probe: _engine.Prober
    quantile: float
    window_s: float
    rate: float
    limit_us: float
    begin_ns: int = 0
    _told: list[tuple[int, float]] = field(default_factory=list)
    _oldest: int = 0
    _failed: int = 0

    @property
    def allowed(self) -> int:
        """How many requests of a window may be slow while its percentile keeps the limit."""
        # Rounded first: (1 - 0.9) * 100 is a little less than 10.
        return math.floor(round((1 - self.quantile) * self.rate * self.window_s, 6))

    @property
    def end_ns(self) -> int:
        """When this window is over."""
        return self.begin_ns + int(NS * self.window_s)

    def begin(self) -> None:
        """Begin the first window now; what was due before is left out."""
        self.probe.take()
        self.begin_ns, self._told, self._failed = _engine.monotonic_ns(), [], 0

    def look(self) -> int:
        """Read the probe; how many requests of this window are slow so far, those that wait included."""
        each, failed, self._oldest = self.probe.take()
        self._told += [(due, latency / 1e3) for due, latency in each]
        self._failed += failed
        slow = sum(latency > self.limit_us for due, latency in self._told if due >= self.begin_ns)
        return slow + self._failed + sum(age > self.limit_us for age in self._waiting(_engine.monotonic_ns()))

    def _waiting(self, now_ns: int, end_ns: int | None = None) -> list[float]:
        """Ages, in microseconds, of what was due in this window and has no answer: all behind the oldest."""
        if not self._oldest:
            return []
        between = int(NS / self.rate)
        first = max(self._oldest, self.begin_ns)
        return [(now_ns - due) / 1e3 for due in range(first, min(now_ns, end_ns or now_ns), between)]

    def close(self) -> Window:
        """End this window and begin the next; what waits counts with the age that it has now."""
        begin, end, now = self.begin_ns, self.end_ns, _engine.monotonic_ns()
        answered = [one for one in self._told if begin <= one[0] < end]
        own = [latency for _, latency in answered]
        waiting = self._waiting(now, end)
        own += waiting
        # A failed request is slower than any limit.
        own += [math.inf] * self._failed
        own.sort()
        window = Window(
            begin, end, len(own), self._failed, _percentile(own, self.quantile), own, len(waiting), answered
        )
        self.begin_ns, self._failed = end, 0
        self._told = [one for one in self._told if one[0] >= end]
        return window


def _percentile(ascending: list[float], quantile: float) -> float:
    if not ascending:
        return math.inf
    return ascending[max(1, math.ceil(round(quantile * len(ascending), 6))) - 1]
