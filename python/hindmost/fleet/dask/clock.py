"""How far a host's clock is from ours: round trips through the channel, of which the fastest is believed.

::

    ours    t0 ──────────────────────────── t3       offset = ((t1 - t0) + (t2 - t3)) / 2
    theirs        t1 ──── t2                         delay  = (t3 - t0) - (t2 - t1)

The offset lies within half the delay of the true one, whatever the two ways took. The minimum-delay filter of
NTP (RFC 5905, section 10) keeps the round trip with the least room for error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from hindmost.fleet.dask.channel import Channel

ROUNDS = 32
"""Round trips a measurement: some tens of milliseconds a host, of which the fastest is close to the least."""


@dataclass(frozen=True, slots=True)
class Offset:
    """A host's monotonic clock less ours, in nanoseconds; the true one is within ``error_ns`` of it.

    ``at_ns``: when, by our clock.
    """

    offset_ns: int
    error_ns: int
    at_ns: int

    def document(self) -> dict[str, int]:
        """As ``run.json`` has it."""
        return asdict(self)


def offset_of(trips: Iterable[tuple[int, int, int, int]]) -> Offset:
    """The offset by the fastest of several round trips ``(t0, t1, t2, t3)``.

    Examples
    --------
    >>> offset_of([(0, 5_000_100, 5_000_150, 250), (1000, 5_004_000, 5_004_050, 4000)])
    Offset(offset_ns=5000000, error_ns=100, at_ns=125)
    """
    t0, t1, t2, t3 = min(trips, key=lambda trip: (trip[3] - trip[0]) - (trip[2] - trip[1]))
    return Offset(((t1 - t0) + (t2 - t3)) // 2, ((t3 - t0) - (t2 - t1) + 1) // 2, (t0 + t3) // 2)


def drift_ppm(before: Offset, after: Offset) -> float:
    """How fast the two clocks part, in parts per million.

    Examples
    --------
    >>> drift_ppm(Offset(0, 10, 0), Offset(50_000, 10, 1_000_000_000))
    50.0
    """
    return 1e6 * (after.offset_ns - before.offset_ns) / max(1, after.at_ns - before.at_ns)


def clocks(channel: Channel, hosts: Sequence[str]) -> dict[str, Offset]:
    """How far each host's clock is from ours, now."""
    return {host: offset_of(channel.ask(host, {"clock": {}}).trip for _ in range(ROUNDS)) for host in hosts}
