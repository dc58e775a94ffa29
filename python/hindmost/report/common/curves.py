"""Prepares curves for drawing: thins them and puts them on one grid. Changes no figure that a table shows."""

import bisect
import math
from collections.abc import Sequence

from hindmost.report.common.svg import tail
from hindmost.store.measure import Curve, Series

Values = list[float | None]

FLATTENED_BY = 1.5
"""Send delay that lengthens the axis this much takes a third of latency's room; it gets its own chart."""

FLOOR_US = 0.01
"""What a log axis shows for a send delay of zero; finer than the clock can tell."""


def rounded(value: float | None, digits: int = 4) -> float | None:
    """Cut to ``digits`` significant digits, enough for a screen; not finite becomes ``None``."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{digits}g}")


def drawable(curve: Curve | None) -> tuple[list[float], Values]:
    """Levels and microseconds of a curve, sorted, without level 1, which the tail scale cannot show."""
    if not curve:
        return [], []
    rows = sorted(
        (q, math.inf if us is None else us)
        for q, us in zip(curve.get("q") or [], curve.get("us") or [], strict=False)
        if q is not None and 0 <= q < 1
    )
    return [q for q, _ in rows], [None if math.isinf(us) else max(us, FLOOR_US) for _, us in rows]


def grid(levels: Sequence[float], points: int) -> list[float]:
    """Take at most ``points`` of the levels, evenly spread on the tail scale, first and last among them."""
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
    """Read a curve at ``levels``: its own points where it has them, straight lines (log scale) between them.

    ``None`` beyond its ends and where it is infinite.
    """
    import numpy as np

    own = {q: us for q, us in zip(*drawable(curve), strict=True) if us is not None}
    if not own:
        return [None] * len(levels)
    places, known = ([tail(q) for q in qs] for qs in (levels, own))
    logs = np.interp(places, known, np.log(list(own.values())), left=math.nan, right=math.nan)
    return [own.get(q, None if us != us else us) for q, us in zip(levels, np.exp(logs).tolist(), strict=True)]


def infinite_from(curve: Curve | None) -> float | None:
    """First level of a curve from which on it is infinite, or ``None``."""
    qs, values = drawable(curve)
    return next((q for q, us in zip(qs, values, strict=True) if us is None), None)


def thinned(series: Series, windows: int = 240) -> tuple[Series, int]:
    """Keep the worst (by p99) of every so many windows: at most ``windows`` are drawn and no spike is lost.

    Returns
    -------
    Series, int
        The windows that are drawn, and how many each of them stands for.

    """
    times = series["t_s"]
    step = max(1, math.ceil(len(times) / windows))
    if step == 1:
        return series, 1

    def worst(index: int) -> float:
        p99 = series["p99_us"][index] if index < len(series["p99_us"]) else None
        return -1.0 if p99 is None else p99

    keep = [
        max(range(start, min(start + step, len(times))), key=worst) for start in range(0, len(times), step)
    ]
    found: Series = {
        "run": series["run"],
        "t_s": [times[i] for i in keep],
        "rate": [series["rate"][i] for i in keep],
        "p50_us": [series["p50_us"][i] for i in keep],
        "p99_us": [series["p99_us"][i] for i in keep],
        "measure_from_s": series["measure_from_s"],
    }
    if "asked" in series:
        found["asked"] = [series["asked"][i] for i in keep]
    return found, step


def flattening(latency: Curve | None, slip: Curve | None) -> bool:
    """Whether send delay lies so far below latency that one axis for both would leave latency flat."""
    high, low = ([v for v in drawable(curve)[1] if v is not None] for curve in (latency, slip))
    if not high or not low or max(low) > max(high) / 2:
        return False
    return math.log(max(high) / min(low)) > FLATTENED_BY * math.log(max(high) / min(high))
