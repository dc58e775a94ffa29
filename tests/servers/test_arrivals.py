"""Arrivals that follow a schedule or a trace: as many requests are due as the command line says."""

from __future__ import annotations

from pathlib import Path

import pytest
from measuring import assert_counts_add_up, measure

LOAD = ("--clients", "1", "--threads", "2", "--connections", "4", "--runs", "1", "--quantiles", "50")


def test_a_schedule_has_its_integral_due_and_a_run_ends_with_its_trace(tmp_path: Path) -> None:
    few = tmp_path / "few.json"
    few.write_text('{"kind": "key-value", "keys": 50}')
    asked = ("--arrivals", "deterministic", "--schedule", "steps:1,3,1,period=900ms", "--warmup", "0.3s")
    words = ("--rate", "250", "--duration", "1.8s", "--workload", few)
    answer = measure("synth", tmp_path / "schedule", *LOAD, *asked, *words)
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    assert abs(answer.result["counts"]["scheduled"] - 450) <= 4, "two periods of the mean rate"
    (client,) = answer.result["runs"][0]["clients"]
    # A third at 0.6, 1.8 and 0.6 of 12.5 due by worker in 100 ms: variance over mean 4.
    assert client["arrivals"]["scheduled"]["dispersion"]["100ms"] == pytest.approx(4.0, rel=0.3)

    times = tmp_path / "times.csv"
    times.write_text("".join(f"{0.004 * at:.3f}\n" for at in range(500)))
    asked = ("--arrivals", f"trace:{times},end=stop", "--duration", "6s", "--warmup", "0.5s")
    answer = measure("synth", tmp_path / "trace", *LOAD, *asked, "--workload", few)
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    # 2 s of moments, less 0.5 s of warm-up, the calibration, and .5 s for what lies between.
    plan = answer.result["plan"]
    left_s = 1.0 - plan["calibration_s"]
    assert (plan["duration_s"], plan["asked_duration_s"]) == (pytest.approx(left_s), 6.0)
    # A busy host may need longer for what lies between: then the trace is over, and does not begin again.
    assert 0 < answer.result["counts"]["scheduled"] <= 250 * left_s + 2
