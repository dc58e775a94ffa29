"""Whether one client's requests left as ordered: the figures behind the ``arrivals`` judgement.

Two questions. Did requests leave when they were due? Where the gaps of a worker's part have a known law,
sends are held against that; else against the due times themselves, which the engine keeps then. And were the
due times drawn by the law? Of independent gaps, their squared coefficient of variation says it.
"""

from __future__ import annotations

import math

import numpy as np

from hindmost import _engine
from hindmost.laws import Law
from hindmost.plan import MeasurePlan
from hindmost.run.readings import InstanceReading
from hindmost.stats.series.arrivals import (
    Bins,
    Variation,
    anderson_darling,
    dispersion,
    distance_between,
    kolmogorov,
    variation,
)
from hindmost.store.engine import Dispersion
from hindmost.store.estimates import UNKNOWN, Value, written
from hindmost.store.measure import Arrivals, DueGaps


def arrivals_of(one: InstanceReading, plan: MeasurePlan) -> Arrivals | None:
    """Hold the gaps between one client's sends against the law asked for.

    Each worker sends its own thinned part of the whole process, so its gaps are compared with the law of
    that part, and its counts over spans are judged by themselves.

    Returns
    -------
    dict or None
        ``distance`` (Kolmogorov's, with ``low`` and ``high`` where it is from a law),
        ``anderson_darling`` of a thinned sample, ``dispersion`` by span (``"1ms"``, ...) and
        ``dispersion_error``, the standard error that chance alone gives it, and the number of ``gaps``; where
        no law of a worker's gaps is known, what was ``due``.
        None for a closed loop, which asks for no arrivals, and where nothing was sent.
    """
    if plan.loop == "closed" or plan.rate_per_s is None or one.gaps.count == 0:
        return None
    parts = plan.clients * plan.threads
    mean_ns = 1e9 * parts / plan.rate_per_s
    distance: Value = UNKNOWN
    squared: float | None = None
    law = plan.law
    if law.gaps:
        distance = written(kolmogorov(_bins(one.gaps), mean_ns, law))
        raw = one.result.get("raw_gaps_ns")
        squared = anderson_darling(raw, mean_ns, law) if raw else None
    elif one.due_gaps.count:
        between = distance_between(_bins(one.gaps), _bins(one.due_gaps))
        distance = {"value": between, "low": None, "high": None}
    spans = _spans([thread["dispersion"] for thread in one.result["threads"]])
    found: Arrivals = {
        "gaps": one.gaps.count,
        "distance": distance["value"],
        "low": distance["low"],
        "high": distance["high"],
        "anderson_darling": squared,
        "dispersion": {name: dispersion(each) for name, each in spans.items()},
        # The variance of a sample variance over n spans is 2/(n - 1) of its square, about.
        "dispersion_error": {
            name: math.sqrt(2.0 / max(1, sum(part["spans"] for part in each) - 1))
            for name, each in spans.items()
        },
    }
    if due := _due(one, law, parts, mean_ns):
        found["due"] = due
    return found


def beyond_chance(one: Arrivals) -> float | None:
    """Kolmogorov's distance that few gaps do not explain: the low end of its interval, where it has one."""
    return one["distance"] if one["low"] is None else one["low"]


def _due(one: InstanceReading, law: Law, parts: int, mean_ns: float) -> DueGaps | None:
    kept = [spans for thread in one.result["threads"] if (spans := thread.get("due_dispersion"))]
    if not kept:
        return None
    c2: Variation | None = None
    if law.cumulants is not None and one.due_gaps.count > 1:
        c2 = variation(_bins(one.due_gaps), mean_ns, law.cumulants, parts)
    return {
        "dispersion": {name: dispersion(each) for name, each in _spans(kept).items()},
        "c2": None if c2 is None else {"value": c2.value, "asked": c2.asked, "error": c2.error},
    }


def _bins(histogram: _engine.Histogram) -> Bins:
    low, high, counts = (np.frombuffer(part, dtype=np.uint64).astype(np.float64) for part in histogram.bins())
    return low, high, counts


def _spans(workers: list[list[Dispersion]]) -> dict[str, list[Dispersion]]:
    """What workers counted, by the length of the spans."""
    each = [[worker[i] for worker in workers] for i in range(len(workers[0]))]
    return {f"{parts[0]['span_ns'] / 1e6:g}ms": parts for parts in each}
