"""``--apply``: which settings are set, which are only named, and which are not applied."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hindmost.studies.attribution import apply
from hindmost.studies.attribution.plan import LoadPoint
from hindmost.studies.attribution.resolve import resolve

STUDY = """
name = "apply"
target = "synth"
quantiles = "99"
load = [{ name = "low", rate = "1k" }]

[[factor]]
name = "huge"
knob = "thp"
levels = ["madvise", "never"]

[[factor]]
name = "idle"
option = "idle"
levels = ["block", "spin"]
"""


@pytest.fixture
def plan(tmp_path):
    if not Path("/sys/kernel/mm/transparent_hugepage/enabled").exists():
        pytest.skip("no transparent huge pages here")
    file = tmp_path / "study.toml"
    file.write_text(STUDY)
    return resolve(file, None, budget=None, without=None)[0]


def result(plan, outcome):
    confirmed = [{"outcome": outcome, "load": "low"}] if outcome else []
    return {"recommendation": {"levels": plan.levels((1, 1)), "text": ""}, "confirmations": confirmed}


def applied(plan, outcome, monkeypatch):
    """What `applied` returns and says, and what it would set."""
    said, done = [], []
    monkeypatch.setattr(apply, "set_knob", lambda knob, level: done.append((knob, level)))
    return apply.apply_recommendation(plan, result(plan, outcome), said.append), said, done


def test_settings_of_the_host_are_set_and_those_of_the_server_are_named(plan, monkeypatch):
    levels, said, done = applied(plan, "confirmed", monkeypatch)
    assert done == [("thp", "never")]
    assert levels == {"huge": "never"}
    assert any("hindmost host knobs restore" in line for line in said)
    assert any("idle = spin" in line for line in said)


@pytest.mark.parametrize("outcome", ["undecided", "refuted", None])
def test_a_setting_that_was_not_confirmed_is_not_applied(plan, outcome, monkeypatch):
    levels, said, done = applied(plan, outcome, monkeypatch)
    assert (levels, done, len(said)) == (None, [], 1)


def test_a_load_without_a_confirmation_keeps_a_setting_from_being_applied(plan, monkeypatch):
    two = replace(plan, loads=(*plan.loads, LoadPoint("high", 2e3, "2-high")))
    levels, said, done = applied(two, "confirmed", monkeypatch)
    assert (levels, done, len(said)) == (None, [], 1)


def test_where_nothing_is_recommended_nothing_is_applied(plan, monkeypatch):
    done, said = [], []
    monkeypatch.setattr(apply, "set_knob", lambda knob, level: done.append((knob, level)))
    nothing = {"recommendation": {"levels": None, "text": "leave it"}, "confirmations": []}
    assert apply.apply_recommendation(plan, nothing, said.append) is None
    assert (done, len(said), "leave it" in said[0]) == ([], 1, True)
