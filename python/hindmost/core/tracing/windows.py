"""The share of time that a trace follows, chosen so that the trace costs the server little.

The choice is made once, from a short trace of all requests, and does not depend on what comes later: windows
at random places then represent the whole time.
"""

from __future__ import annotations

import math

from hindmost.core.tracing.document import Trace

WINDOW_S = 0.05
"""Shortest window, s."""
LEAST_WINDOWS, SAFE_WINDOWS = 20, 24
"""Number of windows in the shortest trace that has intervals, and number that yields so many windows even if
slow requests delay some."""
MOST_COST, MOST_LONG_COST = 0.02, 0.01
"""Largest share of the server's CPU time for a trace, and for one of at least `LONG_S`."""
LONG_S = 60.0
LEAST_REQUESTS = 5000
"""Number of requests that a trace needs: the slowest 1 % are then 50."""
LOOK_S = 0.1
"""Duration of the short trace of all requests, s."""
OUTSIDE_S = 0.3
"""Time in which all requests are traced outside of windows, s: the short trace, and measuring the cost."""
CHANGE_S = 0.005
"""Time for which the probes are attached in addition to a window, s."""
UNCOUNTED = 1.5
"""Assumed ratio of what a trace adds to the server's CPU time to its probes' run time, which does not include
their calls, the stamps of packets, and what they evict from the caches. `benches/trace.py` measures it."""


def probes_share(trace: Trace) -> float | None:
    """Return the run time of attached probes as a share of the server's CPU time; None if it is unknown."""
    cost, service = trace.cost, trace.service
    if service is None or not cost.costed_requests:
        return None
    followed_us = cost.probes_ns / cost.costed_requests / 1e3
    return followed_us / trace.one_connection_in / service.mean_us


def most_windows(duration_s: float) -> int:
    """Return the largest `one_window_in` with which a trace is sure to have intervals."""
    return max(1, int(duration_s / (SAFE_WINDOWS * WINDOW_S)))


def choose_windows(look: Trace, duration_s: float) -> tuple[int, float | None]:
    """Return `one_window_in` and the cost to expect: a share of the server's CPU time, None if it is unknown.

    All the time is traced if that costs little, or if requests are too few or too slow for windows.

    Parameters
    ----------
    look : Trace
        A short trace of all requests.
    duration_s : float
        Duration of the trace.
    """
    probes = probes_share(look)
    if probes is None:
        return 1, None
    full = probes * UNCOUNTED
    outside = full * OUTSIDE_S / duration_s
    left = (MOST_LONG_COST if duration_s >= LONG_S else MOST_COST) - outside
    requests = look.counts.done / look.followed_s * duration_s
    most = min(most_windows(duration_s), int(requests / LEAST_REQUESTS))
    # The probes stay attached until the slowest request of a window has ended.
    latency = look.all.latency
    slowest_s = (latency.mean_us.value + 3 * math.sqrt(latency.variance_us2.value)) / 1e6
    attached = (WINDOW_S + CHANGE_S + slowest_s) / WINDOW_S
    if full <= left or most <= attached:
        return 1, full + outside
    one_in = min(most, math.ceil(full * attached / left)) if left > 0 else most
    return one_in, full * attached / one_in + outside
