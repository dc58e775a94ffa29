"""The procedure (Treadmill III-B): restart the server, run all clients, repeat until precise enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from hindmost.commands.measure.answer import rule_of
from hindmost.core.fleet import HERE, Fleet
from hindmost.core.notes import Note
from hindmost.core.plan import MeasurePlan
from hindmost.core.progress import iterate_parts
from hindmost.core.run.capacity import fell_short
from hindmost.core.run.exclusion import exclusion, exhausted_budget
from hindmost.core.run.figure_cache import run_figures
from hindmost.core.run.figures import RunFigures
from hindmost.core.run.isolated import RunIsolated, find_refusal
from hindmost.core.run.limits import SHORT_RUNS
from hindmost.core.run.making import make_run
from hindmost.core.store import Study
from hindmost.core.study.talk import Observer
from hindmost.core.targets import Attached, Managed
from hindmost.stats import Decision


class Rule(Protocol):
    """Decides after each run whether to make another, as `PrecisionRule` and `ObjectiveRule` do."""

    def decide(self, values: Mapping[str, Sequence[float]]) -> Decision:
        """Decide from the values of all runs so far, by quantile."""


class Procedure:
    """Measures a target into a study.

    Parameters
    ----------
    study : Study
        An open, locked study.
    plan : MeasurePlan
        What to measure, and how.
    target : Attached or Managed
        The target of `plan.target`.
    observer : Observer
        Receives the progress.
    rule : Rule, optional
        Decides when there are enough runs; default: the plan's precision.
    exclude : callable, optional
        Called with the figures of every run, including stored ones, before the rule. Returns why the run is
        excluded, if it is. Default: excludes runs with interference (`hindmost.core.run.status`).
    fleet : Fleet, optional
        Where the clients run; default: this machine.
    """

    def __init__(
        self,
        study: Study,
        plan: MeasurePlan,
        target: Attached | Managed,
        observer: Observer,
        rule: Rule | None = None,
        exclude: Callable[[RunFigures], Note | None] | None = None,
        fleet: Fleet = HERE,
    ) -> None:
        self.rule = rule or rule_of(plan)
        self._by_plan = rule is None
        self.exclude = exclude or (lambda run: exclusion(run, plan))
        self.study = study
        self.plan = plan
        self.target = target
        self.observer = observer
        self.fleet = fleet

    def run(self) -> Decision:
        """Make runs until the rule stops. Stored runs are reused.

        An excluded run does not count for the rule, and is repeated within the budget.

        Raises
        ------
        TargetError
            The server cannot be started or reached, or dies.
        InstanceError
            A client fails.
        StudyError
            A run cannot be stored.
        """
        values: dict[str, list[float]] = {name: [] for name in (*self.plan.labels, "mean")}
        isolated: list[RunIsolated] = []
        short: list[bool] = []
        aside: list[str] = []

        def process(figures: RunFigures) -> tuple[Decision, Note | None]:
            why = self.exclude(figures)
            if figures.isolated is not None and figures.isolated.refused is None:
                isolated.append(figures.isolated)
            if why is not None:
                aside.append(why.code)
            else:
                for name, column in values.items():
                    column.append(figures.values["latency"][name])
                short.append(fell_short(self.plan, [figures]))
            return self._decide(values, isolated, short, aside), why

        decision = self.rule.decide(values)
        for finished in iterate_parts("reading finished runs", self.study.runs()):
            decision, _ = process(run_figures(finished, self.plan))
        number = max((run.number for run in self.study.runs()), default=0)  # numbers may have gaps
        while not decision.stop:
            number += 1
            self.observer.run_begins(number, *self.plan.runs)
            make_run(self.study, number, self.plan, self.target, look=self.observer.moment, fleet=self.fleet)
            made = self.study.run(number)
            assert made is not None
            figures = run_figures(made, self.plan)
            decision, why = process(figures)
            self.observer.run_ended(figures, decision, why)
        return decision

    def _decide(
        self,
        values: Mapping[str, Sequence[float]],
        isolated: Sequence[RunIsolated],
        short: Sequence[bool],
        aside: Sequence[str],
    ) -> Decision:
        """Apply the rule, and stop also if more runs would not help."""
        decision = self.rule.decide(values)
        if decision.stop:
            return decision
        # Another rule than the plan's has its own budget.
        budget = exhausted_budget(len(short), len(aside), self.plan) if self._by_plan else None
        reason = budget.text if budget else None
        use_isolated = (
            self._by_plan and self.plan.decide_on == "isolated" and any(one.interruptions for one in isolated)
        )
        if (reason or use_isolated) and self._isolated_counts(isolated, len(short) + len(aside)):
            if reason:
                budget = exhausted_budget(len(short), len(aside), self.plan, isolated=True)
                reason = budget.text if budget else None
            known = [one.values for one in isolated if all(name in one.values for name in self.plan.labels)]
            by_isolated = self.rule.decide({name: [one[name] for one in known] for name in self.plan.labels})
            if by_isolated.stop:
                reason = f"{by_isolated.reason} (isolated latency)"
        if len(short) >= SHORT_RUNS and all(short):
            reason = f"{len(short)} runs did not reach the requested rate: more runs would not help"
        return replace(decision, stop=True, reason=reason, next_look=None) if reason else decision

    @staticmethod
    def _isolated_counts(isolated: Sequence[RunIsolated], runs: int) -> bool:
        """Whether most runs have isolated latency, so that excluded runs contribute to it."""
        if 2 * len(isolated) < runs:
            return False
        why = find_refusal(isolated)
        return why is None or why.code == "few-quiet-spells"
