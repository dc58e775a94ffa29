"""What a search has found: its steps, what is believed after them, and the words for it.

``search.json`` is ``hindmost.search/1`` (0.1.0, the first).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final, cast

from hindmost.errors import StudyError
from hindmost.plan.units import format_us
from hindmost.stats import Belief, Span
from hindmost.stats.runs.bisection import DOUBTFUL, SHARPEST
from hindmost.store import Study, now_utc
from hindmost.store.estimates import number
from hindmost.store.reading import read_document
from hindmost.store.search import Search, SearchStep
from hindmost.studies.search.judge import Outcome

SCHEMA: Final = "hindmost.search/1"
FILE = "search.json"
LOWEST, HIGHEST = 10.0, 5e6
"""Rates beyond which a search gives up: below, a run of seconds has too few requests; above, no server."""
CONFIDENCE = 0.90
"""Of the span that is reported. Simulated, it covers more often (`stats.bisection`): answers are believed
less than they deserve."""
RETRIES = 3
"""Steps at one rate that the host may spoil; then a lower one is tried, which a disturbed host hurts less."""
UNDECIDED_WITHIN = 0.05
"""An undecided step lies at least so near to the crossing: runs of one rate differ by that much."""


@dataclass(frozen=True, slots=True)
class Step:
    """One rate that was tried.

    ``unmet``: the client could not produce the rate, or the server died of it; ``spoiled``: interference
    disturbed too many runs. Latencies are microseconds; None is not known.
    ``left_out``: runs with interference. ``error``: relative standard error of what was judged.
    ``at_most_per_s``: the throughput of a saturated server. ``above``: runs that count and exceed a limit:
    the interval is that of the median over runs. ``code`` and ``values``: those of ``why``.
    """

    rate_per_s: float
    outcome: Outcome
    value_us: float | None
    low_us: float | None
    high_us: float | None
    runs: int
    achieved_per_s: float | None
    why: str
    study: str
    left_out: int = 0
    error: float = 0.0
    at_most_per_s: float | None = None
    above: int = 0
    code: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)


def belief_after(steps: Sequence[Step]) -> Belief:
    """What is believed of the highest rate that holds; the first step is where it was sought first."""
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
class Found:
    """What a search found.

    The highest rate that held, the lowest above it that did not, and where the highest rate that holds lies
    with `CONFIDENCE`.
    """

    objective: str
    holds: Step | None
    fails: Step | None
    span: Span
    steps: tuple[Step, ...]
    finished: bool = True

    @classmethod
    def of(cls, objective: str, steps: Sequence[Step], *, finished: bool) -> Found:
        """Read what the steps made so far tell; one that the others contradict is not believed."""
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
        """One sentence."""
        if not self.steps:
            return f"{self.objective}: no rate has been tried yet"
        text = self._outcome() if self.finished else self._so_far()
        spoiled = sum(step.outcome == "spoiled" for step in self.steps)
        if 0 < spoiled < len(self.steps):
            text += f"; {spoiled} of {len(self.steps)} steps were disturbed by interference and do not count"
        return text if self.finished else f"unfinished search, so far: {text}"

    def _so_far(self) -> str:
        """What single steps said. Where the crossing lies follows from them only once the search is over."""
        words = {"fails": "failed at", "undecided": "was undecided at", "unmet": "could not be measured at"}
        parts = [] if self.holds is None else [f"held at {at(self.holds)} ({figures(self.holds)})"]
        if self.fails is not None:
            parts.append(f"{words[self.fails.outcome]} {at(self.fails)} ({brief(self.fails)})")
        return f"{self.objective} {' and '.join(parts) or 'was disturbed by interference in every step'}"

    def _outcome(self) -> str:
        above = self.fails
        if self.holds is None:
            if above is None:
                return f"{self.objective}: interference disturbed every step: {brief(self.steps[-1])}"
            if all(step.outcome in ("undecided", "spoiled") for step in self.steps):
                text = f"is undecided at every rate tried, down to {at(above)}"
            elif self.span.low <= 0.0:
                text = f"holds at no rate, not even at {at(above)}"
            else:
                text = f"held at no rate that was tried, down to {at(above)}"
            return f"{self.objective} {text}: {brief(above)}; {self._where()}"
        best = self.holds
        text = f"{self.objective} holds up to {at(best)}: {figures(best)}, median over {counted(best)} runs"
        if best.above:
            text += f", {best.above} of which exceed it"
        if above is None:
            return f"{text}; it holds at every rate that could be judged, so the highest rate is not known"
        words = {
            "fails": f"it fails at {at(above)} ({figures(above)})",
            "undecided": f"it is undecided at {at(above)} ({figures(above)} after {counted(above)} runs)",
            "unmet": f"{at(above)} could not be measured: {brief(above)}",
        }
        return f"{text}; {words[above.outcome]}; {self._where()}"

    def _where(self) -> str:
        """Where the crossing lies, in words."""
        low, high = (f"{float(f'{end:.3g}'):,.10g}" for end in (self.span.low, self.span.high))
        if self.span.low <= 0.0 or math.isinf(self.span.high):
            ends = f"below {high}" if self.span.low <= 0.0 else f"above {low}"
        else:
            ends = f"between {low} and {high}"
        return f"the highest rate that holds is {ends} with {100.0 * CONFIDENCE:g} % confidence"

    def document(self) -> Search:
        """As JSON: ``hindmost.search/1``."""
        return {
            "schema": "hindmost.search/1",
            "created": now_utc(),
            "objective": self.objective,
            "finished": self.finished,
            "headline": self.headline,
            "rate_per_s": None if self.holds is None else self.holds.rate_per_s,
            "not_at_per_s": None if self.fails is None else self.fails.rate_per_s,
            "low_per_s": self.span.low if self.span.low > 0.0 else None,
            "high_per_s": number(self.span.high),
            "confidence": CONFIDENCE,
            "steps": [cast(SearchStep, asdict(step)) for step in self.steps],
        }


def at(step: Step) -> str:
    """The rate of a step in words."""
    return f"{step.rate_per_s:,.10g} requests/s"


def figures(step: Step) -> str:
    """What a step found for the objective's figure: value and interval."""
    if not step.runs:
        return "no finished run"
    if step.value_us is None:
        return "not known"
    if step.value_us == math.inf or step.low_us is None or step.high_us is None:
        return format_us(step.value_us)
    return f"{format_us(step.value_us)} [{format_us(step.low_us)}, {format_us(step.high_us)}]"


def counted(step: Step) -> str:
    """How many runs count, of how many."""
    return f"{step.runs - step.left_out} of {step.runs}" if step.left_out else str(step.runs)


def brief(step: Step) -> str:
    """Why, without the particulars."""
    return step.why.partition(";")[0]


def stored(study: Study) -> Found:
    """What a search has found and stored so far.

    Raises
    ------
    StudyError
        If no step was finished, or the file cannot be read.
    """
    path = study.folder / FILE
    anew = f"rm {path} && {study.resume_command}  # reads its steps anew"
    try:
        document = read_document(path)
        if document["schema"] != SCHEMA:
            raise ValueError(f"its format is {document['schema']!r}, not {SCHEMA!r}")
        known = {field.name for field in fields(Step)}
        steps = [Step(**{k: v for k, v in one.items() if k in known}) for one in document["steps"]]
        return Found.of(document["objective"], steps, finished=document["finished"])
    except FileNotFoundError:
        raise StudyError(
            "no-finished-runs",
            f"the search in {study.folder} has no finished step",
            hint=study.resume_command,
            path=str(study.folder),
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StudyError("bad-file", f"{path} cannot be read: {error}", hint=anew, path=str(path)) from None
