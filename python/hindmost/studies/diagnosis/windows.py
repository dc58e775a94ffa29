"""Latency in windows of under a second, by requests that were due in them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hindmost import _engine
from hindmost.errors import TargetError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hindmost.studies.diagnosis.metrics import Moves

PATIENCE_S = 2.0
"""For answers to what was due in a window; later ones count with the age that they then have."""
DRAIN_S = 1.0
"""For what queued before a change, so that the window after it is not about the one before."""
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
    moves : Moves or None
        Who looks at the application's metrics meanwhile.
    moved : array or None
        What they were in the last window, a second.
    """

    probe: _engine.Prober
    quantile: float
    window_s: float
    settle_s: float
    taken: int = 0
    unanswered: int = 0
    moves: Moves | None = None
    moved: NDArray[np.float64] | None = None

    def _drain(self) -> None:
        """Wait until nothing is outstanding that was due before the change, but not for ever."""
        deadline = time.monotonic() + DRAIN_S
        changed = _engine.monotonic_ns() - int(1e9 * self.settle_s)
        while True:
            _, _, oldest = self.probe.take()
            if not oldest or oldest >= changed or time.monotonic() > deadline:
                return
            time.sleep(PAUSE_S)

    def measure(self) -> float:
        """The quantile of what is due from now on, microseconds.

        Raises
        ------
        TargetError
            Nothing was answered.
        """
        time.sleep(self.settle_s)
        self._drain()
        if self.moves is not None:
            self.moves.begin()
        begin = _engine.monotonic_ns()
        time.sleep(self.window_s)
        end = _engine.monotonic_ns()
        self.moved = None if self.moves is None else self.moves.end()
        taken: list[float] = []
        errors = 0
        deadline = time.monotonic() + PATIENCE_S
        while True:
            each, failed, oldest = self.probe.take()
            taken += [latency / 1e3 for due, latency in each if begin <= due < end]
            errors += failed
            # One that was due before holds up all those behind it.
            waiting = oldest and oldest < end
            if not waiting or time.monotonic() > deadline:
                break
            time.sleep(PAUSE_S)
        self.taken += 1
        self.unanswered += not taken
        if waiting:
            taken.append((_engine.monotonic_ns() - max(oldest, begin)) / 1e3)
        if not taken:
            raise TargetError(
                "no-answers",
                f"the application answered no request in {self.window_s:g} s ({errors} failed)",
                hint="check that it still runs and that the probe's address is right",
                window_s=self.window_s,
                failed=errors,
            )
        return float(np.quantile(taken, self.quantile))
