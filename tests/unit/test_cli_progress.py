"""Progress: one line a run for a log, a line that renews itself for a person, nothing when quiet."""

import io
import itertools

import pytest
from evidence import run

from hindmost import MeasurePlan
from hindmost.cli import progress
from hindmost.cli.progress import Progress
from hindmost.fleet import Moment
from hindmost.stats import Decision


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """A run takes twelve seconds."""
    times = itertools.count(0.0, 12.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))


def made(out, *, quiet=False):
    return Progress(MeasurePlan(target="memcached", runs=(10, 30)), quiet=quiet, out=out)


def decided(number, *, stop=False, next_look=10, half_width=0.081):
    return Decision(stop, stop, "why", None if stop else next_look, number, "p99", half_width)


def test_a_log_has_one_line_a_run_with_what_is_left():
    out = io.StringIO()
    shown = made(out)
    shown.run_begins(1, 10, 30)
    shown.moment(Moment("warm-up", 1.0, 1000))
    shown.run_ended(run(1, latency={"p99": 70.0}), decided(1), None)
    assert out.getvalue() == "run 1: p99 70 us, known to ±8.1%; 1.8 min to 5.8 min left\n"


def test_an_unknown_width_is_not_told():
    out = io.StringIO()
    shown = made(out)
    shown.run_begins(1, 10, 30)
    shown.run_ended(run(1, latency={"p99": 70.0}), decided(1, half_width=float("inf")), None)
    assert "known" not in out.getvalue()


def test_the_last_run_says_enough():
    out = io.StringIO()
    shown = made(out)
    shown.run_begins(10, 10, 30)
    shown.run_ended(run(10), decided(10, stop=True), None)
    assert out.getvalue().endswith("; enough\n")


def test_nothing_is_drawn_while_it_measures_but_one_line():
    out = Screen()
    shown = made(out)
    shown.run_begins(2, 10, 30)
    shown.moment(Moment("start", 0.1, 0))
    shown.moment(Moment("warm-up", 1.0, 12_345))
    shown.moment(Moment("measure", 2.4, 20_000))
    lines = [line for line in out.getvalue().split("\r\x1b[2K") if line]
    assert lines[0].startswith("run 2 of 10..30: starting the server")
    assert lines[2] == "run 2 of 10..30: warming up, 1 s, 12,345 replies"
    assert lines[3] == "run 2 of 10..30: warm after 2.4 s; measuring in silence for 10.5 s"


def test_quiet_says_nothing_even_on_a_screen():
    out = Screen()
    shown = made(out, quiet=True)
    shown.say("hello")
    shown.run_begins(1, 10, 30)
    shown.moment(Moment("measure", 1.0, 1))
    shown.run_ended(run(1), decided(1), None)
    assert out.getvalue() == ""


def test_a_line_that_stays_wipes_the_one_that_renews_itself():
    out = Screen()
    made(out).say("page: x")
    assert out.getvalue() == "\r\x1b[2Kpage: x\n"


def test_a_run_that_is_set_aside_is_told_and_those_to_come_take_so_much_longer():
    out = io.StringIO()
    shown = made(out)
    shown.run_begins(1, 10, 30)
    shown.run_ended(run(1, latency={"p99": 70.0}), decided(1), None)
    shown.run_begins(2, 10, 30)
    shown.run_ended(run(2), decided(1), "the hypervisor took 3 %")
    assert out.getvalue().splitlines()[1] == (
        "run 2: set aside, made again: the hypervisor took 3 %; 3.6 min to 11.6 min left"
    )


def test_storing_keys_for_long_is_told_with_count_and_time_and_in_a_log_once():
    log, screen = io.StringIO(), Screen()
    for out in (log, screen):
        shown = made(out)
        shown.run_begins(1, 10, 30)
        for second in (0.1, 1.0, 4.0, 5.1, 6.1):
            shown.moment(Moment("start", second, 0, keys=10_000))
        shown.run_begins(2, 10, 30)
        shown.moment(Moment("start", 7.0, 0, keys=10_000))
    told = 'run 1: storing 10,000 keys, 5 s so far; a workload of fewer "keys" starts sooner\n'
    assert log.getvalue() == told
    lines = screen.getvalue().split("\r\x1b[2K")
    assert lines.count(told) == 1
    assert "run 1 of 10..30: storing 10,000 keys, 4 s" in lines
    assert lines[-1] == "run 2 of 10..30: storing 10,000 keys, 7 s"
    silent = io.StringIO()
    made(silent, quiet=True).moment(Moment("start", 9.0, 0, keys=10))
    assert silent.getvalue() == ""
