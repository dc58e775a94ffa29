"""Latency in windows of under a second, by requests that were due in them."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hindmost import _engine
from hindmost.errors import TargetError
from hindmost.interventions.changes import Gone
from hindmost.plan.units import format_us

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hindmost.studies.diagnosis.demand import Work
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
    longest_us : float
        The longest quantile of a window that had no bound on harm, so of what waits anyhow.
    moves : Moves or None
        Who looks at the application's metrics meanwhile.
    moved : array or None
        What they were in the last window, a second.
    work : Work or None
        Who looks at how much processor time the application takes.
    worked : float or None
        Processors that it used in the last window.
    """

    probe: _engine.Prober
    quantile: float
    window_s: float
    settle_s: float
    taken: int = 0
    unanswered: int = 0
    silent: int = 0
    longest_us: float = 0.0
    moves: Moves | None = None
    moved: NDArray[np.float64] | None = None
    work: Work | None = None
    worked: float | None = None

    def _drain(self, most_us: float) -> None:
        """Wait until nothing is outstanding that was due before the change, but not for ever."""
        deadline = time.monotonic() + DRAIN_S
        changed = _engine.monotonic_ns() - int(1e9 * self.settle_s)
        while True:
            _, _, oldest = self._take(most_us)
            if not oldest or oldest >= changed or time.monotonic() > deadline:
                return
            time.sleep(PAUSE_S)

    def measure(self, most_us: float = math.inf) -> float:
        """The quantile of what is due from now on, microseconds; where nothing is answered, the time waited.

        Parameters
        ----------
        most_us : float
            How long a request may wait: the bound on the harm of an experiment.

        Raises
        ------
        TargetError
            Nothing was answered, in the first window or in several in a row.
        Gone
            ``harmful-experiment``: a request has waited for longer than `most_us`.
        """
        self._sleep(self.settle_s, most_us)
        self._drain(most_us)
        if self.moves is not None:
            self.moves.begin()
        if self.work is not None:
            self.work.processors()
        begin = _engine.monotonic_ns()
        taken, errors = self._sleep(self.window_s, most_us)
        end = _engine.monotonic_ns()
        self.moved = None if self.moves is None else self.moves.end()
        self.worked = None if self.work is None else self.work.processors()
        taken = [(due, latency) for due, latency in taken if begin <= due < end]
        deadline = time.monotonic() + PATIENCE_S
        while True:
            each, failed, oldest = self._take(most_us)
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
        found_us = float(np.quantile(latencies, self.quantile))
        if math.isinf(most_us):
            self.longest_us = max(self.longest_us, found_us)
        return found_us

    def _sleep(self, seconds: float, most_us: float) -> tuple[list[tuple[int, int]], int]:
        """Sleep, but look at the probe meanwhile where there is a bound on harm."""
        if math.isinf(most_us):
            time.sleep(seconds)
            return [], 0
        taken: list[tuple[int, int]] = []
        errors = 0
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0.0:
            time.sleep(min(left, PAUSE_S))
            each, failed, _ = self._take(most_us)
            taken += each
            errors += failed
        return taken, errors

    def _take(self, most_us: float) -> tuple[list[tuple[int, int]], int, int]:
        each, failed, oldest = self.probe.take()
        waits_us = (_engine.monotonic_ns() - oldest) / 1e3 if oldest else 0.0
        if waits_us > most_us:
            raise Gone(
                "harmful-experiment",
                f"a request waited {format_us(waits_us)}; an experiment may cost {format_us(most_us)}",
                waited_us=waits_us,
                limit_us=most_us,
            )
        return each, failed, oldest
