"""Calm latency in the answer: the same estimator as for latency, a verdict without what thefts did, refusals."""

import itertools
import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from evidence import LABELS, ten

from hindmost.plan import MeasurePlan
from hindmost.run.isolated import Refusal, RunIsolated
from hindmost.run.verdict import Reason
from hindmost.stats import Onsets
from hindmost.studies.measure.answer import _estimates
from hindmost.studies.measure.isolated import decides, describe_run, describe_valid, over_runs
from hindmost.studies.measure.text import format_figure

STEAL = Reason("steal-time", "inconclusive", "")
ESTIMATES = partial(_estimates, about="mean")
LATE = Reason("late-sends", "invalid", "", None, LABELS)
ERRORS = Reason("errors", "invalid", "")
REFUSED = RunIsolated(refused=Refusal("no-sentinel", "nobody watched", "root", {"cpu": 0}))


PLAN = MeasurePlan(target="memcached")
SEEDS = itertools.count()


@pytest.fixture(autouse=True)
def _same_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test draws the same thefts, whichever tests ran before it."""
    monkeypatch.setitem(globals(), "SEEDS", itertools.count())


def stolen_from(value: float = 40.0, **given: Any) -> RunIsolated:
    random = np.random.default_rng(next(SEEDS))
    onsets = Onsets(random.poisson(1.0, (20, 21)).astype(float), random.random((20, 21)))
    told = {"taken": 0.05, "counted": 0.8, "interruptions": 20, "spells": 20, "seen_us": 1_100.0}
    return RunIsolated(**{"values": dict.fromkeys(LABELS, value), "onsets": (onsets,), **told, **given})


def test_a_study_from_before_has_none():
    assert over_runs(ten(), [], ESTIMATES, PLAN) is None
    assert describe_run(ten()[0]) is None


def test_without_interruptions_isolated_latency_is_latency_to_the_bit_with_its_verdict():
    runs = ten()
    for run in runs:
        object.__setattr__(
            run, "isolated", RunIsolated(values=dict(run.values["latency"]), taken=0.0, counted=1.0)
        )
    found = over_runs(runs, [STEAL], ESTIMATES, PLAN)
    assert found is not None
    assert found["latency_us"] == ESTIMATES([run.values["latency"] for run in runs], [STEAL])
    assert (found["verdict"], found["interruptions"], found["interference_share"]) == ("inconclusive", 0, 0.0)


def test_what_interruptions_did_to_the_latency_is_not_held_against_the_isolated_one_and_all_else_is():
    runs = ten(isolated=stolen_from)
    found = over_runs(runs, [STEAL], ESTIMATES, PLAN)
    assert found is not None
    assert found["verdict"] == "valid"
    assert (found["latency_us"]["p99"]["value"], found["latency_us"]["p99"]["verdict"]) == (40.0, "valid")
    late = over_runs(ten(isolated=lambda: stolen_from(late=("p99",))), [LATE], ESTIMATES, PLAN)
    assert late is not None
    assert late["latency_us"]["p99"]["verdict"] == "invalid"
    assert late["latency_us"]["p50"]["verdict"] == "valid"
    spoilt = over_runs(runs, [STEAL, ERRORS], ESTIMATES, PLAN)
    assert spoilt is not None
    assert spoilt["verdict"] == "invalid"


def test_runs_that_refuse_are_counted_and_the_others_speak():
    isolated = iter([REFUSED] * 3 + [stolen_from(unsettled=("p99",)) for _ in range(7)])
    found = over_runs(ten(isolated=lambda: next(isolated)), [], ESTIMATES, PLAN)
    assert found is not None
    assert found["refused"] is None
    assert (found["runs"], found["of"], found["latency_us"]["p99"]["runs"]) == (7, 10, 7)
    assert (found["interruptions"], found["unsettled"], found["seen_us"]) == (140, ["p99"], 1_100.0)


@pytest.mark.parametrize(("lacking", "runs"), [(0, 10), (1, 9), (2, None)])
def test_a_percentile_that_runs_do_not_know_is_missing_and_never_infinite(lacking, runs):
    known = dict.fromkeys(LABELS, 40.0)
    some = {name: value for name, value in known.items() if name != "p99"}
    isolated = iter([stolen_from(values=some)] * lacking + [stolen_from(values=known)] * 10)
    found = over_runs(ten(isolated=lambda: next(isolated)), [], ESTIMATES, PLAN)
    assert found is not None
    assert found["latency_us"]["p50"]["runs"] == 10
    p99 = found["latency_us"].get("p99")
    assert (None if p99 is None else p99["runs"]) == runs
    if p99 is not None:
        assert (p99["value"], p99["censored_runs"]) == (40.0, 0)


@pytest.mark.parametrize(("said", "unsettled"), [(1, []), (2, ["p99"])])
def test_one_run_of_ten_that_changes_with_a_longer_wait_is_chance_and_two_are_told(said, unsettled):
    isolated = iter(
        [stolen_from(unsettled=("p99",)) for _ in range(said)] + [stolen_from() for _ in range(10)]
    )
    runs = ten(isolated=lambda: next(isolated))
    found = over_runs(runs, [], ESTIMATES, PLAN)
    assert found is not None
    assert found["unsettled"] == unsettled
    assert found["refused"] is None
    assert ("p99 " in describe_valid(found, MeasurePlan(target="memcached"))) == (not unsettled)


def test_an_isolated_figure_of_too_few_runs_for_an_interval_does_not_stand():
    found = over_runs(ten(isolated=stolen_from), [], ESTIMATES, PLAN)
    assert found is not None
    plan = MeasurePlan(target="memcached")
    assert "p50 40 µs [" in describe_valid(found, plan)
    assert "p99.9" in describe_valid(found, plan)
    for name in LABELS[1:]:
        found["latency_us"][name] |= {"low": None, "high": None}
    assert describe_valid(found, plan).startswith("p50 40 µs [40 µs, 40 µs], ")
    assert "p99" not in describe_valid(found, plan)
    assert "nan" not in format_figure("p99", found["latency_us"]["p99"])
    endless = found["latency_us"]["p99"] | {"low": 30.0, "high": math.inf}
    assert format_figure("p99", endless).startswith("p99 40 µs [30 µs, ")


def test_a_host_that_doctor_calls_too_noisy_is_no_reason_against_isolated_figures_and_its_clock_is():
    runs = ten(isolated=stolen_from)
    for code, verdict in (("noisy-host", "valid"), ("host-setting", "inconclusive")):
        found = over_runs(runs, [replace(STEAL, code=code)], ESTIMATES, PLAN)
        assert found is not None
        assert found["verdict"] == verdict


def test_where_all_runs_refuse_or_their_interruptions_follow_the_server_there_are_no_figures():
    none = over_runs(ten(isolated=lambda: REFUSED), [], ESTIMATES, PLAN)
    assert none is not None
    assert not none["latency_us"]
    assert none["verdict"] == "inconclusive"
    assert none["refused"] == {
        "code": "no-sentinel",
        "text": "nobody watched",
        "need": "root",
        "values": {"cpu": 0},
    }
    one = stolen_from()
    one.onsets[0].busy[:, 0] += 0.5
    follows = over_runs(ten(isolated=lambda: one), [], ESTIMATES, PLAN)
    assert follows is not None
    assert follows["refused"] is not None
    assert follows["refused"]["code"] == "dependent-interruptions"
    assert not follows["latency_us"]


@pytest.mark.parametrize(
    ("case", "decided"),
    [
        ("valid", True),
        ("raw", False),
        ("wide", False),
        ("no theft", False),
        ("unsettled", False),
        ("errors", False),
    ],
)
def test_isolated_latency_decides_where_every_percentile_of_it_is_valid(case, decided):
    values = itertools.cycle([20.0, 60.0] if case == "wide" else [40.0, 40.1])
    more = {"no theft": {"interruptions": 0}, "unsettled": {"unsettled": ("p99",)}}.get(case, {})
    runs = ten(isolated=lambda: stolen_from(next(values), **more))
    plan = PLAN.model_copy(update={"decide_on": "raw" if case == "raw" else "isolated"})
    found = over_runs(runs, [STEAL, ERRORS] if case == "errors" else [STEAL], ESTIMATES, plan)
    assert decides(found, plan) is decided
