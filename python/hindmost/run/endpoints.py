"""What became of each of several servers, over clients and runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hindmost._engine import Histogram
from hindmost.plan.units import label
from hindmost.run.figures import RunFigures
from hindmost.run.readings import microseconds
from hindmost.store.estimates import number
from hindmost.store.measure import Endpoint
from hindmost.store.types import Counts


def endpoints(
    runs: Iterable[RunFigures], latencies: Mapping[int, Histogram], levels: Sequence[float]
) -> list[Endpoint]:
    """The account and the latency of each server in these runs together; empty where there was one.

    Parameters
    ----------
    runs : iterable of RunFigures
        All with the same servers.
    latencies : mapping
        By the server's place, the latencies of all runs thrown together.
    levels : sequence of float
        Quantiles of them.
    """
    reports = [one.result.get("endpoints", []) for run in runs for one in run.instances]
    found: list[Endpoint] = []
    for at, latency in sorted(latencies.items()):
        accounts = [report[at]["counts"] for report in reports]
        total: Counts = {
            "due": sum(one["due"] for one in accounts),
            "done": sum(one["done"] for one in accounts),
            "misses": sum(one["misses"] for one in accounts),
            "errors": sum(one["errors"] for one in accounts),
            "timeouts": sum(one["timeouts"] for one in accounts),
            "unsent": sum(one["unsent"] for one in accounts),
        }
        merged = {label(q): number(microseconds(latency, q)) for q in levels}
        found.append({"address": reports[0][at]["address"], "counts": total, "merged_us": merged})
    return found
