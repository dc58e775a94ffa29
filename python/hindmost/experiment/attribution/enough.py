"""When the blocks are enough: every effect of interest is shown, or too small to matter."""

from __future__ import annotations

from hindmost.experiment.attribution.answer import control_of, runs_of
from hindmost.experiment.attribution.effects import Found, analyse, undecided
from hindmost.experiment.attribution.trials import Trials

BATCH = 5
"""Blocks between two looks: each look is one more chance to stop on luck."""


def enough(trials: Trials, made: int) -> bool:
    """Look after `made` blocks, the least number of them at first and then after each batch.

    Of interest are average main effects and interactions of two factors, at every load and quantile.
    """
    plan = trials.plan
    least = plan.blocks[0]
    if (made - least) % BATCH or made >= plan.blocks[1]:
        return False
    found: dict[tuple[str, str], Found] = {}
    for load in plan.loads:
        runs, control = runs_of(trials, load), control_of(trials, load)
        for label in plan.labels:
            found[load.name, label] = analyse(plan, runs, control, label)
    return not [one for one in undecided(plan, found) if len(one[2].term) <= 2]
