"""``--apply``: settings that are set, settings that are only named, and settings that are not applied."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from hindmost.commands.attribute import apply
from hindmost.commands.attribute.plan import LoadPoint
from hindmost.commands.attribute.resolve import resolve

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
        pytest.skip("this kernel has no transparent huge pages")
    file = tmp_path / "study.toml"
    file.write_text(STUDY)
    return resolve(file, None, budget=None, without=None)[0]


def make_document(plan, outcome):
    confirmed = [SimpleNamespace(outcome=outcome, load="low")] if outcome else []
    return SimpleNamespace(
        recommendation=SimpleNamespace(levels=plan.levels((1, 1)), text=""), confirmations=confirmed
    )


def apply_outcome(plan, outcome, monkeypatch):
    """Apply the recommendation; return its result, the messages, and the settings that it would set."""
    messages, settings = [], []
    monkeypatch.setattr(apply, "set_knob", lambda knob, level: settings.append((knob, level)))
    return apply.apply_recommendation(plan, make_document(plan, outcome), messages.append), messages, settings


def test_host_settings_are_set_and_server_settings_are_named(plan, monkeypatch):
    levels, messages, settings = apply_outcome(plan, "confirmed", monkeypatch)
    assert settings == [("thp", "never")]
    assert levels == {"huge": "never"}
    assert any("hindmost host knobs restore" in line for line in messages)
    assert any("idle = spin" in line for line in messages)


@pytest.mark.parametrize("outcome", ["undecided", "refuted", None])
def test_a_setting_that_was_not_confirmed_is_not_applied(plan, outcome, monkeypatch):
    levels, messages, settings = apply_outcome(plan, outcome, monkeypatch)
    assert (levels, settings, len(messages)) == (None, [], 1)


def test_a_setting_is_applied_only_if_confirmed_at_every_load(plan, monkeypatch):
    two = replace(plan, loads=(*plan.loads, LoadPoint("high", 2e3, "2-high")))
    levels, messages, settings = apply_outcome(two, "confirmed", monkeypatch)
    assert (levels, settings, len(messages)) == (None, [], 1)


def test_nothing_is_applied_without_a_recommendation(plan, monkeypatch):
    settings, messages = [], []
    monkeypatch.setattr(apply, "set_knob", lambda knob, level: settings.append((knob, level)))
    advice = SimpleNamespace(levels=None, text="leave it")
    no_recommendation = SimpleNamespace(recommendation=advice, confirmations=[])
    assert apply.apply_recommendation(plan, no_recommendation, messages.append) is None
    assert (settings, len(messages), "leave it" in messages[0]) == ([], 1, True)
