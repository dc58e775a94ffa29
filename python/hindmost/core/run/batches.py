"""Batching: requests per write call and per TCP segment."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hindmost._engine import Histogram
from hindmost.core.plan import MeasurePlan
from hindmost.core.run.figures import RunFigures
from hindmost.core.store.measure.batches import Batches, PerWrite, Sizes

MOST_SIZES = 400
"""Most sizes in a chart."""


def batches(runs: Iterable[RunFigures], plan: MeasurePlan, writes: Histogram) -> Batches | None:
    """Return the batching figures of these runs together, or None for studies without them.

    Parameters
    ----------
    runs : iterable of RunFigures
        Source of the kernel's counters.
    plan : MeasurePlan
        Source of the requested batching.
    writes : Histogram
        Requests per write call, over all clients of these runs.
    """
    if writes.count == 0:
        return None
    sockets = [
        one for run in runs for client in run.clients for t in client.result.threads if (one := t.sockets)
    ]
    segments = sum(socket.segments or 0 for socket in sockets)
    requests = sum(socket.segment_requests or 0 for socket in sockets)
    low, _, counts = (np.frombuffer(part, dtype=np.uint64) for part in writes.bins())
    share = np.cumsum(counts) / writes.count
    shown = np.unique(np.linspace(0, low.size - 1, min(low.size, MOST_SIZES)).astype(int))
    return Batches(
        requested=plan.batching,
        writes=writes.count,
        requests_per_write=PerWrite(
            mean=writes.mean,
            p50=writes.quantile(0.5),
            p99=writes.quantile(0.99),
            most=writes.max,
        ),
        requests_per_segment=requests / segments if segments else None,
        sizes=Sizes(requests=[int(low[i]) for i in shown], share=[float(share[i]) for i in shown]),
    )
