"""`MeasureRequest` holds the options of ``hindmost measure`` for all interfaces."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from messages import raises
from rows import each_row

from hindmost.commands.measure.cli import measure
from hindmost.core.run.request import OPTIONS, MeasureRequest
from hindmost.errors import UsageError


def test_the_command_has_an_option_for_each_field_with_its_default():
    options = inspect.signature(measure).parameters
    assert set(OPTIONS) < set(options)
    assert {name: options[name].default for name in OPTIONS} == vars(MeasureRequest())


def test_python_and_the_command_line_make_the_same_plan(monkeypatch):
    from hindmost.core.study import begin, kind

    plans = []

    class StudyStarted(Exception):
        """Ends the call before a study begins."""

    def start_study(plan, out, name, **more):
        plans.append(plan)
        raise StudyStarted

    monkeypatch.setattr(begin, "begin", start_study)
    monkeypatch.setattr(kind, "carry_out", None)
    with pytest.raises(StudyStarted):
        measure("synth", rate="5k", quantiles="50,99", runs="3..5", precision="2%")
    request = MeasureRequest(target="synth", rate="5k", quantiles="50,99", runs="3..5", precision="2%")
    assert plans == [request.plan()]


@pytest.mark.parametrize(
    ("target", "rate"),
    [
        ("synth", 10_000.0),
        ("memcached://127.0.0.1", 10_000.0),
        ("http://127.0.0.1/", 100.0),
        ("grpc://127.0.0.1:1/a.B/C", 100.0),
    ],
)
def test_a_running_web_server_gets_a_low_default_rate(target, rate):
    assert MeasureRequest(target=target).plan().rate_per_s == rate
    assert MeasureRequest(target=target, rate="7k").plan().rate_per_s == 7_000.0


@each_row(
    ("options", "code", "fields"),
    [
        ({}, "missing-argument", {"argument": "TARGET"}),
        (
            {"target": "synth", "arrivals": "exponentail"},
            "unknown-name",
            {"option": "--arrivals", "name": "exponentail"},
        ),
        ({"target": "synth", "rate": 5_000}, "bad-value", {"option": "--rate", "value": 5_000}),
        ({"target": "synth", "clients": "4"}, "bad-value", {"option": "--clients", "value": "4"}),
        ({"target": "synth", "clients": 0}, "bad-value", {"option": "--clients", "least": 1, "most": 1024}),
        ({"target": "synth", "closed": 1}, "bad-value", {"option": "--closed", "value": 1}),
        ({"target": "synth", "seed": -1}, "bad-value", {"option": "--seed", "value": -1, "least": 0}),
        ({"target": "synth", "workload": "mix.json"}, "bad-value", {"option": "--workload"}),
    ],
)
def test_a_value_that_an_option_cannot_have_is_refused(options, code, fields):
    with raises(UsageError, code, **fields) as caught:
        MeasureRequest(**options).plan()
    assert caught.value.hint


def test_numbers_in_a_file_become_texts_and_texts_become_paths():
    request = MeasureRequest.from_options(
        {"server_cpus": 0, "duration": "2s", "stamps": 8, "workload": "mix.json"}
    )
    assert (request.server_cpus, request.stamps, request.workload) == ("0", "8", Path("mix.json"))


def test_a_resumed_study_may_change_only_runs_precision_and_repetition():
    assert [name for name, field in OPTIONS.items() if field.option.may_change] == [
        "runs",
        "precision",
        "remake",
    ]
    request = MeasureRequest(runs="3..5", precision="2%", remake="0", server_cpus="0", seed=2)
    assert request.fixed_options() == ["--server-cpus", "--seed"]
    assert request.stopping_options() == {"runs": (3, 5), "precision": pytest.approx(0.02), "remake": 0.0}
    assert MeasureRequest(seed=1).fixed_options() == [], "the default changes nothing"
