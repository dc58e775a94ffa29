"""The harm bound: an experiment ends as soon as it delays users much more than the anomaly does.

::

    unchanged windows   p99; slow requests (above 1.5 times the p99) and failures in the worst window
    experiment          every 10 ms: if it has more of them than any unchanged window, it is undone at once
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

from hindmost.commands.watch.probe import PRIORITY
from hindmost.core.interventions.changes import SuspectGone
from hindmost.core.plan.units import format_us

FAR = 1.5
"""A request is slow if its latency is above the anomaly's p99 times this factor."""
LEAST_US = 5_000.0
"""A faster request is never slow: a shared host can stall for that long without an experiment, µs."""
MOST_SLOW = 2
"""Slow requests that an experiment may have beyond the worst unchanged window."""
MOST_FAILED = 1
"""Failed requests that an experiment may have beyond the worst unchanged window."""
MORE = 0.01
"""Share of the requests of all experiments with a suspect that may be slow beyond the anomaly's share."""
LEAST_PER_S = 300.0
"""Requests per second assumed to wait behind an unanswered one: users send more requests than a slow
probe."""
KEPT = 40
"""Number of unchanged windows to remember."""
LEAST_WINDOWS = 4
MOST_HARMFUL = 3
"""Harmful experiments after which a suspect is given up, because stalls of the host cause some of them. One
experiment without any reply is enough."""
MOST_GIVEN_UP = 3
"""Number of suspects given up for harm after which a diagnosis changes nothing more."""
RECOVER_S = 1.0
"""Pause after a harmful experiment, s, so that its queue does not affect the next one."""


class Harmful(SuspectGone):
    """An experiment delayed users and was undone at once."""

    @property
    def silent(self) -> bool:
        """Whether no request was answered during it."""
        return bool(self.note.values["answered"] == 0)


@dataclass(slots=True)
class Bound:
    """How much the anomaly itself delays users, and how many suspects were given up for delaying them more.

    Attributes
    ----------
    given_up : int
        Suspects given up for harm.
    """

    given_up: int = 0
    _windows: deque[tuple[NDArray[np.float64], int, float]] = field(
        default_factory=lambda: deque(maxlen=KEPT)
    )

    def learn(self, latencies_us: Iterable[float], failed: int, seconds: float) -> None:
        """Record an unchanged window."""
        self._windows.append((np.array(list(latencies_us)), failed, seconds))

    @property
    def is_exhausted(self) -> bool:
        """Whether experiments did so much harm that nothing more may be changed."""
        return self.given_up >= MOST_GIVEN_UP

    def begin(self, now_ns: int) -> Watch | None:
        """Start watching an experiment; None while too few unchanged windows are known."""
        if len(self._windows) < LEAST_WINDOWS:
            return None
        every = np.concatenate([each for each, _, _ in self._windows])
        # An upper bound of the p99: the p99 of few, correlated requests is known only roughly.
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
    """One experiment, watched from the moment of its change.

    Attributes
    ----------
    since_ns : int
        Start of the experiment, ns. The wait of an earlier request counts only from here.
    limit_us : float
        A request with a longer latency is slow, µs.
    worst_slow, worst_failed : int
        Slow and failed requests of the worst unchanged window.
    share : float
        Share of slow requests in all unchanged windows.
    rate : float
        Requests per second assumed to wait behind an unanswered one.
    answered, slow, failed : int
        Requests so far that were scheduled during the experiment.
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

    def observe(self, each: Iterable[tuple[int, int]], failed: int, oldest: int, now_ns: int) -> None:
        """Count the probe's requests, and stop a harmful experiment.

        Parameters
        ----------
        each : iterable of (int, int)
            Scheduled time and latency of each answered request, ns.
        failed : int
        oldest : int
            Scheduled time of the oldest unanswered request, ns; 0 if there is none.
        now_ns : int

        Raises
        ------
        Harmful
            ``harmful-experiment``.
        """
        for scheduled, latency in each:
            self.answered += scheduled >= self.since_ns
            self.slow += (latency - max(0, self.since_ns - scheduled)) / 1e3 > self.limit_us
        self.failed += failed
        waits_us = (now_ns - max(oldest, self.since_ns)) / 1e3 if oldest else 0.0
        beyond_us = waits_us - self.limit_us
        # The probe sends one request at a time, so later ones wait behind the oldest.
        waiting = 1 + int(beyond_us / 1e6 * self.rate) if beyond_us > 0.0 else 0
        many = self.slow + waiting > self.worst_slow + MOST_SLOW
        if many or self.failed > self.worst_failed + max(MOST_FAILED, MORE * self.answered):
            raise self.harmful(self.slow + waiting, waits_us)

    def harmful(self, slow: int, waits_us: float) -> Harmful:
        """Build the exception that reports how users were delayed."""
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

    The limit is twice the expected number, because small counts vary and one stall slows several requests.

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
def real_time_priority() -> Iterator[None]:
    """Run at the probe's real-time priority if permitted, so that harm is noticed in time on a busy host."""
    before, level = os.sched_getscheduler(0), os.sched_getparam(0)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(PRIORITY))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, before & ~os.SCHED_RESET_ON_FORK, level)
