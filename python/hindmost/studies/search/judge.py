"""The judgement of one step by its runs.

A step is judged by an interval over its runs, never by a point. Runs with interference (`run.soundness`) are
excluded and repeated. Clocks and counters detect them whatever the server's latency is, so excluding them is
not biased. Interference only adds to latency, so all runs together may show that an objective holds. Either
the valid runs or all runs decide, never both, because a second look finds by chance what the first did not.
All runs are used when a step would be given up before it has enough valid runs for a look.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hindmost.notes import Note
from hindmost.plan import MeasurePlan, Objective, Term, share
from hindmost.run.calm.refusal import Refusal
from hindmost.run.figures import RunFigures
from hindmost.run.limits import REMAKE
from hindmost.run.soundness import SOUND, Kind, RepeatBudget, Soundness, soundness
from hindmost.stats import Decision, ObjectiveRule
from hindmost.stats.runs.objective import FIRST_LOOK
from hindmost.store.estimates import Value, to_value

Outcome = Literal["holds", "fails", "undecided", "unmet", "spoiled"]

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
    soundness: Soundness = SOUND

    @property
    def kind(self) -> Kind:
        """Whether and why the run does not count."""
        return self.soundness.kind

    @property
    def by_client(self) -> bool:
        """Whether the run fell short because the client was too busy."""
        return self.soundness.by == "client"


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
    against = {term.name: term.limit for term in objective.terms if not (term.is_share or term.calm)}
    worth = soundness(run, plan, against=against, errors_judged="errors" in values)
    if objective.calm and worth.kind in ("sound", "host"):
        why = run.calm.refused if run.calm is not None else None
        wanted = {term.name for term in objective.terms if term.calm}
        if run.calm is None:
            why = Refusal("no-sentinel", "this run did not look for interference", "")
        elif why is None and not wanted <= run.calm.values.keys():
            why = Refusal("few-quiet-spells", "interference cut too many requests short", "")
        if why is not None:
            text = f"no isolated latency: {why.text}"
            return StepRun(values, Soundness("host", text, "no-isolated-latency", values={"code": why.code}))
        worth = SOUND
    return StepRun(values, worth)


def _value(run: RunFigures, term: Term) -> float:
    if term.is_share:
        format_runs, of = share(term.name, run.counts)
        return format_runs / of
    if not term.calm:
        return run.values["latency"][term.name]
    # A run without isolated latency does not count (`step_run`).
    return math.inf if run.calm is None else run.calm.values.get(term.name, math.inf)


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
        kind: [one for one in made if one.kind == kind] for kind in ("sound", "host", "client", "errors")
    }
    short = [one for one in made if one.kind == "short"]
    sound = [one for one in made if one.kind == "sound"]
    if len(short) >= TWICE:
        return _judge_short(short)
    if len(kinds["errors"]) >= TWICE:
        return Judgement("unmet", kinds["errors"][0].soundness.note, len(made), 0.0)
    least, most = runs
    decided = _decide(sound, objective, runs)
    if decided is not None and not (short and decided.outcome == "holds"):
        return decided
    disturbed = len(kinds["host"])
    if len(kinds["client"]) >= TWICE and len(kinds["client"]) > len(sound):
        given_up = Judgement("unmet", kinds["client"][0].soundness.note, len(made), 0.0)
    elif len(sound) >= most or len(made) >= RepeatBudget(most, remake).most:
        given_up = (
            _judge_undecided(sound, objective, runs) if len(sound) >= FIRST_LOOK else _judge_spoiled(made)
        )
    elif disturbed >= max(DISTURBED, least) and disturbed > len(sound):
        given_up = _judge_spoiled(made)
    else:
        return None
    if len(sound) >= max(least, FIRST_LOOK):
        return given_up
    everything = _decide([one for one in made if one.kind != "errors"], objective, runs)
    if everything is not None and everything.outcome == "holds" and not short:
        why = Note("holds", f"{everything.why}, late sends included", {**everything.why.values, "late": True})
        return Judgement("holds", why, len(made), everything.error)
    return given_up


def _judge_short(short: Sequence[StepRun]) -> Judgement:
    """Judge a rate that was not reached: a busy client makes it unmet; a busy server makes it fail."""
    if all(one.by_client for one in short):
        return Judgement("unmet", short[0].soundness.note, len(short), 0.0)
    carried = [
        one.soundness.carried for one in short if one.soundness.carried is not None and not one.by_client
    ]
    return Judgement(
        "fails", next(one.soundness.note for one in short if not one.by_client), len(short), 0.0, max(carried)
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


def _judge_undecided(sound: Sequence[StepRun], objective: Objective, runs: tuple[int, int]) -> Judgement:
    for term in objective.terms:
        column = [one.values[term.key] for one in sound]
        if not rule_of(term, runs).holds(column):
            text = (
                f"the interval of {term.key} still includes {term.write(term.limit)} after {len(sound)} runs"
            )
            why = Note("undecided", text, {"name": term.key, "limit": term.limit, "runs": len(sound)})
            return Judgement("undecided", why, len(sound), error_of(term, column))
    why = Note("rate-not-reached", "one run did not reach the rate, the others did", {"runs": len(sound)})
    return Judgement("undecided", why, len(sound), SHARE_ERROR)


def _judge_spoiled(made: Sequence[StepRun]) -> Judgement:
    disturbed = [one for one in made if one.kind != "sound"]
    last = disturbed[-1].soundness
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
        return one.soundness.note if one.kind == "host" else None

    @property
    def judgement(self) -> Judgement | None:
        """The judgement on the runs so far."""
        return judge(self.made, self.objective, self.plan.runs, self.plan.remake)

    def decide(self, values: Mapping[str, Sequence[float]]) -> Decision:
        """Decide whether to make another run."""
        judgement, term = self.judgement, self.objective.leading
        sound = [one.values[term.key] for one in self.made if one.kind == "sound"]
        rule = rule_of(term, self.plan.runs)
        width = rule.interval(sound).relative_half_width if sound else math.inf
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
        sound = [one for one in self.made if one.kind == "sound"]
        return sound if len(sound) >= FIRST_LOOK else self.made

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
