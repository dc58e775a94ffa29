"""Which latency an attribution uses: isolated under interference, measured where that is refused."""

from __future__ import annotations

import numpy as np
import pytest

from hindmost.notes import Note
from hindmost.run.isolated import Refusal, RunIsolated
from hindmost.stats import Interruptions, Onsets, Service
from hindmost.studies.attribution.cells import Readings, RunValues, by_isolated

MEASURED = {"p50": 60.0, "p99": 9000.0, "mean": 400.0}
ISOLATED = {"p50": 50.0, "p99": 200.0}
STOLEN = Note("steal-time", "the hypervisor took 6.10 %")


def measured(isolated, excluded=STOLEN):
    return RunValues(
        1, dict(MEASURED), dict.fromkeys(MEASURED, 1.0), 100, 0.3, 1.0, excluded=excluded, isolated=isolated
    )


def interruptions(values=ISOLATED, count=40, **more):
    return RunIsolated(
        values=dict(values), interruptions=count, spells=count, taken=0.06, counted=0.9, **more
    )


def test_a_run_that_was_stolen_from_counts_by_its_isolated_latency():
    found = by_isolated(measured(interruptions()), host=True)
    assert found.values == {"p50": 50.0, "p99": 200.0, "mean": 400.0}
    assert found.raw == MEASURED
    assert found.excluded is None


def test_what_the_client_did_to_itself_is_not_excused_by_interruptions():
    assert by_isolated(measured(interruptions()), host=False).excluded == STOLEN


@pytest.mark.parametrize(
    "isolated",
    [None, RunIsolated(refused=Refusal("counted", "7.0% of requests were due in calm time", "isolated"))],
)
def test_where_interruptions_are_not_known_or_refused_what_was_measured_stands(isolated):
    found = by_isolated(measured(isolated), host=True)
    assert (found.values, found.raw, found.excluded) == (MEASURED, {}, STOLEN)


def test_without_an_interruption_nothing_changes():
    run = measured(RunIsolated(values=dict(MEASURED)), excluded=None)
    assert by_isolated(run, host=False) is run


def onsets():
    """Twenty thefts of 3 ms in a run at half load, which do not look at the server."""
    g = np.random.default_rng(1)
    scheduled = np.cumsum(g.exponential(40_000.0, 50_000)).astype(np.int64)
    done = scheduled + g.exponential(20_000.0, scheduled.size).astype(np.int64)
    at = np.linspace(scheduled[500], scheduled[-500], 20).astype(np.int64)
    return Onsets.from_requests(
        scheduled, done, Interruptions.from_times(at, at + 3_000_000), Service(0.5, 20_000.0)
    )


def test_all_runs_together_may_refuse_isolated_latency():
    readings = Readings()
    few = interruptions(count=2)
    readings.keep(("cell", 1), measured(few), host=True)
    assert readings.refused is None
    readings.judge([readings.lookup(("cell", 1))])
    assert readings.refused is not None
    assert readings.refused.code == "few-quiet-spells"
    assert readings.lookup(("cell", 1)).values == MEASURED
    many = Readings()
    for number in range(3):
        many.keep(("cell", number), measured(interruptions(onsets=(onsets(),))), host=True)
    many.judge([many.lookup(("cell", number)) for number in range(3)])
    assert many.refused is None
    assert many.lookup(("cell", 1)).values["p99"] == 200.0
