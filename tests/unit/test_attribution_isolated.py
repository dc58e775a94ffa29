"""Which latency an attribution uses: isolated latency under interference, or measured latency if that is refused."""

from __future__ import annotations

import numpy as np
import pytest

from hindmost.commands.attribute.cells import Readings, RunValues, by_isolated
from hindmost.core.notes import Note
from hindmost.core.run.isolated import Refusal, RunIsolated
from hindmost.stats import Interruptions, Onsets, Service

MEASURED = {"p50": 60.0, "p99": 9000.0, "mean": 400.0}
ISOLATED = {"p50": 50.0, "p99": 200.0}
STEAL = Note("steal-time", "the hypervisor took 6.10 %")


def run_with(isolated, excluded=STEAL):
    return RunValues(
        1, dict(MEASURED), dict.fromkeys(MEASURED, 1.0), 100, 0.3, 1.0, excluded=excluded, isolated=isolated
    )


def isolated_with(values=ISOLATED, count=40, **more):
    return RunIsolated(
        values=dict(values), interruptions=count, spells=count, taken=0.06, counted=0.9, **more
    )


def test_a_run_with_steal_time_counts_by_its_isolated_latency():
    run = by_isolated(run_with(isolated_with()), host=True)
    assert run.values == {"p50": 50.0, "p99": 200.0, "mean": 400.0}
    assert run.raw == MEASURED
    assert run.excluded is None


def test_an_overloaded_client_is_not_excused_by_interruptions():
    assert by_isolated(run_with(isolated_with()), host=False).excluded == STEAL


@pytest.mark.parametrize(
    "isolated",
    [
        None,
        RunIsolated(
            refused=Refusal("counted", "7.0% of requests were scheduled outside interruptions", "isolated")
        ),
    ],
)
def test_without_isolated_latency_the_measured_latency_is_used(isolated):
    run = by_isolated(run_with(isolated), host=True)
    assert (run.values, run.raw, run.excluded) == (MEASURED, {}, STEAL)


def test_a_run_without_an_interruption_is_unchanged():
    run = run_with(RunIsolated(values=dict(MEASURED)), excluded=None)
    assert by_isolated(run, host=False) is run


def onsets():
    """Twenty interruptions of 3 ms in a run at half load, independent of the server's state."""
    g = np.random.default_rng(1)
    scheduled = np.cumsum(g.exponential(40_000.0, 50_000)).astype(np.int64)
    completed = scheduled + g.exponential(20_000.0, scheduled.size).astype(np.int64)
    at = np.linspace(scheduled[500], scheduled[-500], 20).astype(np.int64)
    return Onsets.from_requests(
        scheduled, completed, Interruptions.from_times(at, at + 3_000_000), Service(0.5, 20_000.0)
    )


def test_isolated_latency_can_be_refused_for_all_runs_together():
    readings = Readings()
    few = isolated_with(count=2)
    readings.keep(("cell", 1), run_with(few), host=True)
    assert readings.refused is None
    readings.judge([readings.lookup(("cell", 1))])
    assert readings.refused is not None
    assert readings.refused.code == "few-quiet-spells"
    assert readings.lookup(("cell", 1)).values == MEASURED
    many = Readings()
    for number in range(3):
        many.keep(("cell", number), run_with(isolated_with(onsets=(onsets(),))), host=True)
    many.judge([many.lookup(("cell", number)) for number in range(3)])
    assert many.refused is None
    assert many.lookup(("cell", 1)).values["p99"] == 200.0
