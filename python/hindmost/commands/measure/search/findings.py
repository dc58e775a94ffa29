"""The findings of a search: its steps, the belief after them, and their description.

``search.json`` has the format ``hindmost.search/1``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from hindmost.commands.measure.search.document import Outcome, Search, Step
from hindmost.core.plan.units import format_us
from hindmost.core.store import Study, now_utc
from hindmost.core.store.estimates import number
from hindmost.core.store.reading import load
from hindmost.errors import StudyError
from hindmost.stats import Belief, Span
from hindmost.stats.runs.bisection import DOUBTFUL, SHARPEST

FILE = "search.json"
LOWEST, HIGHEST = 10.0, 5e6
"""Range of a search, requests/s. Below it, a run of seconds has too few requests; no server goes beyond
it."""
CONFIDENCE = 0.90
"""Confidence of the reported span. In simulations it covers more often (`stats.bisection`), because the
belief trusts each answer less than it deserves."""
RETRIES = 3
"""Spoiled steps at one rate after which a lower rate is tried, on which interference has less effect."""
UNDECIDED_WITHIN = 0.05
"""An undecided step lies at least this close to the crossing: runs at one rate differ by that much."""

OUTCOMES: dict[Outcome, str] = {
    "holds": "holds",
    "fails": "does not hold",
    "undecided": "undecided",
    "unmet": "not measurable",
    "spoiled": "interference",
}


def belief_after(steps: Sequence[Step]) -> Belief:
    """Return the belief about the highest rate that holds, which starts at the first step's rate."""
    belief = Belief(steps[0].rate_per_s, LOWEST, HIGHEST)
    spoiled: dict[float, int] = {}
    for step in steps:
        rate = step.rate_per_s
        if step.outcome == "holds":
            belief.hears(rate, holds=True, error=step.error)
        elif step.outcome == "fails":
            belief.hears(min(rate, step.at_most_per_s or rate), holds=False, error=step.error)
        elif step.outcome == "unmet":
            belief.hears(rate, holds=False, error=SHARPEST)
        elif step.outcome == "undecided":
            near = 1.0 + max(UNDECIDED_WITHIN, 2.0 * step.error)
            belief.hears_near(rate / near, rate * near)
        else:
            spoiled[rate] = spoiled.get(rate, 0) + 1
            if spoiled[rate] % RETRIES == 0:
                belief.hears(rate, holds=False, reliable=DOUBTFUL)
    return belief


@dataclass(frozen=True, slots=True)
class SearchFindings:
    """The findings of a search.

    They are the highest rate that held, the lowest rate above it that did not, and the span in which the
    highest rate that holds lies with `CONFIDENCE`.
    """

    objective: str
    holds: Step | None
    fails: Step | None
    span: Span
    steps: tuple[Step, ...]
    finished: bool = True

    @classmethod
    def from_steps(cls, objective: str, steps: Sequence[Step], *, finished: bool) -> SearchFindings:
        """Derive the findings from the steps so far; a step contradicted by the others is not believed."""
        if not steps:
            return cls(objective, None, None, Span(0.0, math.inf), (), finished)
        belief = belief_after(steps)
        good = [s for s in steps if s.outcome == "holds" and belief.at_least(s.rate_per_s) >= 0.5]
        best = max(good, key=lambda step: step.rate_per_s, default=None)
        above = [
            s
            for s in steps
            if s.outcome not in ("holds", "spoiled") and (best is None or s.rate_per_s > best.rate_per_s)
        ]
        lowest = min(above, key=lambda step: step.rate_per_s, default=None)
        span = belief.span(CONFIDENCE)
        within = Span(min(span.low, HIGHEST), max(span.high, LOWEST))
        return cls(objective, best, lowest, within, tuple(steps), finished)

    @property
    def headline(self) -> str:
        """The findings in one sentence."""
        if not self.steps:
            return f"{self.objective}: no rate has been tried yet"
        text = self._outcome() if self.finished else self._so_far()
        spoiled = sum(step.outcome == "spoiled" for step in self.steps)
        if 0 < spoiled < len(self.steps):
            text += f"; {spoiled} of {len(self.steps)} steps were disturbed by interference and do not count"
        return text if self.finished else f"unfinished search, so far: {text}"

    def _so_far(self) -> str:
        """Describe single steps. The crossing is reported only once the search is over."""
        words = {"fails": "failed at", "undecided": "was undecided at", "unmet": "could not be measured at"}
        parts = (
            [] if self.holds is None else [f"held at {format_rate(self.holds)} ({format_figure(self.holds)})"]
        )
        if self.fails is not None:
            parts.append(
                f"{words[self.fails.outcome]} {format_rate(self.fails)} ({brief_reason(self.fails)})"
            )
        return f"{self.objective} {' and '.join(parts) or 'was disturbed by interference in every step'}"

    def _outcome(self) -> str:
        above = self.fails
        if self.holds is None:
            if above is None:
                return f"{self.objective}: interference disturbed every step: {brief_reason(self.steps[-1])}"
            if all(step.outcome in ("undecided", "spoiled") for step in self.steps):
                text = f"is undecided at every rate tried, down to {format_rate(above)}"
            elif self.span.low <= 0.0:
                text = f"holds at no rate, not even at {format_rate(above)}"
            else:
                text = f"held at no tried rate, down to {format_rate(above)}"
            return f"{self.objective} {text}: {brief_reason(above)}; {self._describe_span()}"
        best = self.holds
        text = f"{self.objective} holds up to {format_rate(best)}: {format_figure(best)}"
        text += f", median over {format_runs(best)} runs"
        if best.above:
            text += f", {best.above} of which exceed it"
        if above is None:
            return f"{text}; it holds at every rate that could be judged, so the highest rate is not known"
        words = {
            "fails": f"it fails at {format_rate(above)} ({format_figure(above)})",
            "undecided": f"it is undecided at {format_rate(above)}"
            f" ({format_figure(above)} after {format_runs(above)} runs)",
            "unmet": f"{format_rate(above)} could not be measured: {brief_reason(above)}",
        }
        return f"{text}; {words[above.outcome]}; {self._describe_span()}"

    def _describe_span(self) -> str:
        """Describe the span of the crossing."""
        low, high = (f"{float(f'{end:.3g}'):,.10g}" for end in (self.span.low, self.span.high))
        if self.span.low <= 0.0 or math.isinf(self.span.high):
            ends = f"below {high}" if self.span.low <= 0.0 else f"above {low}"
        else:
            ends = f"between {low} and {high}"
        return f"the highest rate that holds is {ends} with {100.0 * CONFIDENCE:g} % confidence"

    def document(self) -> Search:
        """The findings as ``hindmost.search/1``."""
        return Search(
            schema="hindmost.search/1",
            created=now_utc(),
            objective=self.objective,
            finished=self.finished,
            headline=self.headline,
            rate_per_s=None if self.holds is None else self.holds.rate_per_s,
            not_at_per_s=None if self.fails is None else self.fails.rate_per_s,
            low_per_s=self.span.low if self.span.low > 0.0 else None,
            high_per_s=number(self.span.high),
            confidence=CONFIDENCE,
            steps=self.steps,
        )


def format_rate(step: Step) -> str:
    """Format the rate of a step."""
    return f"{step.rate_per_s:,.10g} requests/s"


def format_figure(step: Step) -> str:
    """Format the value and interval of the objective's figure in a step."""
    if not step.runs:
        return "no finished run"
    if step.value_us is None:
        return "unknown"
    if step.value_us == math.inf or step.low_us is None or step.high_us is None:
        return format_us(step.value_us)
    return f"{format_us(step.value_us)} [{format_us(step.low_us)}, {format_us(step.high_us)}]"


def format_runs(step: Step) -> str:
    """Format how many of a step's runs count."""
    return f"{step.runs - step.left_out} of {step.runs}" if step.left_out else str(step.runs)


def brief_reason(step: Step) -> str:
    """Return the first part of a step's reason."""
    return step.why.partition(";")[0]


def load_findings(study: Study) -> SearchFindings:
    """Load the findings that a search has stored so far.

    Raises
    ------
    StudyError
        No step is finished, or the file cannot be read.
    """
    path = study.folder / FILE
    try:
        stored = load(path, Search)
    except FileNotFoundError:
        raise StudyError(
            "no-finished-runs",
            f"the search in {study.folder} has no finished step",
            hint=study.resume_command,
            path=str(study.folder),
        ) from None
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        anew = f"rm {path} && {study.resume_command}  # reads its steps anew"
        raise StudyError("bad-file", f"{path} cannot be read: {error}", hint=anew, path=str(path)) from None
    return SearchFindings.from_steps(stored.objective, stored.steps, finished=stored.finished)
