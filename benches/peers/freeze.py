"""The right latencies of an open loop with even arrivals when the server is frozen.

::

    scheduled      | | | | | | | | | | | | | | | | | |      at a rate R over T seconds
    server         ========[ frozen for F ]===========      then serves the backlog at its capacity C

A request scheduled d after the start of the freeze waits for its end, and for the R x d requests scheduled
before, each of which takes 1/C: F - d (1 - R/C), until the backlog is gone. So the fraction
(F - t) / (T (1 - R/C)) of all requests takes longer than t. A client that sends no request while it waits for
a reply (coordinated omission) reports only a few late ones instead.
"""

from __future__ import annotations

from benches.peers.samples import LEVELS


def right_answer(
    frozen_s: float, total_s: float, rate: float, capacity: float, usual_us: float
) -> dict[str, float]:
    """Return quantiles, mean and maximum in microseconds.

    Parameters
    ----------
    frozen_s, total_s : float
        Length of the freeze, and of the load, in seconds.
    rate, capacity : float
        Rates in requests/s: scheduled, and the server's maximum. Rate 0: the backlog costs nothing.
    usual_us : float
        Latency outside the freeze.

    Examples
    --------
    >>> found = right_answer(0.1, 4.0, 0.0, 1.0, 0.0)
    >>> {name: round(value / 1e3, 3) for name, value in found.items()}
    {'p99': 60.0, 'p99.9': 96.0, 'mean': 1.25, 'max': 100.0}
    """
    slope = 1.0 - rate / capacity
    late = {
        name: max(0.0, frozen_s - slope * (1.0 - level) * total_s)
        for name, level in LEVELS.items()
        if level > 0.5
    }
    late |= {"mean": frozen_s**2 / (2.0 * slope * total_s), "max": frozen_s}
    return {name: seconds * 1e6 + usual_us for name, seconds in late.items()}
