"""Progress: one line per run in a log, a renewed line on a terminal, nothing if quiet."""

import io
import itertools
import re

import pytest
from evidence import run

from hindmost import MeasurePlan
from hindmost.cli import progress
from hindmost.cli.progress import CLEAR, Progress
from hindmost.core.fleet import Interval, Moment
from hindmost.core.notes import Note
from hindmost.stats import Decision

INTERFERENCE = Note("interference", "other processes used 3 % of the CPU", {"share": 0.03})


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Make every run take twelve seconds."""
    times = itertools.count(0.0, 12.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))


def make_progress(out, *, quiet=False):
    return Progress(MeasurePlan(target="memcached", runs=(10, 30)), quiet=quiet, out=out)


def decision_after(number, *, stop=False, next_look=10, half_width=0.081):
    return Decision(stop, stop, "why", None if stop else next_look, number, "p99", half_width)


def numbers(text):
    return re.findall(r"\d[\d,]*(?:\.\d+)?", text)


def first_run(out, **decision):
    display = make_progress(out)
    display.run_begins(1, 10, 30)
    display.moment(Moment("warm-up", 1.0, 1000))
    display.run_ended(run(1, latency={"p99": 70.0}), decision_after(1, **decision), None)
    return display


def test_a_log_has_one_line_per_run_with_the_remaining_time():
    out = io.StringIO()
    first_run(out)
    assert out.getvalue().count("\n") == 1
    assert numbers(out.getvalue()) == ["1", "99", "70", "8.1", "36", "8.8"]


def test_a_log_has_a_line_every_ten_seconds_and_before_a_long_measurement():
    out = io.StringIO()
    display = make_progress(out)
    display.run_begins(1, 10, 30)
    for at in range(1, 26):
        display.moment(Moment("warm-up", float(at), 1000))
    assert [numbers(line)[3] for line in out.getvalue().splitlines()] == ["10", "20"]
    display.moment(Moment("measure", 25.0, 1000))
    assert numbers(out.getvalue().splitlines()[-1])[3:] == ["25.0", "10.5"]


def test_an_unknown_width_is_left_out():
    out = io.StringIO()
    first_run(out, half_width=float("inf"))
    assert numbers(out.getvalue()) == ["1", "99", "70", "36", "8.8"]


def test_the_last_run_has_no_remaining_time():
    out = io.StringIO()
    first_run(out, stop=True)
    assert numbers(out.getvalue()) == ["1", "99", "70", "8.1"]


def test_a_terminal_shows_one_line_during_a_measurement():
    out = Terminal()
    display = make_progress(out)
    display.run_begins(2, 10, 30)
    display.moment(Moment("start", 0.1, 0))
    display.moment(Moment("warm-up", 1.0, 12_345))
    display.moment(Moment("measure", 2.4, 20_000))
    lines = [line for line in out.getvalue().split(CLEAR) if line]
    assert [numbers(line) for line in lines] == [
        ["2", "10", "30"],
        ["2", "10", "30", "0", "0"],
        ["2", "10", "30", "1", "12,345"],
        ["2", "10", "30", "2.4", "10.5"],  # seconds of warm-up, seconds without another line
    ]


def test_quiet_prints_nothing_even_on_a_terminal():
    out = Terminal()
    display = make_progress(out, quiet=True)
    display.say("hello")
    display.run_begins(1, 10, 30)
    display.moment(Moment("start", 9.0, 0, keys=10))
    display.moment(Moment("measure", 1.0, 1))
    display.run_ended(run(1), decision_after(1), None)
    assert out.getvalue() == ""


def test_a_permanent_line_clears_the_renewed_line():
    out = Terminal()
    make_progress(out).say("page: x")
    assert out.getvalue() == f"{CLEAR}page: x\n"


def test_an_excluded_run_is_reported_and_the_remaining_time_never_grows():
    out = io.StringIO()
    display = first_run(out)
    for number in (2, 3, 4):
        display.run_begins(number, 10, 30)
        display.run_ended(run(number), decision_after(1), INTERFERENCE)
    lines = out.getvalue().splitlines()
    assert str(INTERFERENCE) in lines[1]
    assert [numbers(line)[-1] for line in lines] == ["8.8", "8.6", "8.4", "8.2"]


def test_each_second_of_a_live_view_has_a_permanent_line():
    log, quiet = io.StringIO(), Terminal()
    for out in (log, quiet):
        display = make_progress(out, quiet=out is quiet)
        display.run_begins(3, 10, 30)
        display.moment(Moment("measure", 7.0, 0, interval=Interval(1_999.6, 1_998.0, 4, 31.25, 125.0)))
        display.moment(Moment("measure", 8.0, 0, interval=Interval(0.0, 0.0, 0, None, None)))
    assert [numbers(line) for line in log.getvalue().splitlines()] == [
        ["3,", "7", "2,000", "1,998", "4,", "50", "31.2", "99", "125"],
        ["3,", "8", "0", "0", "0,", "50", "99"],
    ]
    assert quiet.getvalue() == ""


def test_slow_preloading_is_reported_once_in_a_log_and_live_on_a_terminal():
    log, terminal = io.StringIO(), Terminal()
    for out in (log, terminal):
        display = make_progress(out)
        display.run_begins(1, 10, 30)
        for second in (0.1, 1.0, 4.0, 5.1, 6.1):
            display.moment(Moment("start", second, 0, keys=10_000))
        display.run_begins(2, 10, 30)
        display.moment(Moment("start", 7.0, 0, keys=10_000))
    assert log.getvalue().count("\n") == 1
    assert numbers(log.getvalue()) == ["1", "10,000", "5"]
    lines = terminal.getvalue().split(CLEAR)
    assert lines.count(log.getvalue()) == 1
    printed_numbers = [numbers(line) for line in lines]
    assert ["1", "10", "30", "10,000", "4"] in printed_numbers
    assert printed_numbers[-1] == ["2", "10", "30", "10,000", "7"]
