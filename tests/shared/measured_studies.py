"""Folders of stored studies with figures that a test chooses; nothing is run."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from run_records import run_document

from tests.golden.sample_results import counts, one_run, valid

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


NOTHING = {
    "unsettled": [],
    "interference_share": None,
    "counted_share": None,
    "interruptions": 0,
    "seen_us": None,
    "sources": [],
    "refused": None,
}
"""Isolated latency without its figures."""


def runs_of(seed: int, factor: float = 1.0, runs: int = 10, scatter: float = 0.01) -> dict[str, list[float]]:
    """Figures of runs with a relative standard deviation of `scatter`."""
    rng = np.random.default_rng(seed)
    medians = {"p50": 100.0, "p99": 400.0}
    return {
        name: [float(us) for us in factor * median * np.exp(rng.normal(0.0, scatter, runs))]
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
            **one_run(random.Random(1), number, 1, 0.3, 5_000.0),
            "started": started,
            "excluded": "stolen" if number in excluded else None,
            "latency_us": {name: column[number - 1] for name, column in values.items()},
            "counts": counts(1_000, timeouts=timeouts) | {"misses": 0},
            "isolated": None
            if isolated is None
            else {
                **NOTHING,
                "spells": 0,
                "isolated_us": {name: _value(column[number - 1]) for name, column in isolated.items()},
            },
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
        **valid(1, 1),
        "created": started,
        "headline": "",
        "study": folder.name,
        "target": {"name": "memcached", "protocol": "memcached", "address": "127.0.0.1:1", "managed": True},
        "latency_us": {name: _estimate(column) for name, column in values.items()},
        "isolated": None
        if isolated is None
        else {
            **NOTHING,
            "latency_us": {name: _estimate(c) for name, c in isolated.items()},
            "verdict": "valid",
            "runs": count,
            "of": count,
        },
        "distributions": {"latency": {"q": [0.0, 0.5, 0.99], "us": [80.0, *_values(values)]}},
        "runs": runs,
    }
    del document["over_runs"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "result.json").write_text(json.dumps({**document, **result}))
    return folder


def _values(values: Mapping[str, Sequence[float | None]]) -> list[float | None]:
    return [_estimate(values[name])["value"] for name in NAMES]


def _value(us: float) -> dict[str, float | None]:
    return {"value": us, "low": None, "high": None}


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
