"""Server stalls: no reply on any connection while requests were outstanding, and then all of them.

::

    replies in windows of 0.1 s   2000 2000 1400    0    0 ...    0 21600 2000
                                            ^ stalled from here,      ^ to here

The run's own series shows them. A stop of the client looks the same there, but the client's own figures tell
them apart: a stopped client sends a request as late as the gap is long, because it was off its CPU. After a
server stall, requests are sent late because many replies are read at once. A host that takes the client's CPU
for milliseconds, however often, does not cause a silence of a second. A server that never answers again has
not stalled: it is gone.
"""

from __future__ import annotations

from dataclasses import dataclass

from hindmost.core.plan import MeasurePlan
from hindmost.core.plan.units import format_us
from hindmost.core.run import instrument
from hindmost.core.run.figures import RunFigures
from hindmost.core.store.engine import Window

EXPECTED = 20.0
"""Replies missing in a stall, at least: a Poisson process misses this many once in 500 million times."""
BY_CLIENT = 0.5
"""Share of a silence in which the client was off its CPU without a break: then the client stopped."""


@dataclass(frozen=True, slots=True)
class Standstill:
    """One stall: its run, its start (s after the load began, as on the page), length, waiting requests."""

    run: int
    from_s: float
    for_s: float
    waited: int

    @property
    def text(self) -> str:
        """The stall in words."""
        return (
            f"the server stalled in run {self.run} at t = {self.from_s:.1f} s for"
            f" {format_us(1e6 * self.for_s, 2)}: {self.waited:,} requests waited"
        )


def standstills(run: RunFigures, plan: MeasurePlan) -> list[Standstill]:
    """Return a run's server stalls, in order; empty in a closed loop, which sends nothing meanwhile."""
    if plan.rate_per_s is None or plan.loop == "closed" or not _series(run):
        return []
    first = run.clients[0].result
    begins_ns = 1e9 * (first.warmup_s + first.calibration.seconds)
    rows = list(zip(*_series(run), strict=False))
    stalls = []
    for index in range(1, len(rows) - 1):
        if _count(rows[index]) or not _count(rows[index - 1]) or rows[index][0].at_ns <= begins_ns:
            continue
        last = next((i for i in range(index, len(rows) - 1) if _count(rows[i + 1])), None)
        if last is not None and (stall := _silence(run.number, plan.rate_per_s, rows, index, last)):
            stalls.append(stall)
    away_s = _longest_away_s(run)
    return [stall for stall in stalls if away_s <= BY_CLIENT * stall.for_s]


def _series(run: RunFigures) -> list[list[Window]]:
    return [worker for client in run.clients for worker in (client.result.series or [])]


def _count(row: tuple[Window, ...]) -> int:
    return sum(window.count for window in row)


def _silence(
    number: int, rate: float, rows: list[tuple[Window, ...]], first: int, last: int
) -> Standstill | None:
    """Return the stall of the empty windows `first` to `last`, extended into the windows around them."""
    ends = [rows[index][0].at_ns / 1e9 for index in (max(0, first - 2), first - 1, last, last + 1)]
    before_s = max(0.0, ends[1] - ends[0] - _count(rows[first - 1]) / rate)
    whole_s = ends[2] - ends[1]
    # All of these replies come at once at the end; one in a hundred waited longer than their p99.
    longest_s = max(window.p99_ns for window in rows[last + 1]) / 0.99 / 1e9
    for_s = max(whole_s, min(longest_s, ends[3] - ends[1] + before_s))
    if rate * for_s < EXPECTED:
        return None
    return Standstill(number, ends[1] - before_s, for_s, round(rate * for_s))


def _longest_away_s(run: RunFigures) -> float:
    """Return the longest send delay caused by preemption of a client, in s."""
    late = [thread.late.waiting for thread in instrument.threads(run) if thread.late]
    return max((stage.worst_ns for stage in late), default=0) / 1e9
