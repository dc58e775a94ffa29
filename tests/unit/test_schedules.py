"""Rate schedules: shapes, files and refused lines."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from messages import raises
from msgspec.structs import replace
from rows import each_row

from hindmost.commands.measure.view import charts
from hindmost.core.plan.schedules import SHAPES, mean_rates, parse_schedule
from hindmost.core.run.request import MeasureRequest
from hindmost.core.store.measure import Series
from hindmost.errors import UsageError
from hindmost.present.curves import thin_series


def rates(text: str) -> list[float]:
    return [rate for _, rate in parse_schedule(text, 10.0)[0]]


@each_row("name", SHAPES)
def test_published_shapes_peak_at_twice_their_minimum(name: str) -> None:
    points, own_rate = parse_schedule(name, 10.0)
    assert max(rates(name)) / min(rates(name)) == 2.0
    assert (points[0][0], points[-1][0], own_rate) == (0.0, 10.0, None)
    assert parse_schedule(f"{name}:period=4s", 10.0)[0][-1][0] == 4.0


def test_var_falls_and_rises_app_stays_high_and_etc_is_burstier() -> None:
    var, app, etc = (rates(name) for name in ("var", "app", "etc"))
    assert var[0] > var[1] < var[2]

    def turns(values: list[float]) -> float:
        return sum(abs(b - a) for a, b in pairwise(values))

    assert min(app[1:-1]) > 1.8
    assert turns(etc) > 2.5 * turns(app)


def test_a_sine_oscillates_around_its_mean() -> None:
    points, _ = parse_schedule("sine:amplitude=0.3,period=2s", 10.0)
    assert (points[0][0], points[-1][0]) == (0.0, 2.0)
    assert max(rate for _, rate in points) == pytest.approx(1.3)
    assert math.fsum(rate for _, rate in points[1:]) / (len(points) - 1) == pytest.approx(1.0)


@pytest.mark.parametrize("start", ["\ufeff", "\ufeffsecond,rate\n"])
def test_a_byte_order_mark_is_ignored(tmp_path: Path, start: str) -> None:
    file = tmp_path / "rates.csv"
    file.write_text(f"{start}0,100\n10,100\n10,300\n20,300\n")
    points, rate = parse_schedule(str(file), 10.0)
    assert (points, rate) == (((0.0, 100.0), (10.0, 100.0), (10.0, 300.0), (20.0, 300.0)), 200.0)


def test_a_file_sets_the_rate_unless_one_is_given(tmp_path: Path) -> None:
    file = tmp_path / "rates.csv"
    file.write_text("second,rate\n5,1000\n\n# noon\n7,3000\n")
    asked = {"target": "memcached://127.0.0.1:1", "schedule": str(file)}
    own = MeasureRequest(**asked).plan()
    assert own.rate_per_s == 2000.0
    assert own.schedule == ((0.0, 1000.0), (2.0, 3000.0))
    assert MeasureRequest(**asked, rate="500").plan().rate_per_s == 500.0
    assert json.loads(own.engine_plan(1, 0, "memcached", "h:1"))["load"]["schedule"]["points"][1] == [
        2.0,
        3000.0,
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("0,1\n2,1\n1,1\n", 3),  # decreasing time
        ("0,1\n2\n", 2),  # no rate
        ("0,1\n2,-1\n", 2),  # a negative rate
        ("0,1\n", 1),  # only one time
        ("0,0\n5,0\n", 2),  # zero load
        ("O,100\n10,100\n10,300\n", 1),  # a misspelt number, not a column name
        ("0;100\n10,100\n20,100\n", 1),
    ],
)
def test_an_invalid_schedule_file_is_refused_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    file = tmp_path / "rates.csv"
    file.write_text(text)
    with raises(UsageError, "bad-file", path=str(file), line=line):
        parse_schedule(str(file), 10.0)


@each_row(
    ("text", "code", "fields"),
    [
        ("sinus", "unknown-name", {"name": "sinus"}),
        ("gone.csv", "no-such-file", {"path": "gone.csv"}),
        ("sine:amplitud=0.5", "unknown-key", {"key": "amplitud", "known": ["amplitude", "period"]}),
        ("sine:amplitude=2", "bad-value", {"key": "amplitude", "least": 0, "most": 1}),
        ("steps:1", "bad-value", {"have": 1, "need": 2}),
        ("ramp:1,x", "bad-value", {"value": "x"}),
        ("var:3", "bad-value", {"value": "var:3"}),
    ],
)
def test_an_invalid_schedule_is_refused(text: str, code: str, fields: dict[str, object]) -> None:
    with raises(UsageError, code, option="--schedule", **fields):
        parse_schedule(text, 10.0)


def test_a_trace_sets_the_rate_unless_one_is_given(tmp_path: Path) -> None:
    file = tmp_path / "times.csv"
    file.write_text("0\n1\n4\n")
    asked = {"target": "memcached://127.0.0.1:1", "arrivals": f"trace:{file},unit=ms"}
    plan = MeasureRequest(**asked).plan()
    assert plan.rate_per_s == pytest.approx(500.0)
    assert plan.arrivals == {"kind": "trace", "file": str(file), "unit": "ms", "column": 1, "end": "again"}
    assert MeasureRequest(**asked, rate="2k").plan().rate_per_s == 2000.0
    file.write_text("0\n4\n1\n")
    with raises(UsageError, "bad-file", option="--arrivals", path=str(file), line=3):
        MeasureRequest(**asked).plan()


def test_a_closed_loop_has_no_schedule() -> None:
    with raises(UsageError, "conflicting-options", options=["--schedule", "--closed"]):
        MeasureRequest(target="memcached://127.0.0.1:1", schedule="var", closed=True).plan()


@each_row("text", [*SHAPES, "sine:amplitude=1,period=3s", "steps:0,3,1", "ramp:1,2,period=4s"])
def test_scheduled_rates_of_windows_add_up_to_the_area_of_the_schedule(text: str) -> None:
    points, _ = parse_schedule(text, 10.0)
    period = points[-1][0]
    rng = np.random.default_rng(1)
    edges = np.concatenate(([0.0], np.sort(rng.uniform(0.0, 3.0 * period, 50)), [3.0 * period]))
    asked = mean_rates(points, 200.0, edges)
    assert sum(rate * length for rate, length in zip(asked, np.diff(edges), strict=True)) == pytest.approx(
        200.0 * 3.0 * period
    )
    # Compared with the polyline, summed in fine steps.
    at, rates_ = np.array(points).T
    fine = (np.arange(3_000_000) + 0.5) * 1e-6 * period
    there = np.interp(np.mod(fine, period), at, rates_)
    there *= 200.0 / there.mean()
    inside = (fine > edges[7]) & (fine < edges[8])
    assert asked[7] == pytest.approx(there[inside].mean(), rel=1e-3)


def test_a_page_plots_scheduled_and_achieved_rates() -> None:
    one = Series(
        run=1,
        t_s=[0.1 * i for i in range(1, 601)],
        rate=[100.0] * 600,
        p50_us=[10.0] * 600,
        p99_us=[20.0 + i for i in range(600)],
        measure_from_s=10.0,
    )
    asked = replace(one, requested=[300.0 if i > 300 else 50.0 for i in range(600)])
    drawn = {name: charts.series(doc, 600.0) for name, doc in (("no", one), ("yes", asked))}
    assert 'class="line requested"' not in drawn["no"]
    assert 'class="line requested"' in drawn["yes"]
    assert ">200<" in drawn["yes"], "the axis includes the scheduled rate"
    assert ">200<" not in drawn["no"]
    thin = thin_series(asked)
    assert len(thin.requested) == len(thin.t_s) < 600
    assert set(thin.requested) == {50.0, 300.0}
