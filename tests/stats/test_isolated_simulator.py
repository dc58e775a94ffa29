"""Isolated latency against the engine's simulator: disturbances of scope `server` at known times are interruptions.

The truth is the same clone with the same arrivals and random numbers, but without interruptions. This covers servers with
several threads, which `interference_worlds` does not. Bounds: 5 standard errors of the interval within a run.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from hindmost import _engine
from hindmost.commands.clone.simulation import Design
from hindmost.stats import Interruptions, IsolatedLatency, Service, isolated_latency

INTERRUPTION_US = 2_000.0


def run(
    arrivals_us: np.ndarray, threads: int, law: dict[str, Any], interruptions_us: list[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Simulate; returns scheduled and completion times in ns."""
    interference = {
        "name": "interference",
        "scope": "server",
        "length": {"kind": "deterministic", "us": INTERRUPTION_US},
        "when": {"kind": "once", "at_us": interruptions_us},
    }
    clone = {
        "schema": "hindmost.clone/1",
        "name": "queue",
        "threads": threads,
        "service": [{"law": law}],
        "disturbances": [interference] if interruptions_us else [],
    }
    design = Design(requests=arrivals_us.size, warmup=0, arrivals=arrivals_us.tolist(), backlog=True)
    columns = dict(_engine.simulate_columns(json.dumps(clone), design.text([{}])))
    begin, end = (np.frombuffer(columns[name]) for name in ("arrival_ns", "finish_ns"))
    return np.rint(begin).astype(np.int64), np.rint(end).astype(np.int64)


@pytest.mark.parametrize(("threads", "rho"), [(1, 0.5), (4, 0.7)])
def test_isolated_quantiles_equal_those_of_the_undisturbed_clone(threads: int, rho: float) -> None:
    random = np.random.default_rng(threads)
    mean_us, requests = 40.0, 130_000
    arrivals = np.cumsum(random.exponential(mean_us / (rho * threads), requests))
    # 5 % of the time, without overlap, so that each has its full length.
    interruptions = np.cumsum(
        INTERRUPTION_US
        + random.exponential(19.0 * INTERRUPTION_US, int(arrivals[-1] / (20.0 * INTERRUPTION_US)))
    )
    law = {"kind": "exponential", "mean_us": mean_us}
    scheduled, done = run(arrivals, threads, law, interruptions.tolist())
    _, alone = run(arrivals, threads, law, [])
    on = np.rint(1e3 * interruptions).astype(np.int64)
    result = isolated_latency(
        scheduled,
        done,
        Interruptions.from_times(on, on + int(1e3 * INTERRUPTION_US)),
        Service(rho, 1e3 * mean_us, 1.0, threads),
        (0.5, 0.95, 0.99),
    )
    assert isinstance(result, IsolatedLatency)
    true = np.quantile(alone - scheduled, [quantile.level for quantile in result.quantiles])
    raw = np.quantile(done - scheduled, [quantile.level for quantile in result.quantiles])
    for quantile, expected in zip(result.quantiles, true, strict=True):
        estimate = quantile.estimate
        assert abs(estimate.value - expected) <= 2.5 * max(estimate.half_width, 0.01 * expected)
    assert raw[2] > 4.0 * true[2]
