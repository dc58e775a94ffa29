"""Long steps are shown from their own thread, with description and progress."""

import io
import threading

from hindmost.cli import steps
from hindmost.core import progress


class FakeEvent(threading.Event):
    """An event that is set after a number of waits, without waiting."""

    def __init__(self, allowed: int) -> None:
        super().__init__()
        self.allowed, self.waits = allowed, []

    def wait(self, timeout=None):
        self.waits.append(timeout)
        return len(self.waits) > self.allowed


def test_a_step_shows_its_progress_and_nested_steps_are_hidden():
    shown_steps = []
    progress.show_steps(lambda step, ended: (shown_steps.append(step), ended.wait()))
    try:
        for part in progress.iterate_parts("reading", ["a", "b"]):
            with progress.step("within"):
                last = part
    finally:
        progress.show_steps(None)
    assert last == "b"
    assert [(step.what, step.done, step.total) for step in shown_steps] == [("reading", 1, 2)]


def test_in_a_log_a_long_step_has_a_line_every_ten_seconds(monkeypatch):
    out, ended = io.StringIO(), FakeEvent(3)
    monkeypatch.setattr(steps.sys, "stderr", out)
    steps.show_step(progress.Step("reading", 1000, 120), ended)
    assert ended.waits == [2.0, 10.0, 10.0, 10.0]
    assert [line.split(",")[0] for line in out.getvalue().splitlines()] == ["reading: 120 of 1"] * 3


def test_on_a_terminal_the_line_is_renewed_and_cleared(monkeypatch):
    out, ended = io.StringIO(), FakeEvent(2)
    out.isatty = lambda: True
    monkeypatch.setattr(steps.sys, "stderr", out)
    steps.show_step(progress.Step("reading"), ended)
    assert "\n" not in out.getvalue()
    assert out.getvalue().endswith(steps.CLEAR)
