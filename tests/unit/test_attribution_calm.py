"""Which latency an attribution uses: isolated under interference, measured where that is refused."""

from __future__ import annotations

import numpy as np
import pytest

from hindmost.notes import Note
from hindmost.run.calm import Refusal, RunCalm
from hindmost.stats import Interruptions, Onsets, Service
from hindmost.studies.attribution.cells import Readings, RunValues, by_calm

MEASURED = {"p50": 60.0, "p99": 9000.0, "mean": 400.0}
CALM = {"p50": 50.0, "p99": 200.0}
STOLEN = Note("steal-time", "the hypervisor took 6.10 %")


def measured(calm, unsound=STOLEN):
    return RunValues(
        1, dict(MEASURED), dict.fromkeys(MEASURED, 1.0), 100, 0.3, 1.0, unsound=unsound, calm=calm
    )


def thefts(values=CALM, count=40, **more):
    return RunCalm(values=dict(values), thefts=count, spells=count, taken=0.06, counted=0.9, **more)


def test_a_run_that_was_stolen_from_counts_by_its_calm_latency():
    found = by_calm(measured(thefts()), host=True)
    assert found.values == {"p50": 50.0, "p99": 200.0, "mean": 400.0}
    assert found.raw == MEASURED
    assert found.unsound is None


def test_what_the_client_did_to_itself_is_not_excused_by_thefts():
    assert by_calm(measured(thefts()), host=False).unsound == STOLEN


@pytest.mark.parametrize(
    "calm", [None, RunCalm(refused=Refusal("counted", "7.0% of requests were due in calm time", "calm"))]
)
def test_where_thefts_are_not_known_or_refused_what_was_measured_stands(calm):
    found = by_calm(measured(calm), host=True)
    assert (found.values, found.raw, found.unsound) == (MEASURED, {}, STOLEN)


def test_without_a_theft_nothing_changes():
    run = measured(RunCalm(values=dict(MEASURED)), unsound=None)
    assert by_calm(run, host=False) is run


def onsets():
    """Twenty thefts of 3 ms in a run at half load, which do not look at the server."""
    g = np.random.default_rng(1)
    due = np.cumsum(g.exponential(40_000.0, 50_000)).astype(np.int64)
    done = due + g.exponential(20_000.0, due.size).astype(np.int64)
    at = np.linspace(due[500], due[-500], 20).astype(np.int64)
    return Onsets.of(due, done, Interruptions.of(at, at + 3_000_000), Service(0.5, 20_000.0))


def test_all_runs_together_may_refuse_calm_latency():
    readings = Readings()
    few = thefts(count=2)
    readings.keep(("cell", 1), measured(few), host=True)
    assert readings.refused is None
    readings.judge([readings.lookup(("cell", 1))])
    assert readings.refused is not None
    assert readings.refused.code == "few-quiet-spells"
    assert readings.lookup(("cell", 1)).values == MEASURED
    many = Readings()
    for number in range(3):
        many.keep(("cell", number), measured(thefts(onsets=(onsets(),))), host=True)
    many.judge([many.lookup(("cell", number)) for number in range(3)])
    assert many.refused is None
    assert many.lookup(("cell", 1)).values["p99"] == 200.0
