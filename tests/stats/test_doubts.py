"""A sentinel behind the server cannot tell which waits are interruptions: isolated latency is right, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_documents import complete
from interference_worlds import World, simulate
from run_records import run_record

from hindmost import MeasurePlan
from hindmost.core.run.isolated import RunIsolated, run_isolated
from hindmost.core.run.isolated.requests import RequestTimes
from hindmost.core.store.engine import ClientResult
from hindmost.stats import Estimate

MS = 1_000_000
LEVELS = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
FAR = 0.15
"""The rule's 10 %, plus the scatter of one run's p99."""


def isolate(seed: int, hidden: float, busy: int) -> tuple[RunIsolated, dict[str, float]]:
    """A run with a share ``hidden`` of its interruptions within waits, and ``busy`` waits caused by the server."""
    g = np.random.default_rng(seed)
    run = simulate(World("exponential", 0.5, 0.05, 3.0), 200_000, seed=seed)
    zero, length = int(run.scheduled[0]), int(run.scheduled[-1] - run.scheduled[0])
    spans = np.column_stack([run.on, run.off]).astype(np.int64) - zero
    spans = spans[(spans[:, 0] > 0) & (spans[:, 1] < length)]
    wait = g.random(len(spans)) < hidden
    latency = (run.undisturbed - run.scheduled).astype(np.int64)
    slow = np.flatnonzero(latency > np.quantile(latency, 0.9))
    own = g.choice(slow, size=busy, replace=False)
    unsure = [(on - MS, on, off) for on, off in spans[wait].tolist()]
    unsure += [
        (int(run.scheduled[i]) - zero, int(run.scheduled[i]) - zero, int(run.undisturbed[i]) - zero)
        for i in own
    ]
    sentinel: dict[str, Any] = {
        "cpu": 0,
        "from_ns": 0,
        "to_ns": length + MS,
        "period_ns": MS,
        "late_ns": 100_000,
    }
    sentinel |= {"missed": 0, "spans_ns": [[on, on, off] for on, off in spans[~wait].tolist()]}
    sentinel |= {"unsure_ns": [list(span) for span in sorted(unsure)]}
    away = {"idle_ns": 20_000, "call_ns": 200_000, "missed": 0, "spans_ns": []}
    result: Any = {"measured_from_ns": 0, "achieved_per_s": len(run.scheduled) / (length / 1e9)}
    result |= {"host": {"throttled": {"periods": 0}}, "threads": [{"away": away}]}
    record = run_record(server_cpu_share=0.5 * 0.95, target={"cpus": [0]}, sentinel=[sentinel])
    plan = MeasurePlan(
        target="memcached",
        client_cpus=((1,),),
        server_cpus=(0,),
        duration_s=length / 1e9,
        quantiles=(0.5, 0.95, 0.99),
    )
    raw = {name: float(np.quantile(run.done - run.scheduled, q)) / 1e3 for name, q in LEVELS.items()}
    alone = [{name: Estimate(value, value, value, 1) for name, value in raw.items()}]
    times = RequestTimes(*((ns - zero).astype(np.int64) for ns in (run.scheduled, run.scheduled, run.done)))
    isolated = run_isolated(
        Path("run"), record, [complete(ClientResult, result)], plan, raw, alone, lambda *_: times
    )
    assert isolated is not None
    return isolated, {name: float(np.quantile(latency, q)) / 1e3 for name, q in LEVELS.items()}


@pytest.mark.parametrize(
    ("hidden", "busy", "refused"), [(0.0, 20, False), (0.005, 20, False), (0.5, 0, True), (0.0, 3_000, True)]
)
def test_uncertain_waits_are_harmless_or_refused_whatever_their_cause(
    hidden: float, busy: int, refused: bool
) -> None:
    """Interruptions within waits, the server's own work, or both: the figures are near the truth, or there are none."""
    isolated, truth = isolate(0, hidden, busy)
    assert (isolated.refused is not None) == refused, isolated.refused
    if isolated.refused is not None:
        assert isolated.refused.code == "uncertain-interference"
    for name, value in isolated.values.items():
        assert abs(value / truth[name] - 1.0) < FAR, (name, value, truth[name])
