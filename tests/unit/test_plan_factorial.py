"""Study files of ``hindmost attribute``: how they are read, and how mistakes are refused."""

from dataclasses import fields
from pathlib import Path

import pytest
from factorials import factor
from messages import raises
from rows import each_row

from hindmost.core.knobs import kind_of
from hindmost.core.plan.factorial import FOR_MEASURE, load_study_file
from hindmost.core.run.request import MeasureRequest
from hindmost.errors import UsageError

ROOT = Path(__file__).parents[2]
STUDIES = sorted(
    path for path in (ROOT / "examples" / "attribution").glob("*.toml") if path.name != "planted-server.toml"
)
HEAD = """
name = "two factors"
target = "memcached"
delta = "3%"
measure = { duration = "1s", connections = 8 }
load = [{ name = "low", rate = 2000 }, { name = "high", rate = "20k" }]
"""
DESIGN = """
[design]
blocks = "4..8"
forbidden = [{ threads = 2, huge = "always" }]
"""
GOOD = HEAD + factor("threads", 1, 2) + factor("huge", "madvise", "always", knob="thp") + DESIGN


def read(tmp_path, text):
    file = tmp_path / "study.toml"
    file.write_text(text)
    return load_study_file(file)


def test_levels_and_settings_are_read(tmp_path):
    study = read(tmp_path, GOOD)
    assert [factor.levels for factor in study.factor] == [["1", "2"], ["madvise", "always"]]
    assert [factor.setting for factor in study.factor] == [{"option": "threads"}, {"knob": "thp"}]
    assert study.design.forbidden == [{"threads": "2", "huge": "always"}]
    assert [load.rate for load in study.load] == ["2000", "20k"]


@pytest.mark.parametrize(
    ("before", "after", "code", "fields"),
    [
        ("delta =", "detla =", "unknown-key", {"key": "detla", "line": 4}),
        ("blocks =", "block =", "unknown-key", {"key": "design.block"}),
        ("rate = 2000", "rat = 2000", "bad-file", {}),
        ("levels = [1, 2]", "levels = [1]", "bad-value", {"key": "factor.0.levels", "value": [1]}),
        ("levels = [1, 2]", "levels = [2, 2]", "duplicate-name", {"name": "threads", "value": ["2", "2"]}),
        ('name = "huge"', 'name = "threads"', "duplicate-name", {"name": "threads"}),
        ("threads = 2,", "thread = 2,", "unknown-name", {"name": "thread", "known": ["threads", "huge"]}),
        ("threads = 2,", "threads = 3,", "unknown-name", {"name": "3", "known": ["1", "2"]}),
        ("connections = 8", "rate = '8k'", "unknown-key", {"key": "measure.rate"}),
        ('target = "memcached"', "", "missing-argument", {"key": "target"}),
        ("[design]", "[confirm]\nload = 'lo'\n[design]", "unknown-name", {"name": "lo"}),
        ("[design]", "[design", "bad-file", {}),
    ],
)
def test_a_wrong_file_is_refused_with_key_and_value(tmp_path, before, after, code, fields):
    assert before in GOOD
    with raises(UsageError, code, path=str(tmp_path / "study.toml"), **fields):
        read(tmp_path, GOOD.replace(before, after, 1))


def test_a_missing_file_is_refused(tmp_path):
    with raises(UsageError, "no-such-file", path=str(tmp_path / "none.toml")):
        load_study_file(tmp_path / "none.toml")


@each_row("path", STUDIES, ids=lambda path: path.stem)
def test_every_example_study_can_be_read(path):
    study = load_study_file(path)
    assert all(kind_of(factor.setting, factor.name) for factor in study.factor)


def test_options_for_measure_in_a_study_file_are_options_of_measure():
    assert set(FOR_MEASURE) <= {option.name for option in fields(MeasureRequest)}
