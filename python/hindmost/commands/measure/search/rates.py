"""The highest rate that still meets an objective: ``hindmost measure --find-rate 'p99<500us'``.

::

    step    a small study at one rate: runs until their interval lies on one side of the limit
    belief  where the highest rate that holds lies, after all steps so far (`stats.bisection`)
    rate    of the next step: the median of the belief, or alternately its quartiles if steps near the median
    stayed
            undecided; at most four times any rate tried before
    end     when nine tenths of the belief lie within 10 %, or within 50 % after 63 runs

No step is final: if one was wrong, later steps return to its rate. A step disturbed by interference says
nothing and is repeated. If a client was late or busy, its delays only add to latency, which counts from the
scheduled time (in a queue that serves in order, delaying arrivals makes no departure earlier). Such a step
may hold, but never fail. A saturated server shows at once how much it can carry. Every step is a complete
study under ``STUDY/steps``, with its own report. ``STUDY/search.json`` is written after each step. The next
rate follows from the steps alone, so an interrupted search resumes exactly where it stopped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from hindmost.commands.measure.answer import answer
from hindmost.commands.measure.procedure import Procedure
from hindmost.commands.measure.search.document import Step
from hindmost.commands.measure.search.findings import (
    FILE,
    HIGHEST,
    LOWEST,
    RETRIES,
    SearchFindings,
    belief_after,
    load_findings,
)
from hindmost.commands.measure.search.judge import StepRule
from hindmost.core.fleet import HERE, Fleet
from hindmost.core.notes import Note
from hindmost.core.plan import MeasurePlan, Objective
from hindmost.core.run.limits import SAMPLES_INCONCLUSIVE
from hindmost.core.store import Study
from hindmost.core.store.estimates import encode
from hindmost.core.study.part import open_part
from hindmost.core.study.talk import Observer
from hindmost.core.targets import Attached, Managed
from hindmost.errors import ClientError, StudyError, TargetError

RATIO = 1.10
"""Width of a span that is narrow enough. In simulations, runs that scatter by 15 % rarely allow a narrower
one."""
WIDE = 1.5
WORTH = 7
"""Steps' worth of runs (a step's most; 63 by default) after which a wide span is enough. With runs that
scatter by 15 %, a span of 10 % would take three times as many. The span states what is known."""
AT_MOST = 2 * WORTH
"""Steps' worth of runs after which a search ends in any case."""
MOST_STEPS = 24
MOST_SPOILED = 6
"""Spoiled steps after which a search ends: it does not wait for a quiet host."""
LEAP = 4.0
"""Largest ratio of the next rate to those tried: a rate far too high may break the server."""
CONFIRMATIONS = 2
"""Steps at the lower end of the span at the end of a search, if no rate near it has held yet."""
DIED = "server-gone"
"""The engine's code for a server that died under load."""


class RateSearch:
    """Searches for the highest rate under an objective.

    Parameters
    ----------
    study : Study
        An open, locked study, which stores the steps and the findings.
    plan : MeasurePlan
        Everything but the rate, which is the first to try; ``plan.runs`` bound a step's runs.
    target : Attached or Managed
        The target of `plan.target`.
    objective : Objective
        Limits on the mean, on quantiles that are among the plan's, or on shares of requests.
    observer : callable
        Builds the observer of a step from its plan.
    on_step : callable, optional
        Called with each finished step.
    fleet : Fleet, optional
        Where the clients run; default: this machine.
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

    def run(self) -> SearchFindings:
        """Search, reusing stored steps and runs.

        Raises
        ------
        TargetError, InstanceError
            The server cannot be reached or started, or dies and cannot be restarted.
        StudyError
            A step cannot be stored.
        """
        if (self.study.folder / FILE).exists():
            self.steps = list(load_findings(self.study).steps)
        rate = next_rate(self.steps, self.plan.runs[1]) if self.steps else self.plan.rate_per_s or 10_000.0
        findings = SearchFindings.from_steps(self.objective.text, self.steps, finished=rate is None)
        while rate is not None:
            self.steps.append(self._try(rate))
            rate = next_rate(self.steps, self.plan.runs[1])
            findings = SearchFindings.from_steps(self.objective.text, self.steps, finished=rate is None)
            self.study.write(FILE, encode(findings.document()))
            self.on_step(self.steps[-1])
        return findings

    def _try(self, rate: float) -> Step:
        plan = self.plan.model_copy(update={"rate_per_s": rate})
        before = sum(step.rate_per_s == rate for step in self.steps)
        folder = self.study.folder / "steps" / (f"{rate:.12g}" + (f"-{before + 1}" if before else ""))
        # A repeated rate gets other requests, because the same ones would repeat the same chance events.
        plan = plan.model_copy(update={"seed": self.plan.seed + 1_000 * before})
        study = open_part(self.study, folder, plan)
        rule = StepRule(self.objective, plan)
        with study.lock():
            try:
                Procedure(study, plan, self.target, self.observer(plan), rule, rule.record, self.fleet).run()
            except (ClientError, TargetError) as error:
                return self._died(rate, error, study)
            result = answer(study)
            study.write("result.json", encode(result))
        return self._step(rate, rule, result.throughput.achieved, folder)

    def _died(self, rate: float, error: ClientError | TargetError, study: Study) -> Step:
        """Return a step for a rate that killed a restartable server; raise all other errors."""
        # The engine's code is in the error itself, or in the error from which it was made.
        words = [getattr(one, "code", None) for one in (error, error.__context__)]
        before = [step for step in self.steps if not step.runs]
        hopeless = bool(before) and len(before) == len(self.steps)  # it never survived a run
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
        judgement = rule.judgement
        if judgement is None:
            raise StudyError(
                "no-finished-runs",
                f"the step in {folder} ended before it was decided",
                hint=self.study.resume_command,
                path=str(folder),
            )
        figure = rule.interval()
        thin = self._thin(rate) if judgement.outcome == "holds" else None
        return Step(
            rate_per_s=rate,
            outcome=judgement.outcome,
            value_us=figure.value,
            low_us=figure.low,
            high_us=figure.high,
            runs=len(rule.made),
            achieved_per_s=achieved,
            why=judgement.why.text + (thin.text if thin else ""),
            study=str(folder.relative_to(self.study.folder)),
            left_out=len(rule.made) - judgement.judged,
            error=judgement.error,
            at_most_per_s=judgement.at_most_per_s,
            above=rule.above,
            code=judgement.why.code,
            values={**judgement.why.values, **(thin.values if thin else {})},
        )

    def _thin(self, rate: float) -> Note | None:
        """Return a note if a run at this rate has too few requests for a quantile."""
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
    """Return the rate of the next step; None when the search is over.

    Parameters
    ----------
    steps
        All steps so far, at least one.
    most
        Most runs of a step.
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
    findings = SearchFindings.from_steps("", steps, finished=False)
    span = findings.span
    if span.high <= LOWEST or span.low >= HIGHEST:
        return None  # it holds at no rate, or at every rate
    tried = [step.rate_per_s for step in steps]
    if span.ratio <= (RATIO if spent < WORTH * most else WIDE):
        return _confirmation(findings, min(tried) / LEAP)
    middle = min(max(_most_informative(steps), min(tried) / LEAP), max(tried) * LEAP)
    return min(HIGHEST, max(LOWEST, _round(middle)))


def _most_informative(steps: Sequence[Step]) -> float:
    """Return the median of the belief; where steps stay undecided, alternately its quartiles."""
    belief = belief_after(steps)
    middle = belief.median
    open_here = sum(s.outcome == "undecided" and 1.0 / RATIO < s.rate_per_s / middle < RATIO for s in steps)
    if not open_here:
        return middle
    half = belief.span(0.5)
    return half.low if open_here % 2 else half.high


def _confirmation(findings: SearchFindings, least: float) -> float | None:
    """Return a rate at the low end of the span, if no rate near it has held; people want one that did."""
    near = findings.span.low / RATIO
    if any(step.outcome == "holds" and step.rate_per_s >= near for step in findings.steps):
        return None
    rate = _round(max(LOWEST, least, findings.span.low))
    tries = sum(near <= step.rate_per_s <= findings.span.low for step in findings.steps)
    return rate if tries < CONFIRMATIONS else None


def _round(rate: float) -> float:
    """Round to three digits, so that people can read and type the rate."""
    return float(f"{rate:.3g}")
