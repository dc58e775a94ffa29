"""Options of a search, and options that conflict with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hindmost.commands.measure.search.findings import HIGHEST, LOWEST
from hindmost.core.laws import replay_of
from hindmost.core.plan import MeasurePlan, Objective, parse_objective
from hindmost.core.plan.limits import refuse_unmeasured_times
from hindmost.core.run.request import MeasureRequest
from hindmost.errors import UsageError
from hindmost.stats.runs.objective import FIRST_LOOK

RUNS = (5, 9)
"""Fewest and most runs of a step without ``--runs``. In simulations with runs that scatter by 5 % (15 %), a
search takes 48 (69) runs on average, and its span is 9 % (17 %) wide."""
CONTRADICTIONS = {
    "closed": "a closed loop waits for replies, so it has no rate to search for",
    "require": "a search has its own objective, and measures it at many rates",
    "junit": "a JUnit file lists limits, and a search has an objective instead",
    "markdown": "the summary describes a single measurement",
    "quick": "a step needs enough runs for a decision",
    "precision": "the runs of a step end when its interval lies on one side of the limit",
    "verify_wire": "its steps are judged by latency alone",
}


def refuse_contradictions(request: MeasureRequest, options: Mapping[str, object] | None = None) -> None:
    """Refuse options that have no meaning with ``--find-rate``.

    Raises
    ------
    UsageError
        Names the first of them, and why.
    """
    for name, why in CONTRADICTIONS.items():
        if getattr(request, name, None) or (options or {}).get(name):
            option = name.replace("_", "-")
            raise UsageError(
                "conflicting-options",
                f"--{option} conflicts with --find-rate: {why}",
                hint=f"leave out --{option} or --find-rate",
                options=[f"--{option}", "--find-rate"],
            )


def plan_search(
    request: MeasureRequest, objective_text: str, options: Mapping[str, object] | None = None
) -> tuple[MeasurePlan, Objective]:
    """Return the plan of a search's steps, whose rate is the first to try, and the objective.

    Parameters
    ----------
    request : MeasureRequest
        How to measure each step.
    objective_text : str
        Such as ``p99<500us,failed<1%``. Its percentiles are added to the reported ones.
    options : mapping, optional
        Other options of the command, by name.

    Raises
    ------
    UsageError
        An option is not valid, no search can start at this rate, or no step could be decided.
    """
    refuse_contradictions(request, options)
    objective = parse_objective(objective_text)
    plan = replace(request, runs=request.runs or f"{RUNS[0]}..{RUNS[1]}").plan(rising=True)
    refuse_few_runs(plan)
    for term in objective.terms:
        refuse_unmeasured_times(plan, term, "--find-rate")
    if (replay := replay_of(plan.arrivals)) is not None:
        replay.refuse_other_rates("--find-rate")
    if plan.rate_per_s is None or not LOWEST <= plan.rate_per_s <= HIGHEST:
        raise UsageError(
            "bad-value",
            f"--rate {request.rate} is not between {LOWEST:g} and {HIGHEST / 1e6:g}M, the range of"
            " --find-rate",
            hint="--rate 10k",
            option="--rate",
            value=request.rate,
            least=LOWEST,
            most=HIGHEST,
        )
    quantiles = tuple(sorted({*plan.quantiles, *objective.levels}))
    return plan.model_copy(update={"quantiles": quantiles}), objective


def refuse_few_runs(plan: MeasurePlan) -> None:
    """Refuse a number of runs with which no step could be decided."""
    if plan.runs[1] < FIRST_LOOK:
        raise UsageError(
            "bad-value",
            f"--runs {plan.runs[1]} is too few: a step of --find-rate needs at least {FIRST_LOOK} runs",
            hint=f"--runs {RUNS[0]}..{RUNS[1]}",
            option="--runs",
            value=plan.runs[1],
            least=FIRST_LOOK,
        )
