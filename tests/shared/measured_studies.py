"""Folders of stored studies with figures that a test chooses; nothing is run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from run_records import run_document

NAMES = ("p50", "p99")
PLAN = {
    "target": "memcached",
    "loop": "open",
    "rate_per_s": 5_000.0,
    "arrivals": "poisson",
    "clients": 1,
    "connections": 16,
    "duration_s": 10.0,
    "warmup": 2.0,
    "aggregate": "mean",
    "workload": {"kind": "key-value"},
}
FACTS = {"hostname": "one", "cpu_model": "a processor", "cpus_online": 2, "kernel": "6.1"}


def runs_of(seed: int, factor: float = 1.0, runs: int = 10, scatter: float = 0.01) -> dict[str, list[float]]:
    """Figures of runs with a relative standard deviation of `scatter`."""
    random = np.random.default_rng(seed)
    medians = {"p50": 100.0, "p99": 400.0}
    return {
        name: [float(us) for us in factor * median * np.exp(random.normal(0.0, scatter, runs))]
        for name, median in medians.items()
    }


def write_study(
    folder: Path,
    values: Mapping[str, Sequence[float | None]],
    *,
    plan: Mapping[str, Any] | None = None,
    isolated: Mapping[str, Sequence[float]] | None = None,
    started: str = "2026-01-02T03:04:05Z",
    facts: Mapping[str, Any] | None = None,
    excluded: Sequence[int] = (),
    timeouts: int = 0,
    **result: Any,
) -> Path:
    """Write a study with its result; `result` replaces parts of that."""
    count = len(next(iter(values.values())))
    runs = [
        {
            "run": number,
            "started": started,
            "excluded": "stolen" if number in excluded else None,
            "latency_us": {name: column[number - 1] for name, column in values.items()},
            "counts": {"scheduled": 1_000, "completed": 1_000 - timeouts, "timeouts": timeouts, "unsent": 0},
            "isolated": None
            if isolated is None
            else {"isolated_us": {name: {"value": column[number - 1]} for name, column in isolated.items()}},
        }
        for number in range(1, count + 1)
    ]
    for run in runs:
        place = folder / "runs" / f"{run['run']:04d}"
        place.mkdir(parents=True, exist_ok=True)
        (place / "run.json").write_text(json.dumps(run_document()))
    manifest = {
        "schema": "hindmost.study/1",
        "kind": "measure",
        "created": started,
        "version": "0.1.0",
        "plan": {**PLAN, **(plan or {})},
        "host": {"facts": {**FACTS, **(facts or {})}, "findings": []},
    }
    document = {
        "schema": "hindmost.measure/2",
        "version": "0.1.0",
        "created": started,
        "verdict": "valid",
        "headline": "",
        "reasons": [],
        "study": folder.name,
        "target": {"name": "memcached", "protocol": "memcached", "address": "127.0.0.1:1", "managed": True},
        "latency_us": {name: _estimate(column) for name, column in values.items()},
        "isolated": None
        if isolated is None
        else {"latency_us": {name: _estimate(c) for name, c in isolated.items()}},
        "saturation": None,
        "distributions": {"latency": {"q": [0.0, 0.5, 0.99], "us": [80.0, *_values(values)]}},
        "runs": runs,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "result.json").write_text(json.dumps({**document, **result}))
    return folder


def _values(values: Mapping[str, Sequence[float | None]]) -> list[float | None]:
    return [_estimate(values[name])["value"] for name in NAMES]


def _estimate(column: Sequence[float | None]) -> dict[str, Any]:
    completed = sorted(us for us in column if us is not None)
    censored = len(column) - len(completed)
    return {
        "value": completed[len(completed) // 2] if len(completed) > censored else None,
        "low": completed[0] if completed else None,
        "high": None if censored else completed[-1],
        "runs": len(column),
        "censored_runs": censored,
        "verdict": "valid",
    }
