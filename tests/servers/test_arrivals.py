"""Laws of arrivals, asked for and found back: in due times, and in what the server logged."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from measuring import assert_counts_close, measure

from hindmost.report.measure import view

LOAD = ("--clients", "1", "--threads", "2", "--connections", "4", "--rate", "250", "--duration", "6s")
ONCE = ("--runs", "1", "--warmup", "1s", "--quantiles", "50")


@pytest.mark.parametrize(
    ("law", "c2", "spread"), [("gamma:shape=4", 0.25, 2.11), ("hyperexponential:c2=4", 4.0, 8.23)]
)
def test_a_server_meets_the_gaps_that_were_asked_for(
    law: str, c2: float, spread: float, tmp_path: Path
) -> None:
    """`spread`: the law's 95 % quantile over its median; 4.3 of exponential gaps."""
    # A host that keeps the client from running lets gaps arrive as bursts: another attempt, of which one is enough.
    found = [gaps_met(law, c2, tmp_path / "0")]
    while not 0.75 * spread < found[-1] < 1.33 * spread and len(found) < 3:
        found.append(gaps_met(law, c2, tmp_path / str(len(found))))
    assert 0.75 * spread < found[-1] < 1.33 * spread, found


def gaps_met(law: str, c2: float, folder: Path) -> float:
    """The 95 % quantile of gaps over their median, as the server logged them; due times follow the law in any case."""
    folder.mkdir()
    log = folder / "log.csv"
    answer = measure(f"synth?log={log}", folder / "study", *LOAD, *ONCE, "--arrivals", law)
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_close(answer.result)
    (instance,) = answer.result["runs"][0]["instances"]
    due = instance["arrivals"]["due"]["c2"]
    # Two workers take turns: the law's C2 over two, whatever the host does.
    assert due["asked"] == pytest.approx(c2 / 2.0)
    assert abs(due["value"] - due["asked"]) < 5.0 * due["error"] + 0.02
    assert "due times do not follow" not in answer.err
    arrivals = pl.read_csv(log)["arrival_ns"].sort().cast(pl.Int64)
    # The measurement is the last of what it logged; keys were stored before.
    gaps = arrivals.tail(answer.result["counts"]["done"]).diff().drop_nulls()
    # 1,500 gaps of 4 ms: a host's pauses are few of them, however long, and move no quantile far.
    return float(gaps.quantile(0.95) / max(gaps.median(), 1.0))


def test_a_schedule_has_its_integral_due_in_the_measurement(tmp_path: Path) -> None:
    asked = ("--arrivals", "deterministic", "--schedule", "steps:1,3,1,period=3s")
    answer = measure("synth", tmp_path / "study", *LOAD, *ONCE, *asked)
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_close(answer.result)
    assert abs(answer.result["counts"]["due"] - 1_500) <= 4, "two periods of the mean rate"
    (instance,) = answer.result["runs"][0]["instances"]
    # A second at 0.6, 1.8 and 0.6 of 12.5 due by worker in 100 ms: variance over mean 4.
    assert instance["arrivals"]["due"]["dispersion"]["100ms"] == pytest.approx(4.0, rel=0.15)


def test_a_run_ends_with_its_trace_and_says_so(tmp_path: Path) -> None:
    times = tmp_path / "times.csv"
    times.write_text("".join(f"{0.004 * at:.3f}\n" for at in range(750)))
    asked = ("--arrivals", f"trace:{times},end=stop", "--duration", "6s", "--warmup", "1s")
    answer = measure("synth", tmp_path / "study", *LOAD[:-4], *asked, "--runs", "1", "--quantiles", "50")
    assert answer.code in (0, 4, 6), answer.err
    assert_counts_close(answer.result)
    # 3 s of moments, less 1 s of warm-up, the calibration, and .5 s for what lies between.
    plan = answer.result["plan"]
    left_s = 1.5 - plan["calibration_s"]
    assert (plan["duration_s"], plan["asked_duration_s"]) == (pytest.approx(left_s), 6.0)
    # A busy host may need longer for what lies between: then the trace is over, and does not begin again.
    assert 200 * left_s < answer.result["counts"]["due"] <= 250 * left_s + 2
    assert view.ended(answer.result) == f"each run ended with its trace: {left_s:.3g} s of 6 s are measured"
