"""Data for the page's pictures: curves, shares, time series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from hindmost._engine import Histogram
from hindmost.core.plan import MeasurePlan
from hindmost.core.plan.schedules import mean_rates
from hindmost.core.run.figures import RunFigures, Totals
from hindmost.core.store import measure as documents

SHARE_LEVELS = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999)
MOST_WINDOWS, ALL_WINDOWS = 240, 24_000
"""Most windows in the series of one run, and of all runs together."""
RUN_POINTS, ALL_POINTS = 60, 12_000
"""Most points in the curve of one run, and of all runs together."""


def curve(histogram: Histogram, points: int = 400) -> documents.Curve:
    """Return the quantile function at points evenly spaced in -log10(1 - q), which resolves the tail."""
    n = histogram.count
    if n == 0:
        return documents.Curve(q=[], us=[])
    levels = 1.0 - 10.0 ** -np.linspace(0.0, math.log10(max(n, 10)), points)
    values = histogram.quantiles(levels.tolist())
    us = [math.inf if v is None else round(v / 1e3, 4) for v in values]
    kept = [(q, v) for level, v in zip(levels, us, strict=True) if (q := round(float(level), 9)) < 1.0]
    return documents.Curve(q=[q for q, _ in kept], us=[v for _, v in kept])


def run_curves(runs: Sequence[RunFigures]) -> list[documents.RunCurve]:
    """Return the curve of each run."""
    points = max(10, min(RUN_POINTS, ALL_POINTS // max(1, len(runs))))
    return [documents.RunCurve(run=run.number, **asdict(curve(run.latency, points))) for run in runs]


def outstanding(histogram: Histogram, plan: MeasurePlan) -> documents.Outstanding | None:
    """Return how many requests were outstanding in its worker when a request arrived (Figure 1 of the paper).

    ``connections`` is the number of connections of a worker, which a closed loop cannot exceed.
    """
    if histogram.count == 0:
        return None
    low, _, counts = (np.frombuffer(part, dtype=np.uint64) for part in histogram.bins())
    if low.size > 400:  # merge bins, so that the picture stays small
        edges = np.linspace(0, low.size, 401).astype(int)[:-1]
        low, counts = low[edges], np.add.reduceat(counts, edges)
    share = counts / histogram.count
    workers = plan.clients * plan.threads
    return documents.Outstanding(
        values=[int(v) for v in low],
        share=[float(s) for s in share],
        per_client=workers > 1,
        connections=math.ceil(plan.connections / workers),
    )


def series(run: RunFigures, plan: MeasurePlan, windows: int) -> documents.Series:
    """Return one run's rate and quantiles over time; quantiles are means over workers, weighted by replies.

    With a schedule, ``asked`` is the mean scheduled rate in each window.

    Parameters
    ----------
    windows : int
        Most windows to return.
    """
    result = run.clients[0].result
    workers = [worker for one in run.clients for worker in (one.result.series or [])]
    length = min((len(worker) for worker in workers), default=0)
    step = max(1, math.ceil(length / windows))
    t_s: list[float] = []
    rate: list[float | None] = []
    p50: list[float | None] = []
    p99: list[float | None] = []
    before = 0.0
    for i in range(step - 1, length, step):
        cells = [worker[j] for worker in workers for j in range(i - step + 1, i + 1)]
        end = workers[0][i].at_ns / 1e9
        count = sum(cell.count for cell in cells)
        t_s.append(round(end, 3))
        rate.append(round(count / (end - before), 1) if end > before else None)
        p50.append(_weighted_mean([(cell.count, cell.p50_ns) for cell in cells]))
        p99.append(_weighted_mean([(cell.count, cell.p99_ns) for cell in cells]))
        before = end
    measure_from_s = result.warmup_s + result.calibration.seconds
    requested: list[float] | UnsetType = UNSET
    if plan.schedule is not None and plan.rate_per_s is not None and t_s:
        edges = [at - measure_from_s for at in (0.0, *t_s)]
        requested = [round(one, 1) for one in mean_rates(plan.schedule, plan.rate_per_s, edges)]
    return documents.Series(
        run=run.number,
        t_s=t_s,
        rate=rate,
        requested=requested,
        p50_us=p50,
        p99_us=p99,
        measure_from_s=measure_from_s,
    )


def all_series(runs: Sequence[RunFigures], plan: MeasurePlan) -> list[documents.Series]:
    """Return the series of each run."""
    windows = max(60, min(MOST_WINDOWS, ALL_WINDOWS // max(1, len(runs))))
    return [series(run, plan, windows) for run in runs]


def _weighted_mean(parts: Sequence[tuple[int, int]]) -> float | None:
    """Return the mean in µs of values in ns, weighted by numbers of replies; None without replies."""
    count = sum(n for n, _ in parts)
    return round(sum(n * ns for n, ns in parts) / count / 1e3, 2) if count else None


def shares_by_quantile(runs: Sequence[RunFigures], totals: Totals) -> list[documents.SharesAt]:
    """Return each client's share of the requests between neighbouring quantiles (Figure 2 of the paper)."""
    clients = len(runs[0].clients)
    merged = [Histogram() for _ in range(clients)]
    for run in runs:
        for one, into in zip(run.clients, merged, strict=True):
            into.merge(one.latency)
    whole = totals.whole["latency"]

    def above(level: float) -> np.ndarray[Any, np.dtype[np.float64]]:
        edge = whole.quantile(level) if level > 0.0 else 0.0
        if edge is None or math.isinf(edge):
            return np.array([one.censored for one in merged], dtype=float)
        if level == 0.0:
            return np.array([one.count for one in merged], dtype=float)
        return np.array([one.count_above(int(edge)) for one in merged], dtype=float)

    counts = [above(level) for level in SHARE_LEVELS] + [np.zeros(clients)]
    rows: list[documents.SharesAt] = []
    for i, level in enumerate(SHARE_LEVELS):
        inside = counts[i] - counts[i + 1]
        if inside.sum() > 0:
            rows.append(documents.SharesAt(q=level, shares=[float(s) for s in inside / inside.sum()]))
    return rows
