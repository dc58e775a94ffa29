"""The highest rate that still meets an objective: ``hindmost measure --find-rate 'p99<500us'``.

::

    rate    up by doubling while the objective holds, down by halving while it does not: a bracket;
            then bisection on a logarithmic scale until the bracket is narrow enough
    step    a small study at one rate: runs until the interval lies on one side of the limit

A step that stays undecided counts as not holding: the answer errs towards the lower rate, and says so. Where
a client was late or busy, its delays only add to latency, which counts from the due time (in a queue that
serves in order, no departure gets earlier by delaying arrivals): such a step may hold, but never fail.
Every step is a whole study of its own under ``STUDY/steps``, so a search that was interrupted goes on where
it stopped, and any step can be reported on by itself. ``STUDY/search.json`` is written after every step.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from hindmost.errors import InstanceError, StudyError, TargetError
from hindmost.experiment.answer import answer
from hindmost.experiment.limits import SAMPLES_INCONCLUSIVE
from hindmost.experiment.procedure import Procedure, Watcher
from hindmost.plan import MeasurePlan, Threshold
from hindmost.plan.units import format_us
from hindmost.stats import Decision, ObjectiveRule
from hindmost.store import Study, now_utc
from hindmost.targets import Attached, Managed

Outcome = Literal["holds", "fails", "undecided", "unmet"]

SCHEMA = "hindmost.search/1"
FILE = "search.json"
RATIO = 1.05
"""A bracket of 5 % is narrow enough: runs of one rate differ by that much."""
LOWEST, HIGHEST = 10.0, 5e6
"""Rates beyond which a search gives up: below, a run of seconds has too few requests; above, no server."""
MOST_STEPS = 24
LATE = frozenset({"slip", "arrivals", "client_busy"})
"""Findings of a client that was late; all other grave ones (rate, errors) spoil a step altogether."""
DIED = ("server_gone", "closing")
"""The engine's words for a server that went away under load."""


@dataclass(frozen=True, slots=True)
class Step:
    """One rate that was tried.

    ``unmet``: the rate could not be reached, distorted the client, or the server died of it. Latencies are
    microseconds; None is infinitely late, or not known (``runs`` is 0).
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


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found: the highest rate that held, and the lowest above it that did not."""

    objective: str
    holds: Step | None
    fails: Step | None
    steps: tuple[Step, ...]
    finished: bool = True

    @classmethod
    def of(cls, objective: str, steps: Sequence[Step], *, finished: bool) -> Found:
        """Read the bracket from the steps made so far."""
        good = [step for step in steps if step.outcome == "holds"]
        best = max(good, key=lambda step: step.rate_per_s, default=None)
        above = [s for s in steps if s.outcome != "holds" and (not best or s.rate_per_s > best.rate_per_s)]
        return cls(
            objective,
            best,
            min(above, key=lambda step: step.rate_per_s, default=None),
            tuple(steps),
            finished,
        )

    @property
    def headline(self) -> str:
        """One sentence."""
        if not self.steps:
            return f"{self.objective}: no rate has been tried yet"
        text = self._outcome()
        return text if self.finished else f"the search is not finished; so far: {text}"

    def _outcome(self) -> str:
        if self.holds is None:
            assert self.fails is not None
            lowest = self.fails
            all_open = all(step.outcome == "undecided" for step in self.steps)
            how = "is undecided at every rate tried, down to" if all_open else "holds at no rate, not even at"
            return f"{self.objective} {how} {at(lowest)}: {brief(lowest)}"
        best = self.holds
        text = f"{self.objective} holds up to {at(best)}: {figures(best)} over {best.runs} runs"
        above = self.fails
        if above is None:
            return f"{text}; it held at every rate tried, so the highest is not known"
        wide = "" if above.rate_per_s / best.rate_per_s <= RATIO or not self.finished else ", a wide gap"
        words = {
            "fails": f"it fails at {at(above)} ({figures(above)}{wide})",
            "undecided": f"it is undecided at {at(above)} ({figures(above)} after {above.runs} runs{wide})",
            "unmet": f"{at(above)} could not be measured{wide}: {brief(above)}",
        }
        return f"{text}; {words[above.outcome]}"

    def document(self) -> dict[str, Any]:
        """As JSON: ``hindmost.search/1``."""
        return {
            "schema": SCHEMA,
            "created": now_utc(),
            "objective": self.objective,
            "finished": self.finished,
            "headline": self.headline,
            "rate_per_s": None if self.holds is None else self.holds.rate_per_s,
            "not_at_per_s": None if self.fails is None else self.fails.rate_per_s,
            "steps": [asdict(step) for step in self.steps],
        }


def at(step: Step) -> str:
    """The rate of a step in words."""
    return f"{step.rate_per_s:,.10g} requests/s"


def figures(step: Step) -> str:
    """What a step found for the objective's figure: value and interval."""
    if not step.runs:
        return "no finished run"
    if step.value_us is None:
        return "infinitely late"
    if step.low_us is None or step.high_us is None:
        return format_us(step.value_us)
    return f"{format_us(step.value_us)} [{format_us(step.low_us)}, {format_us(step.high_us)}]"


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
    again = f"hindmost measure --resume {study.folder}"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise ValueError(f"its format is {document['schema']!r}, not {SCHEMA!r}")
        steps = [Step(**{name: one[name] for name in Step.__slots__}) for one in document["steps"]]
        return Found.of(document["objective"], steps, finished=document["finished"])
    except FileNotFoundError:
        raise StudyError(f"the search in {study.folder} has no finished step", hint=again) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StudyError(f"{path} cannot be read: {error}", hint=again) from None


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
    objective : Threshold
        A limit on the mean, or on a quantile that is among the plan's.
    watcher : callable
        Makes the watcher of a step from its plan.
    told : callable, optional
        Told of each step when it is done.
    """

    def __init__(
        self,
        study: Study,
        plan: MeasurePlan,
        target: Attached | Managed,
        objective: Threshold,
        watcher: Callable[[MeasurePlan], Watcher],
        told: Callable[[Step], None] = lambda _: None,
    ) -> None:
        self.study = study
        self.plan = plan
        self.target = target
        self.objective = objective
        self.watcher = watcher
        self.told = told
        self.steps: list[Step] = []

    def run(self) -> Found:
        """Search; runs that are already stored are not made again.

        Raises
        ------
        TargetError, InstanceError
            If the server cannot be reached or started, or dies where it cannot be restarted.
        StudyError
            If a step cannot be stored.
        """
        rate: float | None = self.plan.rate_per_s or 10_000.0
        found = Found.of(self.objective.text, (), finished=False)
        while rate is not None:
            self.steps.append(self._try(rate))
            found = Found.of(self.objective.text, self.steps, finished=False)
            rate = self._next(found)
            found = Found.of(self.objective.text, self.steps, finished=rate is None)
            self.study.write(FILE, json.dumps(found.document(), allow_nan=False))
            self.told(self.steps[-1])
        return found

    def _next(self, found: Found) -> float | None:
        """The rate of the next step; None when the search is over."""
        holds, fails = found.holds, found.fails
        if len(self.steps) >= MOST_STEPS:
            return None
        if holds and fails:
            if fails.rate_per_s / holds.rate_per_s <= RATIO:
                return None
            return _round(math.sqrt(holds.rate_per_s * fails.rate_per_s))
        last = self.steps[-1].rate_per_s
        if last == (HIGHEST if holds else LOWEST):
            return None
        return min(HIGHEST, max(LOWEST, _round(last * 2.0 if holds else last / 2.0)))

    def _try(self, rate: float) -> Step:
        plan = self.plan.model_copy(update={"rate_per_s": rate})
        folder = self.study.folder / "steps" / f"{rate:.12g}"
        study = self._open(folder, plan)
        least, most = plan.runs
        rule = ObjectiveRule(self.objective.name, self.objective.limit_us, most, least)
        with study.lock():
            try:
                Procedure(study, plan, self.target, self.watcher(plan), _Reachable(rule, study)).run()
            except (InstanceError, TargetError) as error:
                return self._died(rate, error, study)
            result = answer(study)
            study.write("result.json", json.dumps(result, allow_nan=False))
        return self._judge(rate, result, rule, folder)

    def _open(self, folder: Path, plan: MeasurePlan) -> Study:
        """The study of a step, new or to go on with; its runs' bounds may have changed."""
        manifest = {k: v for k, v in self.study.manifest.items() if k != "search"}
        manifest["plan"] = plan.model_dump(mode="json")
        if not (folder / "manifest.json").exists():
            shutil.rmtree(folder, ignore_errors=True)  # killed before its manifest stood: nothing is in it
            return Study.create(folder, manifest)
        study = Study.open(folder)
        study.manifest["plan"] = manifest["plan"]
        study.write("manifest.json", json.dumps(study.manifest, indent=1))
        return study

    def _died(self, rate: float, error: InstanceError | TargetError, study: Study) -> Step:
        """A rate that killed a server which can be started again is too high; all else is an error."""
        # The engine's word is in the error itself, or in the one that was put into other words.
        words = [getattr(one, "code", None) for one in (error, error.__context__)]
        before = [step for step in self.steps if not step.runs]
        hopeless = bool(before) and len(before) == len(self.steps)  # it never lived through a run
        if not self.target.managed or hopeless or not set(DIED) & set(words):
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
        )

    def _judge(self, rate: float, result: Mapping[str, Any], rule: ObjectiveRule, folder: Path) -> Step:
        name = self.objective.name
        one = result["latency_us"][name]
        values = [run["latency_us"][name] for run in result["runs"]]
        verdict = rule.holds([math.inf if v is None else v for v in values])
        limit = format_us(self.objective.limit_us)
        outcome: Outcome
        if one["verdict"] == "invalid" and not (verdict and _only_late(result)):
            outcome, why = "unmet", _spoiler(result["reasons"], name)
        elif verdict is None:
            outcome = "undecided"
            why = f"the interval of {name} still reaches {limit} after {one['runs']} runs"
        elif verdict:
            late = ", late sending included" if one["verdict"] == "invalid" else ""
            outcome, why = "holds", f"the interval of {name} lies below {limit}{late}{self._thin(rate)}"
        else:
            outcome = "fails"
            why = f"the interval of {name} lies above {limit}"
            if one["value"] is None:
                why = f"{name} is infinitely late in {one['censored_runs']} of {one['runs']} runs"
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

    def _thin(self, rate: float) -> str:
        """A word on a rate at which a run has too few requests for the quantile."""
        if self.objective.level is None:
            return ""
        each = rate / self.plan.clients * (1.0 - self.objective.level)
        if each * self.plan.duration_s >= SAMPLES_INCONCLUSIVE:
            return ""
        return (
            f"; a run of one instance has only {each * self.plan.duration_s:.2g} requests beyond"
            f" {self.objective.name}, which says little: --duration {math.ceil(SAMPLES_INCONCLUSIVE / each)}s"
        )


class _Reachable:
    """An objective rule that also ends a step of which two runs were hopeless: more would not help.

    One run that was disturbed, on a host that is not quiet, does not end a step.
    """

    def __init__(self, rule: ObjectiveRule, study: Study) -> None:
        self.rule = rule
        self.study = study

    def decide(self, values: Mapping[str, Sequence[float]]) -> Decision:
        decision = self.rule.decide(values)
        if decision.stop or decision.runs != 2:
            return decision
        result, name = answer(self.study), self.rule.quantile
        below = (run for run in result["runs"] if (run["latency_us"][name] or math.inf) < self.rule.limit)
        if result["latency_us"][name]["verdict"] != "invalid" or any(_only_late(run) for run in below):
            return decision
        why = "the rate cannot be measured"
        return Decision(True, False, why, None, 2, decision.widest, decision.half_width)


def _only_late(result: Mapping[str, Any]) -> bool:
    return {reason["code"] for reason in result["reasons"] if reason["level"] == "invalid"} <= LATE


def _spoiler(reasons: Sequence[Mapping[str, Any]], name: str) -> str:
    """Why a figure is invalid: late sending concerns the quantiles it names, all else every one."""
    grave = [reason["text"] for reason in reasons if reason["level"] == "invalid"]
    whole = [r["text"] for r in reasons if r["level"] == "invalid" and r["code"] != "slip"]
    return str((whole or grave or [f"{name} is invalid"])[0])


def _round(rate: float) -> float:
    """Three digits: rates that people can read and type again."""
    return float(f"{rate:.3g}")
