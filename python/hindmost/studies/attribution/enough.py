"""When the blocks are enough: every effect of interest is shown, or too small to matter."""

from __future__ import annotations

from hindmost.studies.attribution.answer import runs_of
from hindmost.studies.attribution.effects import undecided
from hindmost.studies.attribution.model import Found, analyse
from hindmost.studies.attribution.runner import Runner


def enough(runner: Runner, made: int) -> bool:
    """Look after `made` blocks, if a look is due then (`hindmost.design.Sequential`).

    Of interest are average main effects and interactions of two factors, at every load and quantile.
    """
    plan = runner.plan
    if made not in plan.looks.looks or made >= plan.blocks[1]:
        return False
    found: dict[tuple[str, str], Found] = {}
    for load in plan.loads:
        runs = runs_of(runner, load)
        for label in plan.labels:
            found[load.name, label] = analyse(plan, runs, label, plan.confidence(made))
    left = {
        f"{effect.name} on {label} at {load}"
        for load, label, effect in undecided(plan, found)
        if len(effect.term) <= 2
    }
    return plan.looks.decide(made, left).stop
