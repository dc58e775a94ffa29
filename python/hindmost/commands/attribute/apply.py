"""``--apply``: set the host as recommended, through the journal, and report the other settings."""

from __future__ import annotations

from collections.abc import Callable

from hindmost import _engine
from hindmost.commands.attribute.confirm import find_recommended
from hindmost.commands.attribute.document import Attribution
from hindmost.commands.attribute.plan import AttributionPlan
from hindmost.core.knobs import kind_of
from hindmost.core.knobs.journal import FOLDER, call_engine


def set_knob(knob: str, level: str) -> None:
    """Set a host setting until it is restored."""
    call_engine(lambda: _engine.set_knob(knob, level, str(FOLDER)))


def apply_recommendation(
    plan: AttributionPlan, result: Attribution, say: Callable[[str], None]
) -> dict[str, str] | None:
    """Set the host as recommended, until ``hindmost host knobs restore``; None if nothing was set.

    Only a confirmed recommendation is applied. Factors of the server (its options, its CPUs) are reported
    only, because they concern how it is started.
    """
    after = find_recommended(plan, result.recommendation)
    if after is None:
        say(f"nothing to apply: {result.recommendation.text}")
        return None
    outcomes = [one.outcome for one in result.confirmations]
    if len(outcomes) < len(plan.loads) or any(one != "confirmed" for one in outcomes):
        say("not applied: the recommended setting was not confirmed at every load")
        return None
    levels = plan.levels(after)
    done: dict[str, str] = {}
    for table in plan.file.factor:
        level = levels[table.name]
        if kind_of(table.setting) == "host":
            knob = str(table.setting["knob"])
            set_knob(knob, level)
            say(f"{knob} is {level} now; to undo: hindmost host knobs restore")
            done[table.name] = level
        else:
            say(f"start the server with {table.name} = {level}")
    return done
