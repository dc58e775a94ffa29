"""Long steps: shown from a thread of their own, with what they do and how far they are."""

import io
import threading

from hindmost import progress
from hindmost.cli import steps


class Told(threading.Event):
    """An event that ends after so many looks, as if each had waited."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.looks, self.waits = looks, []

    def wait(self, timeout=None):
        self.waits.append(timeout)
        return len(self.waits) > self.looks


def test_a_step_tells_how_far_it_is_and_one_within_another_is_not_shown():
    shown = []
    progress.show_steps(lambda step, ended: (shown.append(step), ended.wait()))
    try:
        for part in progress.iterate_parts("reading", ["a", "b"]):
            with progress.step("within"):
                last = part
    finally:
        progress.show_steps(None)
    assert last == "b"
    assert [(one.what, one.done, one.total) for one in shown] == [("reading", 1, 2)]


def test_without_a_terminal_a_step_over_two_seconds_has_a_line_every_ten(monkeypatch):
    out, ended = io.StringIO(), Told(3)
    monkeypatch.setattr(steps.sys, "stderr", out)
    steps.show_step(progress.Step("reading", 1000, 120), ended)
    assert ended.waits == [2.0, 10.0, 10.0, 10.0]
    assert [line.split(",")[0] for line in out.getvalue().splitlines()] == ["reading: 120 of 1"] * 3


def test_on_a_terminal_the_line_renews_itself_and_is_gone_at_the_end(monkeypatch):
    out, ended = io.StringIO(), Told(2)
    out.isatty = lambda: True
    monkeypatch.setattr(steps.sys, "stderr", out)
    steps.show_step(progress.Step("reading"), ended)
    assert "\n" not in out.getvalue()
    assert out.getvalue().endswith(steps.CLEAR)
