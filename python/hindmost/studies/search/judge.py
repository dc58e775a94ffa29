"""What the runs of one step say of its objective.

A step is judged by intervals over its runs, never by a point. Runs that the host disturbed are left out and
made again: late sending and stolen time say so whatever the server answered, so leaving such runs out favours
no answer. They only add to latency, so all runs together may show that an objective holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hindmost.plan import SHARES, MeasurePlan, Objective, Term
from hindmost.run import limits
from hindmost.run.capacity import replies_per_s, saturation
from hindmost.run.figures import RunFigures
from hindmost.run.verdict.alone import reasons_of_run
from hindmost.stats import Decision, ObjectiveRule, mean_interval
from hindmost.stats.runs.objective import FIRST_LOOK

Outcome = Literal["holds", "fails", "undecided", "unmet", "spoiled"]
Kind = Literal["calm", "host", "client", "errors", "short"]

LATE = frozenset({"slip", "arrivals", "client_busy"})
"""Findings of a client that was late, or too busy to be on time."""
HOST = frozenset({"steal", "run_delay", "throttled"})
"""Findings of a host that took processors away."""
TWICE = 2
"""What spoils a rate by itself is believed when two runs agree."""
DISTURBED = 4
"""A step with so many disturbed runs, more than it has calm ones, is given up and made again later."""
SHARE_ERROR = 0.02
"""Relative standard error, in the rate, of a judgement on a share of requests."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of a step: its figures of the objective's terms, and what kind of run it was.

    ``calm``; ``host``: disturbed by the host; ``client``: the client itself was too busy; ``errors``: too
    many errors for latencies to mean anything; ``short``: the rate was not carried, ``carried`` replies a
    second were, by the server's doing unless ``by_client``.
    """

    values: Mapping[str, float]
    kind: Kind = "calm"
    why: str = ""
    carried: float | None = None
    by_client: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a step says.

    ``error`` is the relative standard error of what was judged; ``at_most_per_s`` what a saturated server
    carried; ``judged`` how many runs counted.
    """

    outcome: Outcome
    why: str
    judged: int
    error: float
    at_most_per_s: float | None = None


def trial_of(run: RunFigures, plan: MeasurePlan, objective: Objective) -> Trial:
    """Boil a run down to what its step needs."""
    due = max(1, run.counts["due"])
    values = {
        term.name: sum(run.counts[name] for name in SHARES[term.name]) / due
        if term.is_share
        else run.values["latency"][term.name]
        for term in objective.terms
    }
    target = run.record["target"]
    full = saturation(plan, target, [run])
    if full is not None:
        return Trial(values, "short", full.text, replies_per_s(run, plan), full.by == "client")
    reasons = reasons_of_run(plan, run, target)
    grave = {reason.code: reason for reason in reasons if reason.level == "invalid"}
    if "errors" in grave and "errors" not in values:
        return Trial(values, "errors", grave["errors"].text)
    busy = max(one.busy_share for one in run.instances)
    late = [r for r in grave.values() if r.code in LATE and (not r.labels or set(r.labels) & set(values))]
    if late and (busy > limits.BUSY_MIND or plan.pacing == "sleep"):
        return Trial(values, "client", late[0].text)
    disturbed = late + [r for r in reasons if r.code in HOST and r.level != "mind"]
    return Trial(values, "host", disturbed[0].text) if disturbed else Trial(values)


def judge(trials: Sequence[Trial], objective: Objective, runs: tuple[int, int]) -> Judgement | None:
    """Judge a step by its runs so far; None while more of them may help.

    Parameters
    ----------
    runs : (int, int)
        At least and at most, of those that count.
    """
    kinds = {kind: [t for t in trials if t.kind == kind] for kind in ("calm", "host", "client", "errors")}
    short = [t for t in trials if t.kind == "short"]
    calm = [t for t in trials if t.kind == "calm"]
    if len(short) >= TWICE:
        return _short(short)
    if len(kinds["errors"]) >= TWICE:
        return Judgement("unmet", kinds["errors"][0].why, len(trials), 0.0)
    least, most = runs
    decided = _decided(calm, objective, runs)
    if decided is not None and not (short and decided.outcome == "holds"):
        return decided
    everything = _decided([t for t in trials if t.kind != "errors"], objective, runs)
    if everything is not None and everything.outcome == "holds" and not short and len(trials) > len(calm):
        return Judgement("holds", f"{everything.why}, late sending included", len(trials), everything.error)
    if len(kinds["client"]) >= TWICE and len(kinds["client"]) > len(calm):
        return Judgement("unmet", kinds["client"][0].why, len(trials), 0.0)
    if len(calm) >= most or len(trials) >= 2 * most:
        return _undecided(calm, objective) if len(calm) >= FIRST_LOOK else _spoiled(trials)
    disturbed = len(kinds["host"])
    if disturbed >= max(DISTURBED, least) and disturbed > len(calm):
        return _spoiled(trials)
    return None


def _short(short: Sequence[Trial]) -> Judgement:
    """The rate was not carried: by a busy client it could not be measured, by the server it does not hold."""
    if all(t.by_client for t in short):
        return Judgement("unmet", short[0].why, len(short), 0.0)
    carried = [t.carried for t in short if t.carried is not None and not t.by_client]
    return Judgement("fails", next(t.why for t in short if not t.by_client), len(short), 0.0, max(carried))


def _decided(trials: Sequence[Trial], objective: Objective, runs: tuple[int, int]) -> Judgement | None:
    """What the intervals say, where every term lies on one side of its limit, or one lies above."""
    if not trials:
        return None
    answers = {}
    for term in objective.terms:
        column = [t.values[term.name] for t in trials]
        rule = ObjectiveRule(term.name, term.limit, max(runs[1], FIRST_LOOK), runs[0])
        answers[term] = rule.holds(column)
        if answers[term] is False:
            infinite = sum(math.isinf(v) for v in column)
            why = (
                f"{term.name} is infinitely late in {infinite} of {len(column)} runs"
                if infinite
                else f"the interval of {term.name} lies above {term.write(term.limit)}"
            )
            return Judgement("fails", why, len(trials), error_of(term, column))
    if not all(answers.values()):
        return None
    told = " and ".join(f"{term.name} lies below {term.write(term.limit)}" for term in objective.terms)
    error = max(error_of(term, [t.values[term.name] for t in trials]) for term in objective.terms)
    return Judgement("holds", f"the interval of {told}", len(trials), error)


def _undecided(calm: Sequence[Trial], objective: Objective) -> Judgement:
    for term in objective.terms:
        column = [t.values[term.name] for t in calm]
        interval = mean_interval(column)
        if not interval.high < term.limit:
            why = f"the interval of {term.name} still reaches {term.write(term.limit)} after {len(calm)} runs"
            return Judgement("undecided", why, len(calm), error_of(term, column))
    return Judgement("undecided", "one run did not carry the rate, the others did", len(calm), SHARE_ERROR)


def _spoiled(trials: Sequence[Trial]) -> Judgement:
    disturbed = [t for t in trials if t.kind != "calm"]
    why = f"{len(disturbed)} of {len(trials)} runs were disturbed: {disturbed[-1].why}"
    return Judgement("spoiled", why, len(trials), 0.0)


def error_of(term: Term, values: Sequence[float]) -> float:
    """Relative standard error of a mean over runs, as far as the finite ones tell."""
    if term.is_share:
        return SHARE_ERROR
    finite = np.log([v for v in values if math.isfinite(v) and v > 0.0])
    return float(finite.std(ddof=1) / math.sqrt(finite.size)) if finite.size >= 2 else 0.0


class StepRule:
    """Ends a step's runs when they can be judged; a `Rule` for the procedure, which shows it every run."""

    def __init__(self, objective: Objective, plan: MeasurePlan) -> None:
        self.objective = objective
        self.plan = plan
        self.trials: list[Trial] = []

    def saw(self, run: RunFigures) -> None:
        """Take in a run."""
        self.trials.append(trial_of(run, self.plan, self.objective))

    @property
    def judgement(self) -> Judgement | None:
        """What the runs so far say."""
        return judge(self.trials, self.objective, self.plan.runs)

    def decide(self, values: Mapping[str, Sequence[float]]) -> Decision:
        """Whether to make another run."""
        found, term = self.judgement, self.objective.leading
        calm = [t.values[term.name] for t in self.trials if t.kind == "calm"]
        width = mean_interval(calm).relative_half_width if calm else math.inf
        runs = len(self.trials)
        return Decision(
            stop=found is not None,
            reached=found is not None and found.outcome in ("holds", "fails"),
            reason=found.why if found else f"after {runs} runs {term.name} may lie on either side",
            next_look=None if found else runs + 1,
            runs=runs,
            widest=term.name,
            half_width=width,
        )

    def interval(self) -> dict[str, Any]:
        """Value and interval of the leading term over the runs that count; None is infinitely late."""
        name = self.objective.leading.name
        calm = [t.values[name] for t in self.trials if t.kind == "calm"]
        column = calm if len(calm) >= FIRST_LOOK else [t.values[name] for t in self.trials]
        one = mean_interval(column)
        ends = {"value_us": one.value, "low_us": 0.0 if one.low < 0.0 else one.low, "high_us": one.high}
        return {key: value if math.isfinite(value) else None for key, value in ends.items()}
