"""Progress on standard error: one updated line on a terminal, one line per run elsewhere.

This module is much cheaper than a drawing library because it runs next to a measurement, and on a small host
on the client's own processor. If its reader is gone (``2>&1 | head -1``), the study continues.
"""

from __future__ import annotations

import sys
import time
from typing import TextIO

from hindmost.cli.steps import CLEAR, LINE_S
from hindmost.cli.streams import say
from hindmost.core.fleet import Moment
from hindmost.core.notes import Note
from hindmost.core.plan import MeasurePlan
from hindmost.core.plan.units import format_duration
from hindmost.core.run.figures import RunFigures
from hindmost.core.run.status import RepeatBudget
from hindmost.core.study.callback import describe_interval, describe_run
from hindmost.core.study.talk import CellStep
from hindmost.stats import Decision

STORED_S = 0.2
"""A run that ends sooner was already stored, in seconds."""
LONG_S = 5.0
"""A phase of storing keys that takes longer is logged, in seconds."""
RECENT = 50
"""Number of recent runs from which the remaining time is estimated."""
_PHASES = {
    "start": "starting the server, connecting, storing keys",
    "warm-up": "warming up",
    "measure": "measuring",
    "collect": "collecting",
}


class Talk:
    """Reports the progress of any kind of study."""

    def __init__(self, *, quiet: bool, out: TextIO | None = None, trust: bool = False) -> None:
        self._quiet, self._trust = quiet, trust
        self._out = out or sys.stderr

    def trusts(self, question: str) -> bool:
        """Return whether to trust a stored study: by ``--yes``, else by the answer at the terminal."""
        if self._trust or not sys.stdin.isatty():
            return self._trust
        say(f"{question} [y/N] ", out=self._out, end="")
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def say(self, text: str) -> None:
        """Print a permanent line."""
        if not self._quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        """Print a permanent line, even with ``--quiet``."""
        clear = CLEAR if self._out.isatty() else ""
        say(text, out=self._out, head=clear)

    def runs(self, plan: MeasurePlan) -> Progress:
        """Report the runs of a plan."""
        return Progress(plan, quiet=self._quiet, out=self._out)

    def cells(self) -> CellProgress:
        """Report the runs of cells."""
        return CellProgress(quiet=self._quiet, out=self._out)


class Progress:
    """Reports the progress of a measurement and the time that remains."""

    def __init__(self, plan: MeasurePlan, *, quiet: bool, out: TextIO | None = None) -> None:
        self._plan = plan
        self._quiet = quiet
        self._out = out or sys.stderr
        self._live = self._out.isatty() and not quiet
        self._number, self._least, self._most = 0, *plan.runs
        self._decision: Decision | None = None
        self._began = time.monotonic()
        self._run_began = 0.0
        self._run_seconds: list[float] = []
        self._slow = False
        self._shown_s = 0.0

    def run_begins(self, number: int, least: int, most: int) -> None:
        """Report that a run begins."""
        self._number, self._least, self._most = number, least, most
        self._run_began, self._shown_s = time.monotonic(), 0.0
        self._line(f"{_PHASES['start']} ...")

    def moment(self, moment: Moment) -> None:
        """Report the phase of the current run."""
        if moment.interval is not None:
            self.say(f"run {self._number}, {describe_interval(moment.elapsed_s, moment.interval)}")
            return
        storing = moment.keys > 0 and moment.elapsed_s >= 1.0
        text = f"storing {moment.keys:,} keys, {moment.elapsed_s:.0f} s"
        if storing and moment.elapsed_s >= LONG_S and not self._slow:
            self._slow = True  # once per study: every run stores the same keys
            self.say(f'run {self._number}: {text} so far; a workload with fewer "keys" starts sooner')
        measured_s = self._plan.calibration_s + self._plan.duration_s
        if moment.phase == "measure":  # one line for the whole phase: drawing could disturb a client
            text = f"warm after {moment.elapsed_s:.1f} s; measuring for {measured_s:g} s"
        elif not storing:
            text = f"{_PHASES[moment.phase]}, {moment.elapsed_s:.0f} s, {moment.replies:,} replies"
        if self._live:
            self._line(text)
        elif moment.elapsed_s + (measured_s if moment.phase == "measure" else 0.0) - self._shown_s >= LINE_S:
            self._shown_s = moment.elapsed_s
            self.say(f"run {self._number} of {self._least}..{self._most}: {text}")

    def run_ended(self, figures: RunFigures, decision: Decision, aside: Note | None) -> None:
        """Report that a run is stored."""
        self._run_seconds.append(time.monotonic() - self._run_began)
        self._decision = decision
        if aside is not None:
            self.say(f"run {figures.number} excluded: {aside}. Repeating; {self._remaining()}")
            return
        self.say(f"{describe_run(figures, decision)}; {self._remaining()}")

    def say(self, text: str) -> None:
        """Print a permanent line."""
        if not self._quiet:
            self._clear()
            say(text, out=self._out)

    def _remaining(self) -> str:
        decision = self._decision
        if decision is None or decision.stop:
            return "enough"
        # The number of runs that will suffice is unknown in advance. The maximum number is known.
        recent = self._run_seconds[-RECENT:]
        most = max(0, RepeatBudget(self._most, self._plan.remake).most - len(self._run_seconds))
        bound = _span(most * sum(recent) / len(recent))
        return f"{_span(time.monotonic() - self._began)} so far, at most {bound} more"

    def _line(self, text: str) -> None:
        if self._live:
            head = f"run {self._number} of {self._least}..{self._most}: "
            left = f"; {self._remaining()}" if self._decision else ""
            say(f"{head}{text}{left}", out=self._out, head=CLEAR, end="")

    def _clear(self) -> None:
        if self._live:
            say("", out=self._out, head=CLEAR, end="")


class CellProgress:
    """Progress of a study of factors: a live line on a terminal, one line per block elsewhere."""

    def __init__(self, *, quiet: bool, out: TextIO) -> None:
        self._quiet = quiet
        self._out = out
        self._live = out.isatty() and not quiet
        self._last = time.monotonic()
        self._laps: list[float] = []
        self._what = ""

    def __call__(self, step: CellStep) -> None:
        """Report that a run ended."""
        now = time.monotonic()
        seconds, self._last = now - self._last, now
        if step.why is not None:
            self._say(f"{step.what}, {step.load}, {step.setting}: run failed: {step.why}")
        elif seconds < STORED_S:
            return
        self._laps.append(seconds)
        line = f"{step.what}, {step.done} of {step.of}, {self._time_left(step)} left"
        if self._live:
            say(f"{line}: {step.load}, {step.setting}"[:200], out=self._out, head=CLEAR, end="")
        elif step.what != self._what:
            self._say(line)
        self._what = step.what

    def _say(self, text: str) -> None:
        if not self._quiet:
            say(text, out=self._out, head=CLEAR if self._live else "")

    def _time_left(self, step: CellStep) -> str:
        late = self._laps[-RECENT:]
        return format_duration(max(1.0, (step.of - step.done) * sum(late) / len(late)))


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.1f} min"
