"""Latency in windows of under a second, from the requests scheduled in them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hindmost import _engine
from hindmost.commands.diagnose.harm import Bound
from hindmost.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hindmost.commands.diagnose.demand import Requests, Work
    from hindmost.commands.diagnose.harm import Watch
    from hindmost.commands.diagnose.metrics import MetricRates

PATIENCE_S = 2.0
"""How long to wait for replies after a window, s. A later reply counts with its age at that time."""
DRAIN_S = 2.0
"""How long to wait for older requests before a window, s, so that it does not measure the one before."""
MOST_SILENT = 3
"""Consecutive windows without any reply after which the application counts as dead."""
PAUSE_S = 0.01
SAMPLE_S = 0.002
"""Time between two samples of the application's connections, s. A shorter wait is not seen."""


@dataclass(slots=True)
class Windows:
    """Windows measured with a probe.

    Attributes
    ----------
    quantile : float
        Latency quantile to measure, in (0, 1).
    window_s, settle_s : float
        Length of a window, and the settling time before it, in which queues drain, s.
    count, unanswered : int
        Windows so far, and how many of them had no reply in time.
    silent : int
        Consecutive windows without any reply.
    bound : Bound
        How much unchanged windows delay users, which bounds what experiments may do.
    metric_rates : MetricRates or None
        Reads the application's metrics.
    metrics : array or None
        The application's metrics in the last window, per second.
    work : Work or None
        Reads the CPU time that the application uses.
    worked : float or None
        CPUs that it used in the last window.
    requests : Requests or None
        Counts the requests that the application receives.
    sent : array or None
        Segments and connections per second that it received in the last window.
    """

    probe: _engine.Prober
    quantile: float
    window_s: float
    settle_s: float
    count: int = 0
    unanswered: int = 0
    silent: int = 0
    bound: Bound = field(default_factory=Bound)
    metric_rates: MetricRates | None = None
    metrics: NDArray[np.float64] | None = None
    work: Work | None = None
    worked: float | None = None
    requests: Requests | None = None
    sent: NDArray[np.float64] | None = None
    _usual: list[float] = field(default_factory=list)

    def watch(self) -> Watch | None:
        """Start watching an experiment that begins now."""
        return self.bound.begin(_engine.monotonic_ns())

    def stay(self, seconds: float, watch: Watch | None) -> None:
        """Wait while a change is in force, or after it.

        Raises
        ------
        Harmful
        """
        if self.requests is not None:
            self.requests.rates()
        self._sleep(seconds, watch)
        self.sent = None if self.requests is None else self.requests.rates()

    @property
    def usual_per_s(self) -> float:
        """Segments and connections per second that the application received in unchanged windows."""
        return float(np.mean(self._usual)) if self._usual else 0.0

    def watch_probe(self, seconds: float, sample: Callable[[], None]) -> list[float]:
        """Call `sample` as often as the probe is read, for `seconds`; return the probe's latencies, µs."""
        latencies_us: list[float] = []
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            sample()
            each, _, _ = self._take(None)
            latencies_us += [latency / 1e3 for _, latency in each]
            time.sleep(SAMPLE_S)
        return latencies_us

    def recover(self, watch: Watch | None) -> None:
        """Let users recover after a change was undone.

        Raises
        ------
        Harmful
        """
        self._sleep(self.settle_s if watch is None else max(self.settle_s, watch.limit_us / 1e6), watch)
        self._drain(watch)

    def _drain(self, watch: Watch | None) -> None:
        """Wait, up to `DRAIN_S`, until no request from before the change is outstanding."""
        deadline = time.monotonic() + DRAIN_S
        changed = _engine.monotonic_ns() - int(1e9 * self.settle_s)
        while True:
            _, _, oldest = self._take(watch)
            if not oldest or oldest >= changed or time.monotonic() > deadline:
                return
            time.sleep(PAUSE_S)

    def measure(self, watch: Watch | None = None) -> float:
        """Measure the quantile of requests scheduled from now on, µs. Without replies, it is the time waited.

        Parameters
        ----------
        watch : Watch or None
            Watch over the present experiment; None if nothing is changed.

        Raises
        ------
        TargetError
            No request was answered, in the first window or in several in a row.
        Harmful
        """
        self._sleep(self.settle_s, watch)
        self._drain(watch)
        if self.metric_rates is not None:
            self.metric_rates.begin()
        if self.work is not None:
            self.work.processors()
        if self.requests is not None:
            self.requests.rates()
        begin = _engine.monotonic_ns()
        replies, errors = self._sleep(self.window_s, watch)
        end = _engine.monotonic_ns()
        self.metrics = None if self.metric_rates is None else self.metric_rates.end()
        self.worked = None if self.work is None else self.work.processors()
        self.sent = None if self.requests is None else self.requests.rates()
        replies = [(scheduled, latency) for scheduled, latency in replies if begin <= scheduled < end]
        deadline = time.monotonic() + PATIENCE_S
        while True:
            each, failed, oldest = self._take(watch)
            replies += [(scheduled, latency) for scheduled, latency in each if begin <= scheduled < end]
            errors += failed
            # An older request holds up all those behind it.
            waiting = oldest and oldest < end
            if not waiting or time.monotonic() > deadline:
                break
            time.sleep(PAUSE_S)
        self.count += 1
        self.unanswered += not replies
        self.silent = 0 if replies or waiting else self.silent + 1
        if waiting:
            replies.append((oldest, _engine.monotonic_ns() - max(oldest, begin)))
        if self.silent and (self.silent == self.count or self.silent >= MOST_SILENT):
            raise TargetError(
                "no-answers",
                f"the application answered no request in {self.window_s:g} s ({errors} failed)",
                hint="check that it still runs and that the probe's address is right",
                window_s=self.window_s,
                failed=errors,
            )
        latencies = [latency / 1e3 for _, latency in replies] or [1e6 * (self.window_s + PATIENCE_S)]
        if watch is None and self.sent is not None:
            self._usual.append(float(self.sent.sum()))
        if watch is None:
            self.bound.learn(latencies, errors, self.window_s)
        return float(np.quantile(latencies, self.quantile))

    def _sleep(self, seconds: float, watch: Watch | None) -> tuple[list[tuple[int, int]], int]:
        """Sleep, and read the probe meanwhile, in the same way with and without an experiment."""
        replies: list[tuple[int, int]] = []
        errors = 0
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0.0:
            time.sleep(min(left, PAUSE_S))
            each, failed, _ = self._take(watch)
            replies += each
            errors += failed
        return replies, errors

    def _take(self, watch: Watch | None) -> tuple[list[tuple[int, int]], int, int]:
        each, failed, oldest = self.probe.take()
        if watch is not None:
            watch.observe(each, failed, oldest, _engine.monotonic_ns())
        return each, failed, oldest
