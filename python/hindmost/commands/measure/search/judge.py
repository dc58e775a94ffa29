"""The judgement of one step by its runs.

A step is judged by an interval over its runs, never by a point. Runs with interference (`run.status`) are
excluded and repeated. Clocks and counters detect them whatever the server's latency is, so excluding them is
not biased. Interference only adds to latency, so all runs together may show that an objective holds. Either
the valid runs or all runs decide, never both, because a second look finds by chance what the first did not.
All runs are used when a step would be given up before it has enough valid runs for a look.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.commands.measure.search.document import Outcome
from hindmost.core.notes import Note
from hindmost.core.plan import MeasurePlan, Objective, Term, share
from hindmost.core.run.figures import RunFigures
from hindmost.core.run.isolated.refusal import Refusal
from hindmost.core.run.limits import REMAKE
from hindmost.core.run.status import COUNTED, Kind, RepeatBudget, RunStatus, status
from hindmost.core.store.estimates import Value, to_value
from hindmost.stats import Decision, ObjectiveRule
from hindmost.stats.runs.objective import FIRST_LOOK

TWICE = 2
"""Runs that must agree before a rate is given up for what spoils runs at that rate."""
DISTURBED = 4
"""Disturbed runs, if they outnumber the valid ones, after which a step is given up and repeated later."""
SHARE_ERROR = 0.02
"""Relative standard error, in the rate, of a judgement on a share of requests."""


@dataclass(frozen=True, slots=True)
class StepRun:
    """One run of a step: the figures of the objective's terms, and whether the run counts."""

    values: Mapping[str, float]
    status: RunStatus = COUNTED

    @property
    def kind(self) -> Kind:
        """Whether and why the run does not count."""
        return self.status.kind

    @property
    def by_client(self) -> bool:
        """Whether the run fell short because the client was too busy."""
        return self.status.by == "client"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgement of a step.

    ``error``: relative standard error of the judged figure. ``at_most_per_s``: the throughput of a saturated
    server. ``judged``: number of runs that counted.
    """

    outcome: Outcome
    why: Note
    judged: int
    error: float
    at_most_per_s: float | None = None


def step_run(run: RunFigures, plan: MeasurePlan, objective: Objective) -> StepRun:
    """Reduce a run to what its step needs; send delays are compared with the objective's own limits.

    If only isolated latency is limited, interference does not exclude a run, unless the run has no isolated
    latency because of it.
    """
    values = {term.key: _value(run, term) for term in objective.terms}
    against = {
        term.name: term.limit
        for term in objective.terms
        if not (term.is_share or term.isolated or term.time == "message_gap")
    }
    worth = status(run, plan, against=against, errors_judged="errors" in values)
    if objective.isolated and worth.kind in ("counted", "host"):
        why = run.isolated.refused if run.isolated is not None else None
        wanted = {term.name for term in objective.terms if term.isolated}
        if run.isolated is None:
            why = Refusal("no-sentinel", "this run did not look for interference", "")
        elif why is None and not wanted <= run.isolated.values.keys():
            why = Refusal("few-quiet-spells", "interference cut too many requests short", "")
        if why is not None:
            text = f"no isolated latency: {why.text}"
            return StepRun(values, RunStatus("host", text, "no-isolated-latency", values={"code": why.code}))
        worth = COUNTED
    return StepRun(values, worth)


def _value(run: RunFigures, term: Term) -> float:
    if term.is_share:
        format_runs, of = share(term.name, run.counts)
        return format_runs / of
    if not term.isolated:
        # A run without messages or sessions has no times of theirs.
        return run.values.get(term.time, {}).get(term.name, math.inf)
    # A run without isolated latency does not count (`step_run`).
    return math.inf if run.isolated is None else run.isolated.values.get(term.name, math.inf)


def judge(
    made: Sequence[StepRun], objective: Objective, runs: tuple[int, int], remake: float = REMAKE
) -> Judgement | None:
    """Judge a step by its runs so far; None while more runs may help.

    Parameters
    ----------
    runs : (int, int)
        Fewest and most runs that count.
    remake : float
        Runs that may be repeated, as a share of the most.
    """
    kinds = {
        kind: [one for one in made if one.kind == kind] for kind in ("counted", "host", "client", "errors")
    }
    short = [one for one in made if one.kind == "short"]
    counted = [one for one in made if one.kind == "counted"]
    if len(short) >= TWICE:
        return _judge_short(short)
    if len(kinds["errors"]) >= TWICE:
        return Judgement("unmet", kinds["errors"][0].status.note, len(made), 0.0)
    least, most = runs
    decided = _decide(counted, objective, runs)
    if decided is not None and not (short and decided.outcome == "holds"):
        return decided
    disturbed = len(kinds["host"])
    if len(kinds["client"]) >= TWICE and len(kinds["client"]) > len(counted):
        given_up = Judgement("unmet", kinds["client"][0].status.note, len(made), 0.0)
    elif len(counted) >= most or len(made) >= RepeatBudget(most, remake).most:
        given_up = (
            _judge_undecided(counted, objective, runs) if len(counted) >= FIRST_LOOK else _judge_spoiled(made)
        )
    elif disturbed >= max(DISTURBED, least) and disturbed > len(counted):
        given_up = _judge_spoiled(made)
    else:
        return None
    if len(counted) >= max(least, FIRST_LOOK):
        return given_up
    everything = _decide([one for one in made if one.kind != "errors"], objective, runs)
    if everything is not None and everything.outcome == "holds" and not short:
        why = Note("holds", f"{everything.why}, late sends included", {**everything.why.values, "late": True})
        return Judgement("holds", why, len(made), everything.error)
    return given_up


def _judge_short(short: Sequence[StepRun]) -> Judgement:
    """Judge a rate that was not reached: a busy client makes it unmet; a busy server makes it fail."""
    if all(one.by_client for one in short):
        return Judgement("unmet", short[0].status.note, len(short), 0.0)
    carried = [one.status.carried for one in short if one.status.carried is not None and not one.by_client]
    return Judgement(
        "fails", next(one.status.note for one in short if not one.by_client), len(short), 0.0, max(carried)
    )


def _decide(made: Sequence[StepRun], objective: Objective, runs: tuple[int, int]) -> Judgement | None:
    """Decide by intervals: all terms lie below their limits, or one lies above; None if neither is known."""
    if not made:
        return None
    answers = {}
    for term in objective.terms:
        column = [one.values[term.key] for one in made]
        answers[term] = rule_of(term, runs).holds(column)
        if answers[term] is False:
            infinite = sum(math.isinf(v) for v in column)
            text = (
                f"{term.key} is infinite in {infinite} of {len(column)} runs"
                if infinite
                else f"the interval of {term.key} is above {term.write(term.limit)}"
            )
            values = {"name": term.key, "limit": term.limit, "infinite": infinite}
            return Judgement("fails", Note("fails", text, values), len(made), error_of(term, column))
    if not all(answers.values()):
        return None
    terms = " and ".join(f"{term.key} is below {term.write(term.limit)}" for term in objective.terms)
    error = max(error_of(term, [one.values[term.key] for one in made]) for term in objective.terms)
    return Judgement("holds", Note("holds", f"the interval of {terms}"), len(made), error)


def rule_of(term: Term, runs: tuple[int, int]) -> ObjectiveRule:
    """Return the rule that decides a term."""
    return ObjectiveRule(term.key, term.limit, max(runs[1], FIRST_LOOK), runs[0])


def _judge_undecided(counted: Sequence[StepRun], objective: Objective, runs: tuple[int, int]) -> Judgement:
    for term in objective.terms:
        column = [one.values[term.key] for one in counted]
        if not rule_of(term, runs).holds(column):
            limit = term.write(term.limit)
            text = f"the interval of {term.key} still includes {limit} after {len(counted)} runs"
            why = Note("undecided", text, {"name": term.key, "limit": term.limit, "runs": len(counted)})
            return Judgement("undecided", why, len(counted), error_of(term, column))
    why = Note("rate-not-reached", "one run did not reach the rate, the others did", {"runs": len(counted)})
    return Judgement("undecided", why, len(counted), SHARE_ERROR)


def _judge_spoiled(made: Sequence[StepRun]) -> Judgement:
    disturbed = [one for one in made if one.kind != "counted"]
    last = disturbed[-1].status
    text = f"interference disturbed {len(disturbed)} of {len(made)} runs: {last.why}"
    values = {"disturbed": len(disturbed), "made": len(made), "code": last.code}
    return Judgement("spoiled", Note("disturbed-runs", text, values), len(made), 0.0)


def error_of(term: Term, values: Sequence[float]) -> float:
    """Return the relative standard error of the median over runs, from the median absolute deviation."""
    if term.is_share:
        return SHARE_ERROR
    finite = np.log([v for v in values if math.isfinite(v) and v > 0.0])
    if finite.size < 2:
        return 0.0
    scale = 1.4826 * float(np.median(np.abs(finite - np.median(finite)))) * (1.0 + 2.0 / finite.size)
    return math.sqrt(math.pi / 2.0) * scale / math.sqrt(finite.size)


class StepRule:
    """Ends a step's runs when they can be judged; a `Rule` to which the procedure reports every run."""

    def __init__(self, objective: Objective, plan: MeasurePlan) -> None:
        self.objective = objective
        self.plan = plan
        self.made: list[StepRun] = []

    def record(self, run: RunFigures) -> Note | None:
        """Record a run; return why it is excluded, if it is."""
        one = step_run(run, self.plan, self.objective)
        self.made.append(one)
        return one.status.note if one.kind == "host" else None

    @property
    def judgement(self) -> Judgement | None:
        """The judgement on the runs so far."""
        return judge(self.made, self.objective, self.plan.runs, self.plan.remake)

    def decide(self, values: Mapping[str, Sequence[float]]) -> Decision:
        """Decide whether to make another run."""
        judgement, term = self.judgement, self.objective.leading
        counted = [one.values[term.key] for one in self.made if one.kind == "counted"]
        rule = rule_of(term, self.plan.runs)
        width = rule.interval(counted).relative_half_width if counted else math.inf
        runs = len(self.made)
        return Decision(
            stop=judgement is not None,
            reached=judgement is not None and judgement.outcome in ("holds", "fails"),
            reason=judgement.why.text if judgement else f"after {runs} runs {term.key} may be on either side",
            next_look=None if judgement else runs + 1,
            runs=runs,
            widest=term.name,
            half_width=width,
        )

    @property
    def _counted_runs(self) -> list[StepRun]:
        counted = [one for one in self.made if one.kind == "counted"]
        return counted if len(counted) >= FIRST_LOOK else self.made

    @property
    def above(self) -> int:
        """Number of counted runs in which a term exceeds its limit."""
        return sum(
            any(one.values[term.key] >= term.limit for term in self.objective.terms)
            for one in self._counted_runs
        )

    def interval(self) -> Value:
        """Return the value and interval of the leading term over the counted runs."""
        column = [one.values[self.objective.leading.key] for one in self._counted_runs]
        return to_value(rule_of(self.objective.leading, self.plan.runs).interval(column))
