"""Isolated latency in the answer: estimates, verdicts without the effects of interference, and refusals."""

import itertools
import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from evidence import LABELS, ten
from msgspec import structs

from hindmost.commands.measure.answer import _estimates
from hindmost.commands.measure.isolated import decides, describe_run, describe_valid, over_runs
from hindmost.commands.measure.text import format_figure
from hindmost.core.plan import MeasurePlan
from hindmost.core.run.isolated import Refusal, RunIsolated
from hindmost.core.run.verdict import Reason
from hindmost.core.store.measure import IsolatedRefusal
from hindmost.stats import Onsets

STEAL = Reason("steal-time", "inconclusive", "")
ESTIMATES = partial(_estimates, about="mean")
LATE = Reason("late-sends", "invalid", "", None, LABELS)
ERRORS = Reason("errors", "invalid", "")
REFUSED = RunIsolated(refused=Refusal("no-sentinel", "no thread watched", "root", {"cpu": 0}))


PLAN = MeasurePlan(target="memcached")
SEEDS = itertools.count()


@pytest.fixture(autouse=True)
def repeat_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every test draw the same interruptions, independent of test order."""
    monkeypatch.setitem(globals(), "SEEDS", itertools.count())


def make_isolated(value: float = 40.0, **changes: Any) -> RunIsolated:
    random = np.random.default_rng(next(SEEDS))
    onsets = Onsets(random.poisson(1.0, (20, 21)).astype(float), random.random((20, 21)))
    fields = {"taken": 0.05, "counted": 0.8, "interruptions": 20, "spells": 20, "seen_us": 1_100.0}
    return RunIsolated(**{"values": dict.fromkeys(LABELS, value), "onsets": (onsets,), **fields, **changes})


def test_an_early_study_has_no_isolated_latency():
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
    assert found.latency_us == ESTIMATES([run.values["latency"] for run in runs], [STEAL])
    assert (found.verdict, found.interruptions, found.interference_share) == ("inconclusive", 0, 0.0)


def test_steal_time_does_not_invalidate_isolated_latency_but_other_reasons_do():
    runs = ten(isolated=make_isolated)
    found = over_runs(runs, [STEAL], ESTIMATES, PLAN)
    assert found is not None
    assert found.verdict == "valid"
    assert (found.latency_us["p99"].value, found.latency_us["p99"].verdict) == (40.0, "valid")
    late = over_runs(ten(isolated=lambda: make_isolated(late=("p99",))), [LATE], ESTIMATES, PLAN)
    assert late is not None
    assert late.latency_us["p99"].verdict == "invalid"
    assert late.latency_us["p50"].verdict == "valid"
    with_errors = over_runs(runs, [STEAL, ERRORS], ESTIMATES, PLAN)
    assert with_errors is not None
    assert with_errors.verdict == "invalid"


def test_refused_runs_are_counted_and_the_others_are_used():
    isolated = iter([REFUSED] * 3 + [make_isolated(unsettled=("p99",)) for _ in range(7)])
    found = over_runs(ten(isolated=lambda: next(isolated)), [], ESTIMATES, PLAN)
    assert found is not None
    assert found.refused is None
    assert (found.runs, found.of, found.latency_us["p99"].runs) == (7, 10, 7)
    assert (found.interruptions, found.unsettled, found.seen_us) == (140, ["p99"], 1_100.0)


@pytest.mark.parametrize(("lacking", "runs"), [(0, 10), (1, 9), (2, None)])
def test_a_percentile_that_runs_lack_is_missing_and_never_infinite(lacking, runs):
    all_values = dict.fromkeys(LABELS, 40.0)
    without_p99 = {name: value for name, value in all_values.items() if name != "p99"}
    isolated = iter([make_isolated(values=without_p99)] * lacking + [make_isolated(values=all_values)] * 10)
    found = over_runs(ten(isolated=lambda: next(isolated)), [], ESTIMATES, PLAN)
    assert found is not None
    assert found.latency_us["p50"].runs == 10
    p99 = found.latency_us.get("p99")
    assert (None if p99 is None else p99.runs) == runs
    if p99 is not None:
        assert (p99.value, p99.censored_runs) == (40.0, 0)


@pytest.mark.parametrize(("unsettled_runs", "unsettled"), [(1, []), (2, ["p99"])])
def test_two_unsettled_runs_of_ten_are_reported_and_one_is_not(unsettled_runs, unsettled):
    isolated = iter(
        [make_isolated(unsettled=("p99",)) for _ in range(unsettled_runs)]
        + [make_isolated() for _ in range(10)]
    )
    runs = ten(isolated=lambda: next(isolated))
    found = over_runs(runs, [], ESTIMATES, PLAN)
    assert found is not None
    assert found.unsettled == unsettled
    assert found.refused is None
    assert ("p99 " in describe_valid(found, MeasurePlan(target="memcached"))) == (not unsettled)


def test_an_isolated_figure_without_an_interval_is_left_out():
    found = over_runs(ten(isolated=make_isolated), [], ESTIMATES, PLAN)
    assert found is not None
    plan = MeasurePlan(target="memcached")
    assert "p50 40 µs [" in describe_valid(found, plan)
    assert "p99.9" in describe_valid(found, plan)
    for name in LABELS[1:]:
        found.latency_us[name] = structs.replace(found.latency_us[name], low=None, high=None)
    assert describe_valid(found, plan).startswith("p50 40 µs [40 µs, 40 µs], ")
    assert "p99" not in describe_valid(found, plan)
    assert "nan" not in format_figure("p99", found.latency_us["p99"])
    endless = structs.replace(found.latency_us["p99"], low=30.0, high=math.inf)
    assert format_figure("p99", endless).startswith("p99 40 µs [30 µs, ")


def test_a_noisy_host_does_not_affect_isolated_figures_but_a_host_setting_does():
    runs = ten(isolated=make_isolated)
    for code, verdict in (("noisy-host", "valid"), ("host-setting", "inconclusive")):
        found = over_runs(runs, [replace(STEAL, code=code)], ESTIMATES, PLAN)
        assert found is not None
        assert found.verdict == verdict


def test_refused_runs_and_dependent_interruptions_give_no_figures():
    none = over_runs(ten(isolated=lambda: REFUSED), [], ESTIMATES, PLAN)
    assert none is not None
    assert not none.latency_us
    assert none.verdict == "inconclusive"
    assert none.refused == IsolatedRefusal(
        code="no-sentinel", text="no thread watched", need="root", values={"cpu": 0}
    )
    dependent = make_isolated()
    dependent.onsets[0].busy[:, 0] += 0.5
    follows = over_runs(ten(isolated=lambda: dependent), [], ESTIMATES, PLAN)
    assert follows is not None
    assert follows.refused is not None
    assert follows.refused.code == "dependent-interruptions"
    assert not follows.latency_us


@pytest.mark.parametrize(
    ("case", "decided"),
    [
        ("valid", True),
        ("raw", False),
        ("wide", False),
        ("no interruption", False),
        ("unsettled", False),
        ("errors", False),
    ],
)
def test_isolated_latency_decides_if_all_its_percentiles_are_valid(case, decided):
    values = itertools.cycle([20.0, 60.0] if case == "wide" else [40.0, 40.1])
    more = {"no interruption": {"interruptions": 0}, "unsettled": {"unsettled": ("p99",)}}.get(case, {})
    runs = ten(isolated=lambda: make_isolated(next(values), **more))
    plan = PLAN.model_copy(update={"decide_on": "raw" if case == "raw" else "isolated"})
    found = over_runs(runs, [STEAL, ERRORS] if case == "errors" else [STEAL], ESTIMATES, plan)
    assert decides(found, plan) is decided
