"""The procedure (Treadmill III-B): restart the server, run all clients, repeat until certain enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from hindmost.fleet import HERE, Fleet, Moment
from hindmost.notes import Note
from hindmost.plan import MeasurePlan
from hindmost.progress import counted
from hindmost.run.calm import RunCalm, find_refusal
from hindmost.run.capacity import fell_short
from hindmost.run.exclusion import exclusion, exhausted_budget
from hindmost.run.figure_cache import run_figures
from hindmost.run.figures import RunFigures
from hindmost.run.limits import SHORT_RUNS
from hindmost.run.making import make_run
from hindmost.stats import Decision
from hindmost.store import Study
from hindmost.studies.measure.answer import rule_of
from hindmost.targets import Attached, Managed


class Rule(Protocol):
    """Decides after each run whether to make another; `PrecisionRule` and `ObjectiveRule` are such."""

    def decide(self, values: Mapping[str, Sequence[float]]) -> Decision:
        """Look at the values of all runs made so far, by quantile."""


class Observer(Protocol):
    """Whoever wants to see how far it is."""

    def run_begins(self, number: int, least: int, most: int) -> None:
        """Run `number` begins."""

    def moment(self, moment: Moment) -> None:
        """Where the run stands."""

    def run_ended(self, figures: RunFigures, decision: Decision, aside: Note | None) -> None:
        """A run is stored; what was decided after it, and why it is set aside, if it is."""


class Procedure:
    """Measures a target into a study.

    Parameters
    ----------
    study : Study
        An open, locked study.
    plan : MeasurePlan
        What to do.
    target : Attached or Managed
        What `plan.target` means.
    observer : Observer
        Told how far it is.
    rule : Rule, optional
        Decides when the runs are enough; default: the plan's precision.
    saw : callable, optional
        Told of the figures of every run, those made earlier included, before the rule is asked; says why it
        is set aside, if it is. Default: by what the host took (`hindmost.run.soundness`).
    fleet : Fleet, optional
        Where the load clients run; default: this machine.
    """

    def __init__(
        self,
        study: Study,
        plan: MeasurePlan,
        target: Attached | Managed,
        observer: Observer,
        rule: Rule | None = None,
        saw: Callable[[RunFigures], Note | None] | None = None,
        fleet: Fleet = HERE,
    ) -> None:
        self.rule = rule or rule_of(plan)
        self._by_plan = rule is None
        self.saw = saw or (lambda run: exclusion(run, plan))
        self.study = study
        self.plan = plan
        self.target = target
        self.observer = observer
        self.fleet = fleet

    def run(self) -> Decision:
        """Make runs until the plan's rule says that it is enough; finished ones are never made anew.

        A run that is set aside does not count for the rule; another is made in its place, as far as the
        budget goes.

        Raises
        ------
        TargetError
            If the server cannot be started, reached, or dies.
        InstanceError
            If a load client fails.
        StudyError
            If a run cannot be stored.
        """
        values: dict[str, list[float]] = {name: [] for name in (*self.plan.labels, "mean")}
        calm: list[RunCalm] = []
        short: list[bool] = []
        aside: list[str] = []

        def look(figures: RunFigures) -> tuple[Decision, Note | None]:
            why = self.saw(figures)
            if figures.calm is not None and figures.calm.refused is None:
                calm.append(figures.calm)
            if why is not None:
                aside.append(why.code)
            else:
                for name, column in values.items():
                    column.append(figures.values["latency"][name])
                short.append(fell_short(self.plan, [figures]))
            return self._decided(values, calm, short, aside), why

        decision = self.rule.decide(values)
        for finished in counted("reading finished runs", self.study.runs()):
            decision, _ = look(run_figures(finished, self.plan))
        number = max((run.number for run in self.study.runs()), default=0)  # one may have been moved away
        while not decision.stop:
            number += 1
            self.observer.run_begins(number, *self.plan.runs)
            make_run(self.study, number, self.plan, self.target, look=self.observer.moment, fleet=self.fleet)
            made = self.study.run(number)
            assert made is not None
            figures = run_figures(made, self.plan)
            decision, why = look(figures)
            self.observer.run_ended(figures, decision, why)
        return decision

    def _decided(
        self,
        values: Mapping[str, Sequence[float]],
        calm: Sequence[RunCalm],
        short: Sequence[bool],
        aside: Sequence[str],
    ) -> Decision:
        """What the rule says; and whether more runs would be of no use, whatever it says."""
        decision = self.rule.decide(values)
        if decision.stop:
            return decision
        # Another rule has a budget of its own: it knows better what a run is worth to it.
        budget = exhausted_budget(len(short), len(aside), self.plan) if self._by_plan else None
        reason = budget.text if budget else None
        use_isolated = self._by_plan and self.plan.decide_on == "isolated" and any(one.thefts for one in calm)
        if (reason or use_isolated) and self._calm_counts(calm, len(short) + len(aside)):
            if reason:
                budget = exhausted_budget(len(short), len(aside), self.plan, calm=True)
                reason = budget.text if budget else None
            known = [one.values for one in calm if all(name in one.values for name in self.plan.labels)]
            by_calm = self.rule.decide({name: [one[name] for one in known] for name in self.plan.labels})
            if by_calm.stop:
                reason = f"{by_calm.reason} (isolated latency)"
        if len(short) >= SHORT_RUNS and all(short):
            reason = f"{len(short)} runs did not reach the requested rate: more runs would not help"
        return replace(decision, stop=True, reason=reason, next_look=None) if reason else decision

    @staticmethod
    def _calm_counts(calm: Sequence[RunCalm], runs: int) -> bool:
        """Whether calm latency is to be had from most runs: then those that were set aside tell something."""
        if 2 * len(calm) < runs:
            return False
        why = find_refusal(calm)
        return why is None or why.code == "few-quiet-spells"
