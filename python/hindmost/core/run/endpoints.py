"""Counts and latency of each of several servers, over clients and runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hindmost._engine import Histogram
from hindmost.core.plan.units import label
from hindmost.core.run.figures import RunFigures, add_counts
from hindmost.core.run.readings import microseconds
from hindmost.core.store.estimates import number
from hindmost.core.store.measure import Endpoint


def endpoints(
    runs: Iterable[RunFigures], latencies: Mapping[int, Histogram], levels: Sequence[float]
) -> list[Endpoint]:
    """Return the counts and the latency of each server in these runs; empty if there was only one.

    Parameters
    ----------
    runs : iterable of RunFigures
        All with the same servers.
    latencies : mapping
        Latencies of all runs, merged, by the server's index.
    levels : sequence of float
        Quantiles to report.
    """
    reports = [client.result.endpoints or [] for run in runs for client in run.clients]
    servers: list[Endpoint] = []
    for index, latency in sorted(latencies.items()):
        total = add_counts([report[index].counts for report in reports])
        merged = {label(q): number(microseconds(latency, q)) for q in levels}
        servers.append(Endpoint(address=reports[0][index].address, counts=total, merged_us=merged))
    return servers
