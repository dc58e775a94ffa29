"""The stopping rule for blocks: every effect of interest is shown, or too small to matter."""

from __future__ import annotations

from hindmost.commands.attribute.answer import runs_of
from hindmost.commands.attribute.effects import list_undecided
from hindmost.commands.attribute.model import FittedModel, fit_model
from hindmost.commands.attribute.runner import Runner


def should_stop(runner: Runner, made: int) -> bool:
    """Return whether to stop after `made` blocks, only at the looks of `Sequential`.

    Effects of interest are average main effects and two-factor interactions, at every load and quantile.
    """
    plan = runner.plan
    if made not in plan.looks.looks or made >= plan.blocks[1]:
        return False
    models: dict[tuple[str, str], FittedModel] = {}
    left: set[str] = set()
    for load in plan.loads:
        runs = runs_of(runner, load)
        for label in plan.labels:
            one = models[load.name, label] = fit_model(plan, runs, label, plan.confidence(made))
            if any(cell.failure is None and not cell.usable(label) for cell in runs.values()):
                lost = plan.model.terms if one.fit is None else one.fit.lost
                short = (term for term in lost if 1 <= len(term) <= 2)
                left |= {f"{'x'.join(term)} on {label} at {load.name}" for term in short}
    left |= {
        f"{effect.name} on {label} at {load}"
        for load, label, effect in list_undecided(plan, models)
        if len(effect.term) <= 2
    }
    return plan.looks.decide(made, left).stop
