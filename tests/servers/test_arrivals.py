"""Arrivals that follow a schedule or a trace: the number of requests matches the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from measuring import assert_counts_add_up, measure

LOAD = ("--clients", "1", "--threads", "2", "--connections", "4", "--runs", "1", "--quantiles", "50")


def test_a_schedule_sends_its_integral_and_a_run_ends_with_its_trace(tmp_path: Path) -> None:
    few = tmp_path / "few.json"
    few.write_text('{"kind": "key-value", "keys": 50}')
    arrivals = ("--arrivals", "deterministic", "--schedule", "steps:1,3,1,period=900ms", "--warmup", "0.3s")
    load = ("--rate", "250", "--duration", "1.8s", "--workload", few)
    answer = measure("synth", tmp_path / "schedule", *LOAD, *arrivals, *load)
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    assert abs(answer.result["counts"]["scheduled"] - 450) <= 4, "two periods of the mean rate"
    (client,) = answer.result["runs"][0]["clients"]
    # Per worker and 100 ms, 12.5 requests are scheduled, times 0.6, 1.8 and 0.6 for a third each: variance/mean is 4.
    assert client["arrivals"]["scheduled"]["dispersion"]["100ms"] == pytest.approx(4.0, rel=0.3)

    times = tmp_path / "times.csv"
    times.write_text("".join(f"{0.004 * index:.3f}\n" for index in range(500)))
    arrivals = ("--arrivals", f"trace:{times},end=stop", "--duration", "6s", "--warmup", "0.5s")
    answer = measure("synth", tmp_path / "trace", *LOAD, *arrivals, "--workload", few)
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_add_up(answer.result)
    # A trace of 2 s, minus 0.5 s of warm-up, the calibration, and .5 s for the time between the phases.
    plan = answer.result["plan"]
    rest_s = 1.0 - plan["calibration_s"]
    assert (plan["duration_s"], plan["asked_duration_s"]) == (pytest.approx(rest_s), 6.0)
    # A busy host may need longer between the phases. Then the trace ends early, and does not start again.
    assert 0 < answer.result["counts"]["scheduled"] <= 250 * rest_s + 2
