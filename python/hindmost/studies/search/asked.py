"""What may be asked of a search, and what contradicts it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hindmost.errors import UsageError
from hindmost.plan import MeasurePlan, parse_objective
from hindmost.stats.runs.objective import FIRST_LOOK
from hindmost.studies.search.found import HIGHEST, LOWEST

RUNS = (3, 8)
"""Runs of a step where ``--runs`` says nothing. Simulated with runs that scatter by 5 % (15 %), a search then
takes 32 (45) runs in the mean and its span is 9 % (16 %) wide; with 12 at most it takes a quarter more."""
CONTRADICTIONS = {
    "closed": "a closed loop waits for replies, so it has no rate that could be searched for",
    "require": "a search has an objective of its own, and measures it at many rates",
    "precision": "the runs of a step end when its interval lies on one side of the limit",
    "verify_wire": "its steps are judged by latency alone",
}


def refuse_contradictions(asked: Mapping[str, Any]) -> None:
    """Refuse options that mean nothing beside ``--find-rate``.

    Raises
    ------
    UsageError
        Naming the first of them and why.
    """
    for name, why in CONTRADICTIONS.items():
        if asked[name]:
            option = name.replace("_", "-")
            raise UsageError(
                f"--{option} does not go with --find-rate: {why}", hint=f"leave out --{option} or --find-rate"
            )


def searchable(plan: MeasurePlan, objective_text: str, rate: str | None) -> MeasurePlan:
    """The plan of a search's steps; its rate is where the search starts.

    Parameters
    ----------
    plan : MeasurePlan
        What was asked for.
    objective_text : str
        Such as ``p99<500us,errors<0.1%``; its percentiles are added to those that are reported.
    rate : str or None
        How the rate was written.

    Raises
    ------
    UsageError
        If no search can start there, or none of its steps could be decided.
    """
    levels = parse_objective(objective_text).levels
    enough_runs(plan)
    if plan.rate_per_s is None or not LOWEST <= plan.rate_per_s <= HIGHEST:
        raise UsageError(
            f"--rate {rate} is not between {LOWEST:g} and {HIGHEST / 1e6:g}M, where --find-rate searches",
            hint="--rate 10k",
        )
    if set(levels) <= set(plan.quantiles):
        return plan
    return plan.model_copy(update={"quantiles": tuple(sorted({*plan.quantiles, *levels}))})


def enough_runs(plan: MeasurePlan) -> None:
    """Refuse bounds under which no step could ever be decided."""
    if plan.runs[1] < FIRST_LOOK:
        raise UsageError(
            f"--runs {plan.runs[1]} decides nothing: a step of --find-rate needs {FIRST_LOOK} runs or more",
            hint=f"--runs {RUNS[0]}..{RUNS[1]}",
        )
