"""The highest rate that still meets an objective: ``hindmost measure --find-rate 'p99<500us'``.

::

    step    a small study at one rate: runs until their interval lies on one side of the limit
    belief  where the highest rate that holds lies, after all steps so far (`stats.bisection`)
    rate    of the next step: the median of the belief, or its quartiles in turn where steps near the median
            stayed undecided; at most four times what was tried before; over when
            nine tenths of the belief lie within 10 %, or within 50 % when 63 runs are used up

No step is believed for good: where one was wrong, later steps come back to its rate and ask again. A step
that the host disturbed says nothing and is made again. Where a client was late or busy, its delays only add
to latency, which counts from the due time (in a queue that serves in order, no departure gets earlier by
delaying arrivals): such a step may hold, but never fail. A server that is saturated says at once what it can
carry. Every step is a whole study of its own under ``STUDY/steps``, so any of them can be reported on by
itself. ``STUDY/search.json`` is written after each; as the next rate follows from the steps alone, a search
that was interrupted goes on exactly where it stopped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from hindmost.errors import InstanceError, StudyError, TargetError
from hindmost.fleet import HERE, Fleet
from hindmost.notes import Note
from hindmost.plan import MeasurePlan, Objective
from hindmost.run.limits import SAMPLES_INCONCLUSIVE
from hindmost.store import Study
from hindmost.store.estimates import encode
from hindmost.studies.measure.answer import answer
from hindmost.studies.measure.procedure import Observer, Procedure
from hindmost.studies.part import open_part
from hindmost.studies.search.found import (
    FILE,
    HIGHEST,
    LOWEST,
    RETRIES,
    Found,
    Step,
    belief_after,
    stored,
)
from hindmost.studies.search.judge import StepRule
from hindmost.targets import Attached, Managed

RATIO = 1.10
"""A span of 10 % is narrow enough: simulated, runs that scatter by 15 % rarely tell a narrower one apart."""
WIDE = 1.5
WORTH = 7
"""Steps' worth of runs (a step's most; 63 by default) after which a wide span is enough: where runs scatter
by 15 %, one of 10 % would take three times as many. The span says what is known."""
AT_MOST = 2 * WORTH
"""Steps' worth of runs, and below it steps, after which a search is over in any case."""
MOST_STEPS = 24
MOST_SPOILED = 6
"""Steps that the host spoiled after which a search is over: waiting for quiet is somebody else's task."""
LEAP = 4.0
"""The next rate is at most so many times beyond those tried: a rate far too high may break what it meets."""
CONFIRMATIONS = 2
"""Steps at the lower end of the span when the search is over, where no rate near it has held yet."""
DIED = "server-gone"
"""The engine's word for a server that went away under load."""


class RateSearch:
    """Searches for the highest rate under an objective.

    Parameters
    ----------
    study : Study
        An open, locked study; takes the steps and the answer.
    plan : MeasurePlan
        Everything but the rate, which is where the search starts; ``plan.runs`` bound a step's runs.
    target : Attached or Managed
        What `plan.target` means.
    objective : Objective
        Limits on the mean, on quantiles that are among the plan's, or on shares of requests.
    observer : callable
        Makes the observer of a step from its plan.
    on_step : callable, optional
        Called with each step when it is done.
    fleet : Fleet, optional
        Where the load clients run; default: this machine.
    """

    def __init__(
        self,
        study: Study,
        plan: MeasurePlan,
        target: Attached | Managed,
        objective: Objective,
        observer: Callable[[MeasurePlan], Observer],
        on_step: Callable[[Step], None] = lambda _: None,
        fleet: Fleet = HERE,
    ) -> None:
        self.study = study
        self.plan = plan
        self.target = target
        self.objective = objective
        self.observer = observer
        self.on_step = on_step
        self.fleet = fleet
        self.steps: list[Step] = []

    def run(self) -> Found:
        """Search; steps and runs that are already stored are not made again.

        Raises
        ------
        TargetError, InstanceError
            If the server cannot be reached or started, or dies where it cannot be restarted.
        StudyError
            If a step cannot be stored.
        """
        if (self.study.folder / FILE).exists():
            self.steps = list(stored(self.study).steps)
        rate = next_rate(self.steps, self.plan.runs[1]) if self.steps else self.plan.rate_per_s or 10_000.0
        found = Found.of(self.objective.text, self.steps, finished=rate is None)
        while rate is not None:
            self.steps.append(self._try(rate))
            rate = next_rate(self.steps, self.plan.runs[1])
            found = Found.of(self.objective.text, self.steps, finished=rate is None)
            self.study.write(FILE, encode(found.document()))
            self.on_step(self.steps[-1])
        return found

    def _try(self, rate: float) -> Step:
        plan = self.plan.model_copy(update={"rate_per_s": rate})
        before = sum(step.rate_per_s == rate for step in self.steps)
        folder = self.study.folder / "steps" / (f"{rate:.12g}" + (f"-{before + 1}" if before else ""))
        # Tried again, a rate gets other requests: the same would find the same accidents of chance.
        plan = plan.model_copy(update={"seed": self.plan.seed + 1_000 * before})
        study = open_part(self.study, folder, plan)
        rule = StepRule(self.objective, plan)
        with study.lock():
            try:
                Procedure(study, plan, self.target, self.observer(plan), rule, rule.saw, self.fleet).run()
            except (InstanceError, TargetError) as error:
                return self._died(rate, error, study)
            result = answer(study)
            study.write("result.json", encode(result))
        return self._step(rate, rule, result["throughput"]["achieved"], folder)

    def _died(self, rate: float, error: InstanceError | TargetError, study: Study) -> Step:
        """A rate that killed a server which can be started again is too high; all else is an error."""
        # The engine's word is in the error itself, or in the one that was put into other words.
        words = [getattr(one, "code", None) for one in (error, error.__context__)]
        before = [step for step in self.steps if not step.runs]
        hopeless = bool(before) and len(before) == len(self.steps)  # it never lived through a run
        if not self.target.managed or hopeless or DIED not in words:
            raise error
        return Step(
            rate_per_s=rate,
            outcome="unmet",
            value_us=None,
            low_us=None,
            high_us=None,
            runs=0,
            achieved_per_s=None,
            why=error.message.splitlines()[0],
            study=str(study.folder.relative_to(self.study.folder)),
            code=error.code,
            values=error.fields,
        )

    def _step(self, rate: float, rule: StepRule, achieved: float, folder: Path) -> Step:
        found = rule.judgement
        if found is None:
            raise StudyError(
                "no-finished-runs",
                f"the step in {folder} ended before it was decided",
                hint=self.study.resume_command,
                path=str(folder),
            )
        figure = rule.interval()
        thin = self._thin(rate) if found.outcome == "holds" else None
        return Step(
            rate_per_s=rate,
            outcome=found.outcome,
            value_us=figure["value"],
            low_us=figure["low"],
            high_us=figure["high"],
            runs=len(rule.made),
            achieved_per_s=achieved,
            why=found.why.text + (thin.text if thin else ""),
            study=str(folder.relative_to(self.study.folder)),
            left_out=len(rule.made) - found.judged,
            error=found.error,
            at_most_per_s=found.at_most_per_s,
            above=rule.above,
            code=found.why.code,
            values={**found.why.values, **(thin.values if thin else {})},
        )

    def _thin(self, rate: float) -> Note | None:
        """A note if a run at this rate has too few requests for a quantile."""
        if not self.objective.levels:
            return None
        each = rate / self.plan.clients * (1.0 - max(self.objective.levels))
        have = each * self.plan.duration_s
        if have >= SAMPLES_INCONCLUSIVE:
            return None
        name = max((t for t in self.objective.terms if t.level), key=lambda t: t.level or 0.0).name
        duration_s = math.ceil(SAMPLES_INCONCLUSIVE / each)
        return Note(
            "few-samples",
            f"; a run has only {have:.2g} requests of one client above {name}, which says little: --duration"
            f" {duration_s}s",
            {"name": name, "have": have, "need": SAMPLES_INCONCLUSIVE, "duration_s": duration_s},
        )


def next_rate(steps: Sequence[Step], most: int) -> float | None:
    """The rate of the next step; None when the search is over.

    Parameters
    ----------
    steps
        All made so far, one at least.
    most
        Runs that a step may take.
    """
    last = steps[-1]
    spoiled = sum(step.outcome == "spoiled" for step in steps)
    spent = sum(step.runs for step in steps)
    if len(steps) >= MOST_STEPS or spoiled >= MOST_SPOILED or spent >= AT_MOST * most:
        return None
    if last.outcome == "spoiled":
        here = sum(step.outcome == "spoiled" and step.rate_per_s == last.rate_per_s for step in steps)
        if here % RETRIES:
            return last.rate_per_s
    found = Found.of("", steps, finished=False)
    span = found.span
    if span.high <= LOWEST or span.low >= HIGHEST:
        return None  # it holds nowhere, or everywhere
    tried = [step.rate_per_s for step in steps]
    if span.ratio <= (RATIO if spent < WORTH * most else WIDE):
        return _confirmation(found, min(tried) / LEAP)
    middle = min(max(_least_known(steps), min(tried) / LEAP), max(tried) * LEAP)
    return min(HIGHEST, max(LOWEST, _round(middle)))


def _least_known(steps: Sequence[Step]) -> float:
    """The median of the belief; where steps stay undecided, in turn its quartiles, which decide sooner."""
    belief = belief_after(steps)
    middle = belief.median
    open_here = sum(s.outcome == "undecided" and 1.0 / RATIO < s.rate_per_s / middle < RATIO for s in steps)
    if not open_here:
        return middle
    half = belief.span(0.5)
    return half.low if open_here % 2 else half.high


def _confirmation(found: Found, least: float) -> float | None:
    """The span tells where the crossing is; people want a rate near it that was seen to hold."""
    near = found.span.low / RATIO
    if any(step.outcome == "holds" and step.rate_per_s >= near for step in found.steps):
        return None
    rate = _round(max(LOWEST, least, found.span.low))
    tries = sum(near <= step.rate_per_s <= found.span.low for step in found.steps)
    return rate if tries < CONFIRMATIONS else None


def _round(rate: float) -> float:
    """Three digits: rates that people can read and type again."""
    return float(f"{rate:.3g}")
