"""Compare one client's send times with the requested arrival process (the ``arrivals`` check).

Two questions. Were requests sent as scheduled? Where a worker's gaps have a known law, its sends are compared
with that law; elsewhere with the scheduled times, which the engine then keeps. And were the scheduled times
drawn from the law? For independent gaps, the squared coefficient of variation answers that.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import UNSET

from hindmost import _engine
from hindmost.core.laws import Law
from hindmost.core.plan import MeasurePlan
from hindmost.core.run.readings import ClientReading
from hindmost.core.store.engine import Dispersion
from hindmost.core.store.estimates import UNKNOWN, Value, to_value
from hindmost.core.store.measure.runs import C2, Arrivals, ScheduledGaps
from hindmost.stats.series.arrivals import (
    Bins,
    Spans,
    Variation,
    anderson_darling,
    dispersion,
    distance_between,
    kolmogorov,
    variation,
)


def compare_arrivals(reading: ClientReading, plan: MeasurePlan) -> Arrivals | None:
    """Compare the gaps between one client's sends with the requested law.

    Each worker sends its own thinned part of the whole process. Its gaps are compared with the law of that
    part, and its counts over spans are evaluated separately.

    Returns
    -------
    dict or None
        ``distance`` (Kolmogorov's, with ``low`` and ``high`` if a law is known), ``anderson_darling`` of a
        thinned sample, ``dispersion`` by span (``"1ms"``, ...), ``dispersion_error`` (its standard error
        under the law), and the number of ``gaps``. Where a worker's gaps have no known law, also
        ``scheduled``: the same figures of the scheduled times.
        None for a closed loop, which has no arrival process, and if nothing was sent.
    """
    if plan.loop == "closed" or plan.rate_per_s is None or reading.gaps.count == 0:
        return None
    parts = plan.clients * plan.threads
    mean_ns = 1e9 * parts / plan.rate_per_s
    distance = UNKNOWN
    squared: float | None = None
    law = plan.law
    if law.gaps:
        distance = to_value(kolmogorov(_bins(reading.gaps), mean_ns, law))
        raw = reading.result.raw_gaps_ns
        squared = anderson_darling(raw, mean_ns, law) if raw else None
    elif reading.scheduled_gaps.count:
        between = distance_between(_bins(reading.gaps), _bins(reading.scheduled_gaps))
        distance = Value(value=between, low=None, high=None)
    spans = _spans([thread.dispersion for thread in reading.result.threads])
    return Arrivals(
        gaps=reading.gaps.count,
        distance=distance.value,
        low=distance.low,
        high=distance.high,
        anderson_darling=squared,
        dispersion={name: dispersion(each) for name, each in spans.items()},
        # The variance of a sample variance over n spans is about 2/(n - 1) of its square.
        dispersion_error={
            name: math.sqrt(2.0 / max(1, sum(part.spans for part in each) - 1))
            for name, each in spans.items()
        },
        scheduled=_scheduled(reading, law, parts, mean_ns) or UNSET,
    )


def least_distance(arrivals: Arrivals) -> float | None:
    """Return the low end of the interval of Kolmogorov's distance, or the distance if it has no interval."""
    return arrivals.distance if arrivals.low is None else arrivals.low


def _scheduled(reading: ClientReading, law: Law, parts: int, mean_ns: float) -> ScheduledGaps | None:
    spans_by_worker = [spans for thread in reading.result.threads if (spans := thread.scheduled_dispersion)]
    if not spans_by_worker:
        return None
    c2: Variation | None = None
    if law.cumulants is not None and reading.scheduled_gaps.count > 1:
        c2 = variation(_bins(reading.scheduled_gaps), mean_ns, law.cumulants, parts)
    return ScheduledGaps(
        dispersion={name: dispersion(each) for name, each in _spans(spans_by_worker).items()},
        c2=None if c2 is None else C2(value=c2.value, requested=c2.requested, error=c2.error),
    )


def _bins(histogram: _engine.Histogram) -> Bins:
    low, high, counts = (np.frombuffer(part, dtype=np.uint64).astype(np.float64) for part in histogram.bins())
    return low, high, counts


def _spans(workers: list[list[Dispersion]]) -> dict[str, list[Spans]]:
    """Regroup the workers' counts by span length."""
    return {
        f"{parts[0].span_ns / 1e6:g}ms": [Spans(one.spans, one.requests, one.squares) for one in parts]
        for parts in zip(*workers, strict=True)
    }
