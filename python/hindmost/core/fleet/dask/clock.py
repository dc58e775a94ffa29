"""Offset of a host's clock from ours, from the fastest of several round trips through the channel.

::

    ours    t0 ──────────────────────────── t3       offset = ((t1 - t0) + (t2 - t3)) / 2
    theirs        t1 ──── t2                         delay  = (t3 - t0) - (t2 - t1)

The true offset lies within half the delay, whatever the delay of each direction. NTP's minimum-delay filter
(RFC 5905, section 10) keeps the round trip with the smallest error bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from hindmost.core.fleet.dask.channel import Channel
from hindmost.core.store.manifest import ClockOffset

ROUNDS = 32
"""Round trips per measurement: a few tens of milliseconds per host; the fastest is close to the minimum."""


@dataclass(frozen=True, slots=True)
class Offset:
    """A host's monotonic clock minus ours, in nanoseconds; the true value is within ``error_ns``.

    ``at_ns``: time of the measurement, by our clock.
    """

    offset_ns: int
    error_ns: int
    at_ns: int

    def document(self) -> ClockOffset:
        """Return the form in ``run.json``."""
        return ClockOffset(**asdict(self))


def offset_of(trips: Iterable[tuple[int, int, int, int]]) -> Offset:
    """Return the offset from the fastest of several round trips ``(t0, t1, t2, t3)``.

    Examples
    --------
    >>> offset_of([(0, 5_000_100, 5_000_150, 250), (1000, 5_004_000, 5_004_050, 4000)])
    Offset(offset_ns=5000000, error_ns=100, at_ns=125)
    """
    t0, t1, t2, t3 = min(trips, key=lambda trip: (trip[3] - trip[0]) - (trip[2] - trip[1]))
    return Offset(((t1 - t0) + (t2 - t3)) // 2, ((t3 - t0) - (t2 - t1) + 1) // 2, (t0 + t3) // 2)


def drift_ppm(before: Offset, after: Offset) -> float:
    """Return the rate at which two clocks drift apart, in parts per million.

    Examples
    --------
    >>> drift_ppm(Offset(0, 10, 0), Offset(50_000, 10, 1_000_000_000))
    50.0
    """
    return 1e6 * (after.offset_ns - before.offset_ns) / max(1, after.at_ns - before.at_ns)


def clocks(channel: Channel, hosts: Sequence[str]) -> dict[str, Offset]:
    """Return the present offset of each host's clock."""
    return {host: offset_of(channel.ask(host, {"clock": {}}).trip for _ in range(ROUNDS)) for host in hosts}
