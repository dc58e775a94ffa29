"""The highest rate that still meets an objective: ``hindmost measure --find-rate 'p99<500us'``.

::

    rate    up by doubling while the objective holds, down by halving while it does not: a bracket;
            then bisection on a logarithmic scale until the bracket is narrow enough
    step    a small study at one rate: runs until the interval lies on one side of the limit

A step that stays undecided counts as not holding: the answer errs towards the lower rate, and says so.
Every step is a whole study of its own under ``STUDY/steps``, so a search that was interrupted goes on where
it stopped, and any step can be reported on by itself.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from hindmost.experiment.answer import answer
from hindmost.experiment.procedure import Procedure, Watcher
from hindmost.plan import MeasurePlan, Threshold
from hindmost.stats import Decision, ObjectiveRule
from hindmost.store import Study, now_utc
from hindmost.targets import Attached, Managed

Outcome = Literal["holds", "fails", "undecided", "unmet"]

RATIO = 1.05
"""A bracket of 5 % is narrow enough: runs of one rate differ by that much."""
LOWEST, HIGHEST = 10.0, 5e6
"""Rates beyond which a search gives up: below, a run of seconds has too few requests; above, no server."""
MOST_STEPS = 24


@dataclass(frozen=True, slots=True)
class Step:
    """One rate that was tried. ``unmet``: the rate itself could not be reached or distorted the client."""

    rate_per_s: float
    outcome: Outcome
    value_us: float | None
    low_us: float | None
    high_us: float | None
    runs: int
    achieved_per_s: float
    why: str
    study: str


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found: the highest rate that held, and the lowest above it that did not."""

    objective: str
    holds: Step | None
    fails: Step | None
    steps: tuple[Step, ...]

    @property
    def headline(self) -> str:
        """One sentence."""
        if self.holds is None:
            lowest = min(self.steps, key=lambda step: step.rate_per_s)
            return (
                f"{self.objective} holds at no rate tried, not even {lowest.rate_per_s:.4g}/s ({lowest.why})"
            )
        best = self.holds
        text = (
            f"{self.objective} holds at {best.rate_per_s:.4g} requests/s:"
            f" {best.value_us:.4g} us [{best.low_us:.4g}, {best.high_us:.4g}] over {best.runs} runs"
        )
        if self.fails is None:
            return f"{text}; no higher rate was tried"
        return f"{text}; it does not at {self.fails.rate_per_s:.4g} ({self.fails.why})"

    def document(self) -> dict[str, Any]:
        """As JSON: ``hindmost.search/1``."""
        return {
            "schema": "hindmost.search/1",
            "created": now_utc(),
            "objective": self.objective,
            "headline": self.headline,
            "rate_per_s": None if self.holds is None else self.holds.rate_per_s,
            "steps": [asdict(step) for step in self.steps],
        }


class RateSearch:
    """Searches for the highest rate under an objective.

    Parameters
    ----------
    study : Study
        Takes the steps and the answer.
    plan : MeasurePlan
        Everything but the rate, which is where the search starts; ``plan.runs[1]`` bounds a step's runs.
    target : Attached or Managed
        What `plan.target` means.
    objective : Threshold
        A limit on a quantile that is among the plan's.
    watcher : callable
        Makes the watcher of a step from its plan.
    """

    def __init__(
        self,
        study: Study,
        plan: MeasurePlan,
        target: Attached | Managed,
        objective: Threshold,
        watcher: Callable[[MeasurePlan], Watcher],
    ) -> None:
        self.study = study
        self.plan = plan
        self.target = target
        self.objective = objective
        self.watcher = watcher
        self.steps: list[Step] = []

    def run(self) -> Found:
        """Search; steps that are already stored are not made again."""
        rate = self.plan.rate_per_s or 10_000.0
        holds: Step | None = None
        fails: Step | None = None
        while len(self.steps) < MOST_STEPS:
            step = self._try(rate)
            if step.outcome == "holds":
                holds = step
            else:
                fails = step
            if holds and fails:
                if fails.rate_per_s / holds.rate_per_s <= RATIO:
                    break
                rate = math.sqrt(holds.rate_per_s * fails.rate_per_s)
            else:
                rate = rate * 2.0 if holds else rate / 2.0
            rate = _round(rate)
            if not LOWEST <= rate <= HIGHEST:
                break
        return Found(self.objective.text, holds, fails, tuple(self.steps))

    def _try(self, rate: float) -> Step:
        plan = self.plan.model_copy(update={"rate_per_s": rate})
        folder = self.study.folder / "steps" / f"{rate:.6g}"
        step_study = self._open(folder, plan)
        most = max(3, plan.runs[1])
        rule = _WithRate(ObjectiveRule(self.objective.name, self.objective.limit_us, most), step_study)
        with step_study.lock():
            Procedure(step_study, plan, self.target, self.watcher(plan), rule).run()
            result = answer(step_study)
            step_study.write("result.json", json.dumps(result, allow_nan=False))
        step = self._judge(rate, result, rule.rule, folder)
        self.steps.append(step)
        return step

    def _open(self, folder: Path, plan: MeasurePlan) -> Study:
        if (folder / "manifest.json").exists():
            return Study.open(folder)
        return Study.create(folder, {**self.study.manifest, "plan": plan.model_dump(mode="json")})

    def _judge(self, rate: float, result: dict[str, Any], rule: ObjectiveRule, folder: Path) -> Step:
        name = self.objective.name
        one = result["latency_us"][name]
        values = [run["latency_us"][name] for run in result["runs"]]
        verdict = rule.holds([math.inf if v is None else v for v in values])
        spoiled = [r for r in result["reasons"] if r["level"] == "invalid"]
        outcome: Outcome
        if spoiled:
            outcome, why = "unmet", spoiled[0]["text"]
        elif verdict is None:
            outcome, why = "undecided", f"undecided after {one['runs']} runs"
        else:
            outcome = "holds" if verdict else "fails"
            shown = "infinitely late" if one["value"] is None else f"{one['value']:.4g} us"
            why = f"{name} {shown}"
        return Step(
            rate_per_s=rate,
            outcome=outcome,
            value_us=one["value"],
            low_us=one["low"],
            high_us=one["high"],
            runs=one["runs"],
            achieved_per_s=result["throughput"]["achieved"],
            why=why,
            study=str(folder.relative_to(self.study.folder)),
        )


class _WithRate:
    """An objective rule that also ends a step whose rate cannot be reached: more runs would not help."""

    def __init__(self, rule: ObjectiveRule, study: Study) -> None:
        self.rule = rule
        self.study = study

    def decide(self, values: Any) -> Decision:  # noqa: ANN401 (as ObjectiveRule.decide)
        decision = self.rule.decide(values)
        if not decision.stop and decision.runs == 2:
            reasons = answer(self.study)["reasons"]
            if any(r["level"] == "invalid" for r in reasons):
                return Decision(
                    True, False, "the rate cannot be measured", None, 2, decision.widest, decision.half_width
                )
        return decision


def _round(rate: float) -> float:
    """Three digits: rates that people can read and type again."""
    return float(f"{rate:.3g}")
