"""Latency in windows of under a second, by requests that were due in them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from hindmost import _engine
from hindmost.errors import TargetError
from hindmost.studies.diagnosis.harm import Bound

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hindmost.studies.diagnosis.demand import Requests, Work
    from hindmost.studies.diagnosis.harm import Watch
    from hindmost.studies.diagnosis.metrics import Moves

PATIENCE_S = 2.0
"""For answers to what was due in a window; later ones count with the age that they then have."""
DRAIN_S = 2.0
"""For what queued before a change, so that the window after it is not about the one before."""
MOST_SILENT = 3
"""Windows in a row without any answer after which the application counts as dead."""
PAUSE_S = 0.01


@dataclass(slots=True)
class Windows:
    """A probe, asked window by window.

    Attributes
    ----------
    quantile : float
        In (0, 1).
    window_s, settle_s : float
        Length, and what is left out before: queues must drain after each change.
    taken, unanswered : int
        Windows so far, and those of them in which not one request was answered in time.
    silent : int
        Windows without any answer since the last answer.
    bound : Bound
        What unchanged windows do to users, and so what an experiment may.
    moves : Moves or None
        Who looks at the application's metrics meanwhile.
    moved : array or None
        What they were in the last window, a second.
    work : Work or None
        Who looks at how much processor time the application takes.
    worked : float or None
        Processors that it used in the last window.
    requests : Requests or None
        Who counts what the application is sent.
    sent : array or None
        What it was sent in the last window, a second.
    """

    probe: _engine.Prober
    quantile: float
    window_s: float
    settle_s: float
    taken: int = 0
    unanswered: int = 0
    silent: int = 0
    bound: Bound = field(default_factory=Bound)
    moves: Moves | None = None
    moved: NDArray[np.float64] | None = None
    work: Work | None = None
    worked: float | None = None
    requests: Requests | None = None
    sent: NDArray[np.float64] | None = None
    _usual: list[float] = field(default_factory=list)

    def watch(self) -> Watch | None:
        """Watch an experiment that begins now."""
        return self.bound.begin(_engine.monotonic_ns())

    def stay(self, seconds: float, watch: Watch | None) -> None:
        """Wait while a change is in force, or after it.

        Raises
        ------
        Harmful
        """
        if self.requests is not None:
            self.requests.since()
        self._sleep(seconds, watch)
        self.sent = None if self.requests is None else self.requests.since()

    @property
    def usual_per_s(self) -> float:
        """What the application was sent in unchanged windows, a second."""
        return float(np.mean(self._usual)) if self._usual else 0.0

    def rest(self, watch: Watch | None) -> None:
        """Let users recover from a change that was undone.

        Raises
        ------
        Harmful
        """
        self._sleep(self.settle_s if watch is None else max(self.settle_s, watch.limit_us / 1e6), watch)
        self._drain(watch)

    def _drain(self, watch: Watch | None) -> None:
        """Wait until nothing is outstanding that was due before the change, but not for ever."""
        deadline = time.monotonic() + DRAIN_S
        changed = _engine.monotonic_ns() - int(1e9 * self.settle_s)
        while True:
            _, _, oldest = self._take(watch)
            if not oldest or oldest >= changed or time.monotonic() > deadline:
                return
            time.sleep(PAUSE_S)

    def measure(self, watch: Watch | None = None) -> float:
        """The quantile of what is due from now on, microseconds; where nothing is answered, the time waited.

        Parameters
        ----------
        watch : Watch or None
            Of the experiment that is in force; None: nothing is changed.

        Raises
        ------
        TargetError
            Nothing was answered, in the first window or in several in a row.
        Harmful
        """
        self._sleep(self.settle_s, watch)
        self._drain(watch)
        if self.moves is not None:
            self.moves.begin()
        if self.work is not None:
            self.work.processors()
        if self.requests is not None:
            self.requests.since()
        begin = _engine.monotonic_ns()
        taken, errors = self._sleep(self.window_s, watch)
        end = _engine.monotonic_ns()
        self.moved = None if self.moves is None else self.moves.end()
        self.worked = None if self.work is None else self.work.processors()
        self.sent = None if self.requests is None else self.requests.since()
        taken = [(due, latency) for due, latency in taken if begin <= due < end]
        deadline = time.monotonic() + PATIENCE_S
        while True:
            each, failed, oldest = self._take(watch)
            taken += [(due, latency) for due, latency in each if begin <= due < end]
            errors += failed
            # One that was due before holds up all those behind it.
            waiting = oldest and oldest < end
            if not waiting or time.monotonic() > deadline:
                break
            time.sleep(PAUSE_S)
        self.taken += 1
        self.unanswered += not taken
        self.silent = 0 if taken or waiting else self.silent + 1
        if waiting:
            taken.append((oldest, _engine.monotonic_ns() - max(oldest, begin)))
        if self.silent and (self.silent == self.taken or self.silent >= MOST_SILENT):
            raise TargetError(
                "no-answers",
                f"the application answered no request in {self.window_s:g} s ({errors} failed)",
                hint="check that it still runs and that the probe's address is right",
                window_s=self.window_s,
                failed=errors,
            )
        latencies = [latency / 1e3 for _, latency in taken] or [1e6 * (self.window_s + PATIENCE_S)]
        if watch is None and self.sent is not None:
            self._usual.append(float(self.sent.sum()))
        if watch is None:
            self.bound.learn(latencies, errors, self.window_s)
        return float(np.quantile(latencies, self.quantile))

    def _sleep(self, seconds: float, watch: Watch | None) -> tuple[list[tuple[int, int]], int]:
        """Sleep, but look at the probe meanwhile, with an experiment to watch and without: all are alike."""
        taken: list[tuple[int, int]] = []
        errors = 0
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0.0:
            time.sleep(min(left, PAUSE_S))
            each, failed, _ = self._take(watch)
            taken += each
            errors += failed
        return taken, errors

    def _take(self, watch: Watch | None) -> tuple[list[tuple[int, int]], int, int]:
        each, failed, oldest = self.probe.take()
        if watch is not None:
            watch.look(each, failed, oldest, _engine.monotonic_ns())
        return each, failed, oldest
