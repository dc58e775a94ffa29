"""`MeasureRequest`: one place for the options of ``hindmost measure``, whoever gives them."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from messages import raises
from rows import each_row

from hindmost.cli.measure import measure
from hindmost.errors import UsageError
from hindmost.run.request import OPTIONS, MeasureRequest


def test_the_verb_has_an_option_for_each_field_with_its_default():
    options = inspect.signature(measure).parameters
    assert set(OPTIONS) < set(options)
    assert {name: options[name].default for name in OPTIONS} == vars(MeasureRequest())


def test_what_is_asked_for_in_python_is_what_the_command_line_asks_for(monkeypatch):
    from hindmost.studies import begin, kind

    plans = []

    class Begun(Exception):
        """As far as this goes."""

    def begun(plan, out, name, **more):
        plans.append(plan)
        raise Begun

    monkeypatch.setattr(begin, "begin", begun)
    monkeypatch.setattr(kind, "carry_out", None)
    with pytest.raises(Begun):
        measure("synth", rate="5k", quantiles="50,99", runs="3..5", precision="2%")
    asked = MeasureRequest(target="synth", rate="5k", quantiles="50,99", runs="3..5", precision="2%")
    assert plans == [asked.plan()]


@pytest.mark.parametrize(
    ("target", "rate"),
    [
        ("synth", 10_000.0),
        ("memcached://127.0.0.1", 10_000.0),
        ("http://127.0.0.1/", 100.0),
        ("grpc://127.0.0.1:1/a.B/C", 100.0),
    ],
)
def test_a_web_server_that_somebody_else_runs_is_loaded_lightly_unless_told_otherwise(target, rate):
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


def test_a_file_may_write_numbers_for_text_and_text_for_paths():
    asked = MeasureRequest.from_options(
        {"server_cpus": 0, "duration": "2s", "stamps": 8, "workload": "mix.json"}
    )
    assert (asked.server_cpus, asked.stamps, asked.workload) == ("0", "8", Path("mix.json"))


def test_only_runs_precision_and_remaking_may_change_in_a_study_that_goes_on():
    assert [name for name, one in OPTIONS.items() if one.option.may_change] == [
        "runs",
        "precision",
        "remake",
    ]
    asked = MeasureRequest(runs="3..5", precision="2%", remake="0", server_cpus="0", seed=2)
    assert asked.fixed_options() == ["--server-cpus", "--seed"]
    assert asked.stopping_options() == {"runs": (3, 5), "precision": pytest.approx(0.02), "remake": 0.0}
    assert MeasureRequest(seed=1).fixed_options() == [], "the default changes nothing"
