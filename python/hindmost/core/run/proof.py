"""Compares our latencies with those in a packet capture, for the same requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from hindmost import _engine
from hindmost.core.plan import MeasurePlan
from hindmost.core.run import limits
from hindmost.core.store import StoredRun
from hindmost.core.store.estimates import number
from hindmost.core.store.manifest import Witness
from hindmost.core.store.measure import Capture, CaptureComparison, Curve, Curves, Differences, Margin
from hindmost.errors import StudyError
from hindmost.stats import Agreement, Estimate, agreement, constancy, mean_interval, positive_mean_interval
from hindmost.stats.tables import RunValues

LEVELS = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
"""Treadmill's Figures 5 and 6 go up to p99; our goal is p99.9."""
GOALS = {"wire": (limits.WIRE_CONSTANCY_US, "p99.9"), "service": (limits.SERVICE_CONSTANCY_US, "p99")}
"""How constant the difference from the capture has to be, and up to which percentile."""

_NULL = np.iinfo(np.int64).min
_COLUMNS = ["sent_ns", "wire_out_ns", "wire_in_ns", "completed_ns", "capture_out_ns", "capture_in_ns"]
_POINTS = 160

Microseconds = npt.NDArray[np.float64]


def compare_captures(runs: Sequence[StoredRun], plan: MeasurePlan) -> Capture | None:
    """Compare all runs of a study with their captures; None if the plan has no captures.

    Returns
    -------
    Capture or None
        With None for unknown figures.

    Raises
    ------
    StudyError
        If a run's matched requests cannot be read.
    """
    if not plan.verify_wire:
        return None
    records = [run.record.witness or Witness() for run in runs]
    good = [
        (run, record)
        for run, record in zip(runs, records, strict=True)
        if record.matched and not record.dropped and record.whole
    ]
    latencies = [_read(run) for run, _ in good]
    faults = [record for record in records if record.fault]
    return Capture(
        runs=len(good),
        of=len(runs),
        requests=sum(len(part["capture"]) for part in latencies),
        answered=sum(record.answered or 0 for _, record in good),
        dropped=sum(record.dropped or 0 for record in records),
        connections=next((record.connections or None for _, record in good), None),
        code=faults[0].code or None if faults else None,
        fault=faults[0].fault or None if faults else None,
        hint=faults[0].hint or None if faults else None,
        wire=_compare("wire", latencies),
        service=_compare("service", latencies),
        curves=Curves(
            capture=_curve([part["capture"] for part in latencies]),
            wire=_curve([part["wire"] for part in latencies]),
            service=_curve([part["service"] for part in latencies]),
        ),
    )


def _read(run: StoredRun) -> dict[str, Microseconds]:
    """Read the latencies of a run's matched requests; ``wire`` is NaN if the kernel did not stamp one."""
    parts = []
    for index in range(run.record.clients):
        path = run.folder / f"witness-{index}.parquet"
        try:
            columns = _engine.read_columns(str(path), _COLUMNS)
        except _engine.EngineError as error:
            raise StudyError(
                "damaged-run",
                f"run {run.number} of the study cannot be read: {error.args[1]}",
                hint=f"move {run.folder} away and report again",
                run=run.number,
                path=str(path),
            ) from None
        parts.append([np.frombuffer(column, dtype=np.int64) for column in columns])
    sent, wire_out, wire_in, done, capture_out, capture_in = (
        np.concatenate([part[i] for part in parts]) for i in range(len(_COLUMNS))
    )
    stamped = (wire_out != _NULL) & (wire_in != _NULL)
    return {
        "capture": (capture_in - capture_out) / 1e3,
        "service": (done - sent) / 1e3,
        "wire": np.where(stamped, (wire_in - wire_out) / 1e3, np.nan),
    }


def _compare(what: str, latencies: Sequence[dict[str, Microseconds]]) -> CaptureComparison | None:
    pairs = [
        (part[what][known], part["capture"][known])
        for part in latencies
        if (known := ~np.isnan(part[what])).any()
    ]
    if not pairs:
        return None
    each = [agreement(ours, theirs, LEVELS) for ours, theirs in pairs]
    pooled = agreement(np.concatenate([p[0] for p in pairs]), np.concatenate([p[1] for p in pairs]), LEVELS)
    names = [name for name in LEVELS if any(name in run.gap for run in each)]
    gap = {name: _over_runs([run.gap for run in each], name) for name in names}
    goal_us, upto = GOALS[what]
    within_goal = {name: margin.value for name, margin in gap.items() if LEVELS[name] <= LEVELS[upto]}
    return CaptureComparison(
        requests=pooled.count,
        ours_us={name: _over_runs([run.ours for run in each], name, positive_mean_interval) for name in gap},
        capture_us={
            name: _over_runs([run.theirs for run in each], name, positive_mean_interval) for name in gap
        },
        gap_us=gap,
        request_us={name: _spread(pooled, name) for name in gap},
        constancy_us=constancy(within_goal) if len(within_goal) > 1 else None,
        upto=list(within_goal)[-1] if within_goal else upto,
        goal_us=goal_us,
    )


def _over_runs(
    values: Sequence[dict[str, float]], name: str, summarize: Callable[[RunValues], Estimate] = mean_interval
) -> Margin:
    estimate = summarize([gaps[name] for gaps in values if name in gaps])
    return Margin(
        value=estimate.value,
        low=number(estimate.low),
        high=number(estimate.high),
        runs=estimate.n,
    )


def _spread(pooled: Agreement, name: str) -> Differences:
    near = pooled.near[name]
    return Differences(value=near.median, low=near.low, high=near.high)


def _curve(parts: Sequence[Microseconds]) -> Curve:
    """Return the quantile function of all runs' requests at levels spaced evenly on a tail scale."""
    values = np.concatenate([part[~np.isnan(part)] for part in parts]) if parts else np.empty(0)
    if values.size == 0:
        return Curve(q=[], us=[])
    levels = 1.0 - 10.0 ** -np.linspace(0.0, np.log10(max(values.size, 10)), _POINTS, endpoint=False)
    us = np.quantile(values, levels)
    return Curve(q=[round(float(q), 9) for q in levels], us=[round(float(v), 3) for v in us])
