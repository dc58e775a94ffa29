"""Logs can be paths, texts, DataFrames and arrays; other inputs are refused."""

import sys

import numpy as np
import pytest
from messages import raises
from rows import each_row

from hindmost.commands.clone.document import load_clone
from hindmost.commands.clone.fit import fit_clone, read_log
from hindmost.commands.clone.fit.reading import as_logs
from hindmost.commands.clone.parameters import Vary
from hindmost.commands.clone.simulation import Design, simulate
from hindmost.commands.clone.sweep import sweep
from hindmost.errors import UsageError

from .planted import back_to_back, times_of

FEW = Design(requests=2_000)


@pytest.fixture(scope="module")
def pl():
    return pytest.importorskip("polars")


class Pandas:
    """The part of pandas' DataFrame that read_log uses: columns by name, each with `to_numpy`."""

    def __init__(self, columns):
        self._columns = columns
        self.columns = list(columns)

    def __getitem__(self, name):
        class Series:
            def to_numpy(_self):
                return self._columns[name]

        return Series()


@pytest.fixture
def path(tmp_path):
    us = times_of("xapian", 4_000)
    kinds = np.where(np.arange(us.size) % 2 == 0, "get", "set").tolist()
    return back_to_back(tmp_path / "server.csv", us, cpu_ns=np.round(us * 1e3), kind=kinds)


def test_a_path_a_text_and_a_frame_are_the_same_log(path, pl):
    whole = read_log(path)
    frame = pl.read_csv(path)
    pandas = Pandas({name: frame[name].to_numpy() for name in frame.columns})
    for source in (str(path), frame, pandas):
        log = read_log(source)
        assert np.array_equal(log.wall_us, whole.wall_us)
        assert np.array_equal(log.cpu_us, whole.cpu_us)
        assert log.kinds == ("get", "set")
    logs, network_study = as_logs((str(path), frame, whole))
    assert network_study is None
    assert all(np.array_equal(log.wall_us, whole.wall_us) for log in logs)


def test_times_alone_are_a_log_if_their_unit_is_given(pl):
    us = times_of("xapian", 4_000)
    assert np.array_equal(read_log(us, unit="us").wall_us, us)
    assert read_log(pl.Series("service_ms", us / 1e3)).wall_us == pytest.approx(us)
    assert read_log(pl.DataFrame({"service_us": us})).n == us.size
    with raises(UsageError, "missing-argument", option="--unit", column="service"):
        read_log(us)


@pytest.mark.parametrize(
    ("columns", "code", "fields"),
    [
        ({"start_ns": [], "end_ns": []}, "short-log", {"have": 0}),
        (
            {"start_ns": [1.5] * 3_000, "end_ns": [9] * 3_000},
            "bad-value",
            {"row": 0, "column": "start_ns", "value": 1.5},
        ),
        (
            {"start_ns": [None, 1] * 2_000, "end_ns": [9] * 4_000},
            "bad-value",
            {"row": 0, "column": "start_ns", "value": "nan"},
        ),
        ({"service_us": ["fast"] * 3_000}, "bad-value", {"column": "service_us"}),
        (
            {"a": [1.0] * 3_000, "b": [2.0] * 3_000},
            "missing-argument",
            {"option": "--column", "known": ["a", "b"]},
        ),
    ],
)
def test_a_frame_that_is_not_a_log_is_refused(columns, code, fields, pl):
    with raises(UsageError, code, **fields):
        read_log(pl.DataFrame(columns))


@each_row(
    ("source", "fields"),
    [
        (np.ones((3_000, 2)), {"value": [3_000, 2]}),
        (7, {"argument": "source", "value": "int"}),
    ],
)
def test_an_array_or_number_that_is_not_a_log_is_refused(source, fields):
    with raises(UsageError, "bad-argument", **fields):
        read_log(source)


def test_a_fit_without_a_source_is_refused():
    with raises(UsageError, "missing-argument", argument="sources"):
        fit_clone()


def test_a_sweep_is_a_table_with_a_row_for_each_point(pl):
    result = sweep(
        "silo", [Vary("threads", (1, 2))], [{"rate_per_s": 20_000.0}, {"rate_per_s": 65_000.0}], design=FEW
    )
    table = result.to_frame()
    assert isinstance(table, pl.DataFrame)
    assert table["threads"].to_list() == [1, 1, 2, 2]
    assert table["state"].to_list() == ["done", "above_capacity", "done", "done"]
    p99 = table["p99_us"].to_list()
    assert p99[1] is None
    assert p99[0] == result.points[0].latency_us["p99"].value
    assert (table["p99_low_us"] <= table["p99_high_us"]).drop_nulls().all()
    with raises(UsageError, "unknown-name", value="arrow"):
        result.to_frame("arrow")


def test_without_a_dataframe_library_the_error_names_one(monkeypatch):
    result = sweep("silo", [], [{"utilisation": 0.5}], design=FEW)
    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with raises(UsageError, "missing-library", name="polars"):
        result.to_frame()


def test_a_clone_can_be_given_by_name():
    assert simulate("silo", utilisation=0.5, design=FEW) == simulate(
        load_clone("silo"), utilisation=0.5, design=FEW
    )
