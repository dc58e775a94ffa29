"""The server's latency in consecutive windows, readable while they last."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from hindmost import _engine

NS = 1e9


@dataclass(frozen=True, slots=True)
class Window:
    """A finished window.

    Attributes
    ----------
    begin_ns, end_ns : int
        On the monotonic clock.
    requests, failed, waiting : int
        Requests scheduled in the window, failures reported during it, and requests still unanswered at its
        end.
    percentile_us : float
        Infinite if nothing was answered, or if a failed request falls on the percentile.
    sorted_us : list of float
        Latencies of all its requests, ascending, µs.
    answered : list of (int, float)
        Scheduled time (ns) and latency (µs) of each answered request, in order.
    """

    begin_ns: int
    end_ns: int
    requests: int
    failed: int
    percentile_us: float
    sorted_us: list[float] = field(default_factory=list)
    waiting: int = 0
    answered: list[tuple[int, float]] = field(default_factory=list)

    def percentile(self, quantile: float) -> float:
        """Return another percentile, µs (nearest rank)."""
        return _percentile(self.sorted_us, quantile)


@dataclass(slots=True)
class Windows:
    """A probe read window by window; a request belongs to the window in which it was scheduled.

    Parameters
    ----------
    probe : Prober
    quantile : float
        In (0, 1).
    window_s : float
    rate : float
        Requests per second.
    limit_us : float
        A request with a longer latency is slow, µs.
    """

    probe: _engine.Prober
    quantile: float
    window_s: float
    rate: float
    limit_us: float
    begin_ns: int = 0
    _replies: list[tuple[int, float]] = field(default_factory=list)
    _oldest: int = 0
    _failed: int = 0

    @property
    def slow_allowed(self) -> int:
        """Number of slow requests in a window whose percentile still keeps the limit."""
        # Rounded first: (1 - 0.9) * 100 is a little less than 10.
        return math.floor(round((1 - self.quantile) * self.rate * self.window_s, 6))

    @property
    def end_ns(self) -> int:
        """End of the current window, on the monotonic clock."""
        return self.begin_ns + int(NS * self.window_s)

    def begin(self) -> None:
        """Start the first window now, and ignore earlier requests."""
        self.probe.take()
        self.begin_ns, self._replies, self._failed = _engine.monotonic_ns(), [], 0

    def read_probe(self) -> int:
        """Read the probe; return how many requests of this window are slow so far, with waiting ones."""
        each, failed, self._oldest = self.probe.take()
        self._replies += [(scheduled, latency / 1e3) for scheduled, latency in each]
        self._failed += failed
        slow = sum(
            latency > self.limit_us for scheduled, latency in self._replies if scheduled >= self.begin_ns
        )
        return slow + self._failed + sum(age > self.limit_us for age in self._waiting(_engine.monotonic_ns()))

    def _waiting(self, now_ns: int, end_ns: int | None = None) -> list[float]:
        """Return the ages of this window's unanswered requests, µs; all wait behind the oldest."""
        if not self._oldest:
            return []
        between = int(NS / self.rate)
        first = max(self._oldest, self.begin_ns)
        return [
            (now_ns - scheduled) / 1e3 for scheduled in range(first, min(now_ns, end_ns or now_ns), between)
        ]

    def close(self) -> Window:
        """End this window and start the next; unanswered requests count with their present age."""
        begin, end, now = self.begin_ns, self.end_ns, _engine.monotonic_ns()
        answered = [one for one in self._replies if begin <= one[0] < end]
        own = [latency for _, latency in answered]
        waiting = self._waiting(now, end)
        own += waiting
        # A failed request counts as slower than any limit.
        own += [math.inf] * self._failed
        own.sort()
        window = Window(
            begin, end, len(own), self._failed, _percentile(own, self.quantile), own, len(waiting), answered
        )
        self.begin_ns, self._failed = end, 0
        self._replies = [one for one in self._replies if one[0] >= end]
        return window


def _percentile(ascending: list[float], quantile: float) -> float:
    if not ascending:
        return math.inf
    return ascending[max(1, math.ceil(round(quantile * len(ascending), 6))) - 1]
