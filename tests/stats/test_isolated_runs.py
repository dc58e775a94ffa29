"""Isolated latency as in a study: runs of 10 s, 20,000 stored requests each, interruptions as a sentinel records them.

The truth is the same simulated queue without interruptions (`interference_worlds`). Nine runs, as in 90 s of
`hindmost measure`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_documents import complete
from run_records import run_record

from hindmost import MeasurePlan
from hindmost.core.run.isolated import RunIsolated, find_refusal, run_isolated
from hindmost.core.run.isolated.requests import RequestTimes
from hindmost.core.store.engine import ClientResult
from tests.stats.interference_worlds import Nanos, SimulatedRun, World, simulate

PERIOD_NS, LATE_NS = 1_000_000, 100_000
RUN_S, RUNS, KEPT = 10, 9, 20_000
CLOSE = 0.1
PLAN = MeasurePlan(
    target="memcached",
    client_cpus=((1,),),
    server_cpus=(0,),
    duration_s=float(RUN_S),
    quantiles=(0.5, 0.95, 0.99),
)


def late_wakeups(on: Nanos, off: Nanos, until: int) -> list[list[int]]:
    """The records of a sentinel: its last wake-up, the scheduled one, and the actual one."""
    spans, alive, k = [], -PERIOD_NS, 0
    while alive < until:
        scheduled = alive + PERIOD_NS
        while k < on.size and off[k] <= scheduled:
            k += 1
        woken = int(off[k]) if k < on.size and on[k] <= scheduled else scheduled
        if woken - scheduled > LATE_NS:
            spans.append([alive, scheduled, woken])
        alive = woken
    return spans


def study(simulated: SimulatedRun, rho: float, exact: bool) -> list[RunIsolated]:
    """Nine runs, with interruptions from the sentinel or, if `exact`, from a spinning client's gaps."""
    random = np.random.default_rng(1)
    results = []
    for number in range(RUNS):
        begin = int(simulated.scheduled[0]) + number * RUN_S * 1_000_000_000
        until = RUN_S * 1_000_000_000
        inside = np.flatnonzero((simulated.scheduled >= begin) & (simulated.scheduled < begin + until))
        some = np.sort(random.choice(inside, KEPT, replace=False))
        near = (simulated.off > begin - 10**9) & (simulated.on < begin + until)
        on, off = simulated.on[near] - begin, simulated.off[near] - begin
        scheduled = simulated.scheduled[some] - begin
        times = RequestTimes(scheduled, scheduled.copy(), simulated.done[some] - begin)
        sentinel = {
            "cpu": 0,
            "from_ns": 0,
            "to_ns": 10**15,
            "period_ns": PERIOD_NS,
            "late_ns": LATE_NS,
            "missed": 0,
        }
        zero = 10**12
        late = [] if exact else [[zero + ns for ns in span] for span in late_wakeups(on, off, until)]
        away: dict[str, Any] = {"idle_ns": 20_000, "call_ns": 200_000, "missed": 0, "spans_ns": []}
        if exact:
            away["spans_ns"] = list(zip(on.tolist(), off.tolist(), strict=True))
        given = {
            "measured_from_ns": zero,
            "achieved_per_s": inside.size / RUN_S,
            "host": {"throttled": None},
            "threads": [{"away": away}],
        }
        result = complete(ClientResult, given)
        watched = sentinel | {"spans_ns": late}
        record = run_record(server_cpu_share=rho, target={"cpus": [0]}, sentinel=[watched])
        isolated = run_isolated(
            Path("run"), record, [result], PLAN, {}, [], lambda _folder, _index, times=times: times
        )
        assert isolated is not None
        results.append(isolated)
    return results


@pytest.mark.parametrize(
    ("world", "exact"),
    [
        (World("exponential", 0.3, 0.02, 3.0), False),
        (World("exponential", 0.3, 0.1, 3.0), True),
        pytest.param(World("exponential", 0.3, 0.1, 3.0), False, marks=pytest.mark.nightly),
        pytest.param(World("lognormal", 0.5, 0.05, 3.0), False, marks=pytest.mark.nightly),
        pytest.param(World("lognormal", 0.5, 0.05, 3.0), True, marks=pytest.mark.nightly),
    ],
    ids=lambda value: value.name if isinstance(value, World) else "spin gaps" if value else "sentinel",
)
def test_ninety_seconds_determine_the_undisturbed_quantiles_to_a_tenth(world: World, exact: bool) -> None:
    requests = int(RUNS * RUN_S * world.rho / 20e-6 * 1.01)
    simulated = simulate(world, requests, seed=5)
    runs = study(simulated, world.rho, exact)
    assert find_refusal(runs) is None
    assert all(run.refused is None for run in runs)
    truth = (simulated.undisturbed - simulated.scheduled) / 1e3
    raw = (simulated.done - simulated.scheduled) / 1e3
    for name, level in zip(PLAN.labels, PLAN.quantiles, strict=True):
        true = float(np.quantile(truth, level))
        isolated = float(np.mean([run.values[name] for run in runs]))
        assert abs(isolated / true - 1.0) < CLOSE, f"{name}: isolated {isolated:.1f}, truth {true:.1f}"
    assert np.quantile(raw, 0.99) > 5.0 * np.quantile(truth, 0.99)
    share = float(np.mean([run.taken for run in runs]))
    assert abs(share / world.share - 1.0) < 0.25, (
        "an interruption is assumed to begin half-way between the last and the scheduled wake-up"
    )
