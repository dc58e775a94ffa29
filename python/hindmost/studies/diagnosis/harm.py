"""The harm bound: an experiment ends as soon as it makes users wait far longer than the anomaly does.

::

    unchanged windows   p99, requests beyond 1.5 times that in the worst window, failures: the anomaly itself
    experiment          every 10 ms: more of them than in any unchanged window? It is undone at once.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hindmost.interventions.changes import SuspectGone
from hindmost.interventions.probe import PRIORITY
from hindmost.plan.units import format_us

FAR = 1.5
"""Times the anomaly's p99: a request that waits longer is slow."""
LEAST_US = 5_000.0
"""A request that waits for less is not slow: a shared host stands still for that long by itself."""
MOST_SLOW = 2
"""Slow requests of an experiment beyond those of the worst unchanged window."""
MOST_FAILED = 1
"""Failed requests, likewise."""
MORE = 0.01
"""Of the requests of all experiments with a suspect that may be slow beyond the anomaly's share."""
LEAST_PER_S = 300.0
"""Requests a second that wait behind one which is not answered: users send more than a slow probe."""
KEPT = 40
"""Unchanged windows that are remembered."""
LEAST_WINDOWS = 4
TIMES = 3
"""Harmful experiments after which a suspect is given up: some are the host's own hiccups. One in which
nothing was answered is enough."""
MOST_GIVEN_UP = 3
"""Suspects given up for harm, after which a diagnosis changes nothing more."""
RECOVER_S = 1.0
"""After a harmful experiment: the queue that it left is not the next one's."""


class Harmful(SuspectGone):
    """An experiment made users wait; it was undone at once."""

    @property
    def silent(self) -> bool:
        """Whether nothing was answered in it."""
        return bool(self.note.values["answered"] == 0)


@dataclass(slots=True)
class Bound:
    """What the anomaly does to users by itself, and how many suspects were given up for doing more.

    Attributes
    ----------
    given_up : int
    """

    given_up: int = 0
    _windows: deque[tuple[NDArray[np.float64], int, float]] = field(
        default_factory=lambda: deque(maxlen=KEPT)
    )

    def learn(self, latencies_us: Iterable[float], failed: int, seconds: float) -> None:
        """Remember an unchanged window."""
        self._windows.append((np.array(list(latencies_us)), failed, seconds))

    @property
    def spent(self) -> bool:
        """Whether there was so much harm that nothing more may be changed."""
        return self.given_up >= MOST_GIVEN_UP

    def begin(self, now_ns: int) -> Watch | None:
        """Watch an experiment that begins now; None: the anomaly is not known yet."""
        if len(self._windows) < LEAST_WINDOWS:
            return None
        every = np.concatenate([each for each, _, _ in self._windows])
        # An upper bound of the p99: of few requests, that wait for each other, it is known only roughly.
        level = min(1.0, 0.99 + 3.0 * math.sqrt(0.99 * 0.01 / max(1, len(every))))
        limit_us = max(FAR * float(np.quantile(every, level)), LEAST_US)
        slow = [int((each > limit_us).sum()) for each, _, _ in self._windows]
        return Watch(
            now_ns,
            limit_us,
            max(slow),
            max(failed for _, failed, _ in self._windows),
            sum(slow) / max(1, len(every)),
            max(LEAST_PER_S, len(every) / sum(seconds for _, _, seconds in self._windows)),
        )


@dataclass(slots=True)
class Watch:
    """One experiment, watched from its change on.

    Attributes
    ----------
    since_ns : int
        When it began: a request that was due before it waits for it from then on only.
    limit_us : float
        A request that waits longer is slow.
    worst_slow, worst_failed : int
        Requests of the worst unchanged window.
    share : float
        Slow requests of all unchanged windows.
    rate : float
        Of requests that wait behind one which is not answered, a second.
    answered, slow, failed : int
        Requests so far that were due in the experiment.
    """

    since_ns: int
    limit_us: float
    worst_slow: int
    worst_failed: int
    share: float
    rate: float
    answered: int = 0
    slow: int = 0
    failed: int = 0

    def look(self, each: Iterable[tuple[int, int]], failed: int, oldest: int, now_ns: int) -> None:
        """Count what the probe tells.

        Parameters
        ----------
        each : iterable of (int, int)
            When each answered request was due, and its latency, ns.
        failed : int
        oldest : int
            When the oldest request without an answer was due, ns; 0: there is none.
        now_ns : int

        Raises
        ------
        Harmful
            ``harmful-experiment``.
        """
        for due, latency in each:
            self.answered += due >= self.since_ns
            self.slow += (latency - max(0, self.since_ns - due)) / 1e3 > self.limit_us
        self.failed += failed
        waits_us = (now_ns - max(oldest, self.since_ns)) / 1e3 if oldest else 0.0
        beyond_us = waits_us - self.limit_us
        # The probe asks one at a time: those that are due meanwhile wait behind the oldest.
        waiting = 1 + int(beyond_us / 1e6 * self.rate) if beyond_us > 0.0 else 0
        many = self.slow + waiting > self.worst_slow + MOST_SLOW
        if many or self.failed > self.worst_failed + max(MOST_FAILED, MORE * self.answered):
            raise self.harmful(self.slow + waiting, waits_us)

    def harmful(self, slow: int, waits_us: float) -> Harmful:
        """Say what users had to bear."""
        return Harmful(
            "harmful-experiment",
            f"{slow} requests waited longer than {format_us(self.limit_us)} and {self.failed} failed, more"
            " than in the anomaly itself; the experiment was undone at once",
            limit_us=self.limit_us,
            waited_us=waits_us,
            slow=slow,
            failed=self.failed,
            answered=self.answered,
            most_slow=self.worst_slow,
            most_failed=self.worst_failed,
        )


def refuse_slow(watches: list[Watch]) -> None:
    """Refuse a suspect whose experiments together made far more requests slow than the anomaly does.

    Twice as many: few requests vary by chance, and one stall makes several of them slow.

    Raises
    ------
    Harmful
    """
    answered, slow = sum(one.answered for one in watches), sum(one.slow for one in watches)
    last = watches[-1]
    if slow > last.worst_slow + MOST_SLOW + 2 * (last.share + MORE) * answered:
        watches.clear()
        raise last.harmful(slow, 0.0)


@contextmanager
def urgent() -> Iterator[None]:
    """Look in time also where others use all processors: at the probe's priority, where that is permitted."""
    before, level = os.sched_getscheduler(0), os.sched_getparam(0)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(PRIORITY))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, before & ~os.SCHED_RESET_ON_FORK, level)
