"""Whether one instance's requests left as ordered: the figures behind the ``arrivals`` judgement."""

from __future__ import annotations

import math

import numpy as np

from hindmost.laws import LAWS
from hindmost.plan import MeasurePlan
from hindmost.run.readings import InstanceReading
from hindmost.stats.series.arrivals import anderson_darling, dispersion, kolmogorov
from hindmost.store.estimates import UNKNOWN, Value, written
from hindmost.store.measure import Arrivals


def arrivals_of(one: InstanceReading, plan: MeasurePlan) -> Arrivals | None:
    """Hold the gaps between one instance's sends against the law asked for.

    Each worker sends its own thinned part of the whole process, so its gaps are compared with the law of
    that part, and its counts over spans are judged by themselves.

    Returns
    -------
    dict or None
        ``distance`` (Kolmogorov's, with ``low`` and ``high``; of laws whose gaps have a distribution),
        ``anderson_darling`` of a thinned sample, ``dispersion`` by span (``"1ms"``, ...) and
        ``dispersion_error``, the standard error that chance alone gives it, and the number of ``gaps``.
        None for a closed loop, which asks for no arrivals, and where nothing was sent.
    """
    if plan.loop == "closed" or plan.rate_per_s is None or one.gaps.count == 0:
        return None
    mean_ns = 1e9 * plan.clients * plan.threads / plan.rate_per_s
    distance: Value = UNKNOWN
    squared: float | None = None
    law = LAWS[plan.arrivals]
    if law.gaps:
        low, high, counts = (np.frombuffer(part, dtype=np.uint64) for part in one.gaps.bins())
        bins = (low.astype(np.float64), high.astype(np.float64), counts.astype(np.float64))
        distance = written(kolmogorov(bins, mean_ns, law))
        raw = one.result.get("raw_gaps_ns")
        squared = anderson_darling(raw, mean_ns, law) if raw else None
    workers = [thread["dispersion"] for thread in one.result["threads"]]
    spans = [[worker[i] for worker in workers] for i in range(len(workers[0]))]
    names = [f"{parts[0]['span_ns'] / 1e6:g}ms" for parts in spans]
    return {
        "gaps": one.gaps.count,
        "distance": distance["value"],
        "low": distance["low"],
        "high": distance["high"],
        "anderson_darling": squared,
        "dispersion": {name: dispersion(parts) for name, parts in zip(names, spans, strict=True)},
        # The variance of a sample variance over n spans is 2/(n - 1) of its square, about.
        "dispersion_error": {
            name: math.sqrt(2.0 / max(1, sum(part["spans"] for part in parts) - 1))
            for name, parts in zip(names, spans, strict=True)
        },
    }
