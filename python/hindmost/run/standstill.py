"""When the server stood still: no reply to anybody while requests were outstanding, and then all of them.

::

    replies in windows of 0.1 s   2000 2000 1400    0    0 ...    0 21600 2000
                                            ^ stood still from here,  ^ to here

Seen in the run's own series. A gap of the client looks the same there, but not in what the client says of
itself: then a request left as late as the gap is long, because its processor was away. After a server's
silence requests leave late because many replies are read at once. A host that takes the client's processor
for milliseconds, however often, makes no silence of a second. A server that never answers again did not stand
still: it is gone.
"""

from __future__ import annotations

from dataclasses import dataclass

from hindmost.plan import MeasurePlan
from hindmost.plan.units import format_us
from hindmost.run import instrument
from hindmost.run.figures import RunFigures
from hindmost.store.engine import Window

EXPECTED = 20.0
"""Replies that a silence must lack: a Poisson process lacks so many by chance once in 500 million times."""
BY_CLIENT = 0.5
"""Share of a silence for which the client's processor was away at once: then the client stood still."""


@dataclass(frozen=True, slots=True)
class Standstill:
    """One: in which run, from when (seconds since its load began, as on the page), how long, who waited."""

    run: int
    from_s: float
    for_s: float
    waited: int

    @property
    def text(self) -> str:
        """What happened, in words."""
        return (
            f"the server stalled in run {self.run} at t = {self.from_s:.1f} s for"
            f" {format_us(1e6 * self.for_s, 2)}: {self.waited:,} requests waited"
        )


def standstills(run: RunFigures, plan: MeasurePlan) -> list[Standstill]:
    """When the server of a run stood still, in order; none of a closed loop, which asks nothing meanwhile."""
    if plan.rate_per_s is None or plan.loop == "closed" or not _series(run):
        return []
    first = run.instances[0].result
    begins_ns = 1e9 * (first["warmup_s"] + first["calibration"]["seconds"])
    rows = list(zip(*_series(run), strict=False))
    found = []
    for place in range(1, len(rows) - 1):
        if _count(rows[place]) or not _count(rows[place - 1]) or rows[place][0]["at_ns"] <= begins_ns:
            continue
        last = next((i for i in range(place, len(rows) - 1) if _count(rows[i + 1])), None)
        if last is not None and (one := _silence(run.number, plan.rate_per_s, rows, place, last)):
            found.append(one)
    away_s = _longest_away_s(run)
    return [one for one in found if away_s <= BY_CLIENT * one.for_s]


def _series(run: RunFigures) -> list[list[Window]]:
    return [worker for one in run.instances for worker in one.result.get("series", [])]


def _count(row: tuple[Window, ...]) -> int:
    return sum(window["count"] for window in row)


def _silence(
    number: int, rate: float, rows: list[tuple[Window, ...]], first: int, last: int
) -> Standstill | None:
    """The silence of whole windows `first` to `last`, with what belongs to it of the windows beside."""
    ends = [rows[place][0]["at_ns"] / 1e9 for place in (max(0, first - 2), first - 1, last, last + 1)]
    before_s = max(0.0, ends[1] - ends[0] - _count(rows[first - 1]) / rate)
    whole_s = ends[2] - ends[1]
    # Of the replies that come all at once when it is over, one in a hundred waited longer than their p99.
    longest_s = max(window["p99_ns"] for window in rows[last + 1]) / 0.99 / 1e9
    for_s = max(whole_s, min(longest_s, ends[3] - ends[1] + before_s))
    if rate * for_s < EXPECTED:
        return None
    return Standstill(number, ends[1] - before_s, for_s, round(rate * for_s))


def _longest_away_s(run: RunFigures) -> float:
    """The latest that a request left because the client's processor was away."""
    late = [thread["late"]["waiting"] for thread in instrument.threads(run) if "late" in thread]
    return max((stage["worst_ns"] for stage in late), default=0) / 1e9
