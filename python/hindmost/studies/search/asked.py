"""What may be asked of a search, and what contradicts it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hindmost.errors import UsageError
from hindmost.laws import replay_of
from hindmost.plan import MeasurePlan, Objective, parse_objective
from hindmost.run.request import MeasureRequest
from hindmost.stats.runs.objective import FIRST_LOOK
from hindmost.studies.search.found import HIGHEST, LOWEST

RUNS = (5, 9)
"""Runs of a step where ``--runs`` says nothing. Simulated with runs that scatter by 5 % (15 %), a search then
takes 48 (69) runs in the mean and its span is 9 % (17 %) wide."""
CONTRADICTIONS = {
    "closed": "a closed loop waits for replies, so it has no rate that could be searched for",
    "require": "a search has an objective of its own, and measures it at many rates",
    "junit": "it is about limits, and a search has an objective",
    "markdown": "it is the summary of one measurement",
    "quick": "its steps need runs enough to decide",
    "precision": "the runs of a step end when its interval lies on one side of the limit",
    "verify_wire": "its steps are judged by latency alone",
}


def refuse_contradictions(asked: MeasureRequest, beside: Mapping[str, object] | None = None) -> None:
    """Refuse what means nothing beside ``--find-rate``.

    Raises
    ------
    UsageError
        Naming the first of them and why.
    """
    for name, why in CONTRADICTIONS.items():
        if getattr(asked, name, None) or (beside or {}).get(name):
            option = name.replace("_", "-")
            raise UsageError(
                "conflicting-options",
                f"--{option} conflicts with --find-rate: {why}",
                hint=f"leave out --{option} or --find-rate",
                options=[f"--{option}", "--find-rate"],
            )


def searching(
    asked: MeasureRequest, objective_text: str, beside: Mapping[str, object] | None = None
) -> tuple[MeasurePlan, Objective]:
    """The plan of a search's steps, whose rate is where the search starts; and what is held against them.

    Parameters
    ----------
    asked : MeasureRequest
        How each step is made.
    objective_text : str
        Such as ``p99<500us,failed<1%``; its percentiles are added to those that are reported.
    beside : mapping, optional
        What else was asked for, by name of the option.

    Raises
    ------
    UsageError
        If something of it cannot be meant, no search can start there, or none of its steps could be decided.
    """
    refuse_contradictions(asked, beside)
    objective = parse_objective(objective_text)
    plan = replace(asked, runs=asked.runs or f"{RUNS[0]}..{RUNS[1]}").plan()
    enough_runs(plan)
    if (replay := replay_of(plan.arrivals)) is not None:
        replay.refuse_other_rates("--find-rate")
    if plan.rate_per_s is None or not LOWEST <= plan.rate_per_s <= HIGHEST:
        raise UsageError(
            "bad-value",
            f"--rate {asked.rate} is not between {LOWEST:g} and {HIGHEST / 1e6:g}M, the range of --find-rate",
            hint="--rate 10k",
            option="--rate",
            value=asked.rate,
            least=LOWEST,
            most=HIGHEST,
        )
    quantiles = tuple(sorted({*plan.quantiles, *objective.levels}))
    return plan.model_copy(update={"quantiles": quantiles}), objective


def enough_runs(plan: MeasurePlan) -> None:
    """Refuse bounds under which no step could ever be decided."""
    if plan.runs[1] < FIRST_LOOK:
        raise UsageError(
            "bad-value",
            f"--runs {plan.runs[1]} is too few: a step of --find-rate needs at least {FIRST_LOOK} runs",
            hint=f"--runs {RUNS[0]}..{RUNS[1]}",
            option="--runs",
            value=plan.runs[1],
            least=FIRST_LOOK,
        )
