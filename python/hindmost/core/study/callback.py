"""Progress of a study, passed to a function of the caller. Nothing is printed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from hindmost.core.fleet import Interval, Moment
from hindmost.core.plan import MeasurePlan
from hindmost.core.plan.units import format_us
from hindmost.core.run.figures import RunFigures
from hindmost.core.run.text import percent
from hindmost.core.study.talk import CellStep
from hindmost.stats import Decision

if TYPE_CHECKING:
    from hindmost.core.notes import Note

ProgressFunction = Callable[[str], object]
"""A function that accepts a line of text, for example `print` or ``logger.info``."""


def describe_run(figures: RunFigures, decision: Decision) -> str:
    """Describe a stored run by the percentile whose interval is widest."""
    name, wide = decision.widest, decision.half_width
    known = f", known to ±{percent(wide)}" if wide < 10 else ""
    return f"run {figures.number}: {name} {format_us(figures.values['latency'][name])}{known}"


def describe_interval(elapsed_s: float, interval: Interval) -> str:
    """Describe one second of a load, in columns.

    >>> describe_interval(12.0, Interval(20_000.0, 19_998.0, 0, 35.6, 125.0))
    '  12 s: sent   20,000/s, completed   19,998/s, failed 0, p50 35.6 µs, p99 125 µs'
    """
    p50, p99 = ("-" if us is None else format_us(us) for us in (interval.p50_us, interval.p99_us))
    rates = f"sent {interval.sent_per_s:8,.0f}/s, completed {interval.completed_per_s:8,.0f}/s"
    return f"{elapsed_s:4.0f} s: {rates}, failed {interval.failed:,}, p50 {p50}, p99 {p99}"


class CallbackProgress:
    """Progress that calls a function. Without a function, important lines become Python warnings."""

    def __init__(self, tell: ProgressFunction | None, *, trust: bool = False) -> None:
        self._tell, self._trust = tell, trust
        self._what = ""

    def say(self, text: str) -> None:
        """Pass on a line of progress."""
        if self._tell is not None:
            self._tell(text)

    def warn(self, text: str) -> None:
        """Pass on a line that the user must read."""
        if self._tell is None:
            warnings.warn(text, UserWarning, stacklevel=2)
        else:
            self._tell(text)

    def trusts(self, question: str) -> bool:
        """Return whether the caller trusts stored studies."""
        return self._trust

    def runs(self, plan: MeasurePlan) -> CallbackProgress:
        """Return the progress of a plan's runs."""
        return self

    def cells(self) -> Callable[[CellStep], None]:
        """Return the callback for cells' runs."""
        return self._step

    def run_begins(self, number: int, least: int, most: int) -> None:
        """Do nothing: one line per run is enough."""

    def moment(self, moment: Moment) -> None:
        """Report the last second if there is a live view; otherwise a callback could disturb a client."""
        if moment.interval is not None:
            self.say(describe_interval(moment.elapsed_s, moment.interval))

    def run_ended(self, figures: RunFigures, decision: Decision, aside: Note | None) -> None:
        """Report a stored run."""
        if aside is not None:
            self.say(f"run {figures.number}: excluded: {aside}")
            return
        self.say(describe_run(figures, decision))

    def _step(self, step: CellStep) -> None:
        if step.what != self._what or step.done == step.of:
            self.say(f"{step.what}, {step.done} of {step.of}")
        self._what = step.what
