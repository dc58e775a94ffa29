"""How requests were written: how many in a call, and how many in a segment."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hindmost._engine import Histogram
from hindmost.plan import MeasurePlan
from hindmost.run.figures import RunFigures
from hindmost.store.measure import Batches

MOST_SIZES = 400
"""Sizes told apart in a picture."""


def batches(runs: Iterable[RunFigures], plan: MeasurePlan, writes: Histogram) -> Batches | None:
    """The account of these runs together; None of studies that did not keep it.

    Parameters
    ----------
    runs : iterable of RunFigures
        For what the kernel counted.
    plan : MeasurePlan
        For what was asked.
    writes : Histogram
        Requests of each write call, of all clients of these runs.
    """
    if writes.count == 0:
        return None
    sockets = [thread["sockets"] for run in runs for one in run.instances for thread in one.result["threads"]]
    segments = sum(one.get("segments", 0) for one in sockets)
    requests = sum(one.get("segment_requests", 0) for one in sockets)
    low, _, counts = (np.frombuffer(part, dtype=np.uint64) for part in writes.bins())
    share = np.cumsum(counts) / writes.count
    kept = np.unique(np.linspace(0, low.size - 1, min(low.size, MOST_SIZES)).astype(int))
    return {
        "asked": plan.batching,
        "writes": writes.count,
        "requests_per_write": {
            "mean": writes.mean,
            "p50": writes.quantile(0.5),
            "p99": writes.quantile(0.99),
            "most": writes.max,
        },
        "requests_per_segment": requests / segments if segments else None,
        "sizes": {"requests": [int(low[i]) for i in kept], "share": [float(share[i]) for i in kept]},
    }
