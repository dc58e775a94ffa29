"""Calm latency as a study has it: runs of 10 s, 20,000 requests kept of each, thefts as a sentinel sees them.

Truth is the same queue without thefts (`interference_worlds`), simulated. Nine runs, as 90 s of `hindmost measure` make them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hindmost import MeasurePlan
from hindmost.run.isolated import RunIsolated, find_refusal, run_isolated
from hindmost.run.isolated.requests import RequestTimes
from tests.stats.interference_worlds import Nanos, Seen, World, simulate

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


def late_wakings(on: Nanos, off: Nanos, until: int) -> list[list[int]]:
    """What a sentinel writes down: the last sign of life, when it was due, when it woke."""
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


def study(seen: Seen, rho: float, exact: bool) -> list[RunIsolated]:
    """Nine runs of it, by the sentinel or by exact knowledge of a spinning client's gaps."""
    random = np.random.default_rng(1)
    found = []
    for number in range(RUNS):
        begin = int(seen.scheduled[0]) + number * RUN_S * 1_000_000_000
        until = RUN_S * 1_000_000_000
        of = np.flatnonzero((seen.scheduled >= begin) & (seen.scheduled < begin + until))
        some = np.sort(random.choice(of, KEPT, replace=False))
        near = (seen.off > begin - 10**9) & (seen.on < begin + until)
        on, off = seen.on[near] - begin, seen.off[near] - begin
        scheduled = seen.scheduled[some] - begin
        kept = RequestTimes(scheduled, scheduled.copy(), seen.done[some] - begin)
        watched = {
            "cpu": 0,
            "from_ns": 0,
            "to_ns": 10**15,
            "period_ns": PERIOD_NS,
            "late_ns": LATE_NS,
            "missed": 0,
        }
        zero = 10**12
        late = [] if exact else [[zero + at for at in span] for span in late_wakings(on, off, until)]
        away: dict[str, Any] = {"idle_ns": 20_000, "call_ns": 200_000, "missed": 0, "spans_ns": []}
        if exact:
            away["spans_ns"] = list(zip(on.tolist(), off.tolist(), strict=True))
        result: Any = {
            "measured_from_ns": zero,
            "achieved_per_s": of.size / RUN_S,
            "host": {"throttled": None},
            "threads": [{"away": away}],
        }
        record = {
            "server_cpu_share": rho,
            "target": {"cpus": [0]},
            "sentinel": [watched | {"spans_ns": late}],
        }
        one = run_isolated(
            Path("run"), record, [result], PLAN, {}, [], lambda _folder, _index, kept=kept: kept
        )
        assert one is not None
        found.append(one)
    return found


@pytest.mark.parametrize(
    ("world", "exact"),
    [
        (World("exponential", 0.3, 0.02, 3.0), False),
        (World("exponential", 0.3, 0.1, 3.0), True),
        pytest.param(World("exponential", 0.3, 0.1, 3.0), False, marks=pytest.mark.nightly),
        pytest.param(World("lognormal", 0.5, 0.05, 3.0), False, marks=pytest.mark.nightly),
        pytest.param(World("lognormal", 0.5, 0.05, 3.0), True, marks=pytest.mark.nightly),
    ],
    ids=lambda one: one.name if isinstance(one, World) else "spin gaps" if one else "sentinel",
)
def test_ninety_seconds_know_the_undisturbed_quantiles_to_a_tenth(world: World, exact: bool) -> None:
    requests = int(RUNS * RUN_S * world.rho / 20e-6 * 1.01)
    seen = simulate(world, requests, seed=5)
    runs = study(seen, world.rho, exact)
    assert find_refusal(runs) is None
    assert all(run.refused is None for run in runs)
    truth = (seen.undisturbed - seen.scheduled) / 1e3
    raw = (seen.done - seen.scheduled) / 1e3
    for name, level in zip(PLAN.labels, PLAN.quantiles, strict=True):
        true = float(np.quantile(truth, level))
        isolated = float(np.mean([run.values[name] for run in runs]))
        assert abs(isolated / true - 1.0) < CLOSE, f"{name}: calm {isolated:.1f}, {true:.1f} without thefts"
    assert np.quantile(raw, 0.99) > 5.0 * np.quantile(truth, 0.99)
    taken = float(np.mean([run.taken for run in runs]))
    assert abs(taken / world.share - 1.0) < 0.25, (
        "begins are put half-way between the last sign and the due waking"
    )
