"""Carry a study of factors out: rehearsal, blocks, answer, confirmation; and tell how far it is."""

from __future__ import annotations

import sys
import time
from typing import Any, TextIO

from hindmost.cli.attribution.apply import applied
from hindmost.design.cost import duration_text
from hindmost.knobs import recover
from hindmost.knobs.journal import FOLDER
from hindmost.studies.attribution import (
    AttributionPlan,
    Course,
    Step,
    Trials,
    answer,
    enough,
    recommended,
)

STORED_S = 0.2
"""A trial over so soon was stored before."""
RECENT = 50
"""Trials that what remains is reckoned from."""


class Talk:
    """Tells a person how far a study is: one line that renews itself on a terminal, one a block elsewhere."""

    def __init__(self, plan: AttributionPlan, *, quiet: bool, out: TextIO = sys.stderr) -> None:
        self._plan = plan
        self._quiet = quiet
        self._out = out
        self._live = out.isatty() and not quiet
        self._last = time.monotonic()
        self._laps: list[float] = []
        self._what = ""

    def say(self, text: str) -> None:
        """A line that stays."""
        if not self._quiet:
            clear = "\r\x1b[2K" if self._live else ""
            print(f"{clear}{text}", file=self._out, flush=True)

    def __call__(self, step: Step) -> None:
        """One trial is over."""
        now = time.monotonic()
        seconds, self._last = now - self._last, now
        setting = ", ".join(f"{name} = {level}" for name, level in self._plan.levels(step.cell).items())
        if step.why is not None:
            self.say(f"{step.what}, {step.load.name}, {setting}: no run: {step.why}")
        elif seconds < STORED_S:
            return
        self._laps.append(seconds)
        line = f"{step.what}, {step.done} of {step.of}, {self._left(step)} left"
        if self._live:
            print(f"\r\x1b[2K{line}: {step.load.name}, {setting}"[:200], end="", file=self._out, flush=True)
        elif step.what != self._what:
            self.say(line)
        self._what = step.what

    def _left(self, step: Step) -> str:
        late = self._laps[-RECENT:]
        return duration_text(max(1.0, (step.of - step.done) * sum(late) / len(late)))


def carry_out(trials: Trials, talk: Talk, *, confirm: bool, apply: bool) -> dict[str, Any]:
    """Make all runs that are not there yet; returns the answer.

    Raises
    ------
    HostUnfit
        A level cannot be had here; nothing was measured.
    TargetError, StudyError
        The server does not start at all; a run cannot be stored.
    """
    for one in recover(FOLDER):
        failed = f": could not be put back: {one['failure']}" if one["failure"] else ""
        talk.say(f"left by a study that was killed: {one['name']} is {one['value']} again{failed}")
    course = Course(trials, talk, lambda made: enough(trials, made))
    talk.say("rehearsal: every level once")
    course.rehearse()
    blocks = course.blocks()
    talk.say(f"{blocks} blocks are there; the answer is worked out")
    result = answer(trials)
    after = recommended(trials.plan, result)
    if confirm and not trials.plan.file.confirm.skip and after is not None and after != trials.plan.control:
        for load in trials.plan.loads:
            course.confirm(load, trials.plan.control, after)
        result = answer(trials)
    if apply:
        result["applied"] = applied(trials.plan, result, talk.say)
    return result
