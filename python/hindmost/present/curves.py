"""Preparing curves for drawing: thinning and a common grid. It changes no figure shown in a table."""

import bisect
import math
from collections.abc import Sequence

from msgspec import UNSET

from hindmost.core.store.measure import Curve, Series
from hindmost.present.svg import tail

Values = list[float | None]

FLATTENED_BY = 1.5
"""Send delay gets its own chart if it lengthens the axis by this factor, which costs latency a third of its
height.
"""

FLOOR_US = 0.01
"""Value drawn for a send delay of zero on a log axis, in µs. It is finer than the clock's resolution."""


def drawable_points(curve: Curve | None) -> tuple[list[float], Values]:
    """Return levels and microseconds of a curve, sorted, without level 1, which has no place on the scale."""
    if not curve:
        return [], []
    rows = sorted(
        (q, math.inf if us is None else us)
        for q, us in zip(curve.q or [], curve.us or [], strict=False)
        if q is not None and 0 <= q < 1
    )
    return [q for q, _ in rows], [None if math.isinf(us) else max(us, FLOOR_US) for _, us in rows]


def grid(levels: Sequence[float], points: int) -> list[float]:
    """Return at most ``points`` of the levels, evenly spread on the tail scale, including first and last."""
    levels = sorted(set(levels))
    if len(levels) <= points:
        return levels
    end = tail(levels[-1])
    picked = {levels[0], levels[-1]}
    places = [tail(q) for q in levels]
    for step in range(points):
        picked.add(levels[min(len(levels) - 1, bisect.bisect_left(places, end * step / (points - 1)))])
    return sorted(picked)


def on_grid(curve: Curve | None, levels: Sequence[float]) -> Values:
    """Read a curve at ``levels``, with linear interpolation (log scale) between its own points.

    The result is ``None`` beyond the curve's ends and where it is infinite.
    """
    import numpy as np

    own = {q: us for q, us in zip(*drawable_points(curve), strict=True) if us is not None}
    if not own:
        return [None] * len(levels)
    places, known = ([tail(q) for q in qs] for qs in (levels, own))
    logs = np.interp(places, known, np.log(list(own.values())), left=math.nan, right=math.nan)
    return [own.get(q, None if us != us else us) for q, us in zip(levels, np.exp(logs).tolist(), strict=True)]


def infinite_from(curve: Curve | None) -> float | None:
    """Return the first level from which on a curve is infinite, or ``None``."""
    qs, values = drawable_points(curve)
    return next((q for q, us in zip(qs, values, strict=True) if us is None), None)


def thin_series(series: Series, windows: int = 240) -> Series:
    """Keep the worst window (by p99) of each group, so that drawing fewer windows loses no spike."""
    times = series.t_s
    step = max(1, math.ceil(len(times) / windows))
    if step == 1:
        return series

    def worst(index: int) -> float:
        p99 = series.p99_us[index] if index < len(series.p99_us) else None
        return -1.0 if p99 is None else p99

    keep = [
        max(range(start, min(start + step, len(times))), key=worst) for start in range(0, len(times), step)
    ]
    return Series(
        run=series.run,
        t_s=[times[i] for i in keep],
        rate=[series.rate[i] for i in keep],
        p50_us=[series.p50_us[i] for i in keep],
        p99_us=[series.p99_us[i] for i in keep],
        requested=[series.requested[i] for i in keep] if series.requested else UNSET,
        measure_from_s=series.measure_from_s,
    )


def flattens_latency(latency: Curve | None, send_delay: Curve | None) -> bool:
    """Return whether send delay is so far below latency that a common axis would flatten latency."""
    high, low = ([v for v in drawable_points(curve)[1] if v is not None] for curve in (latency, send_delay))
    if not high or not low or max(low) > max(high) / 2:
        return False
    return math.log(max(high) / min(low)) > FLATTENED_BY * math.log(max(high) / min(high))
