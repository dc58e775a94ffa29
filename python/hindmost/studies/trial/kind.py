"""The kind ``trial``: every level of a knob has a run in each round, in an order drawn anew."""

from __future__ import annotations

from pathlib import Path

from hindmost.errors import UsageError
from hindmost.exits import Exit
from hindmost.fleet.opening import fleet_of
from hindmost.knobs import kind_of, recover
from hindmost.knobs.journal import FOLDER
from hindmost.report.common import numbers
from hindmost.run.readings import plan_of
from hindmost.run.soundness import Remaking
from hindmost.store import Study
from hindmost.store.trial import Trial
from hindmost.studies.attribution.apply import set_knob
from hindmost.studies.comparison.kind import BETWEEN_S, WARM_S
from hindmost.studies.kind import Kind, Shown, write_answer
from hindmost.studies.pairs import Step, interleave
from hindmost.studies.part import open_part
from hindmost.studies.talk import Talk
from hindmost.studies.trial.answer import answer, folder_of
from hindmost.studies.trial.asked import Asked
from hindmost.studies.trial.sides import LevelOf, LevelRuns

FILE = "trial.json"


def run(study: Study, talk: Talk, *, keep: bool = False) -> Trial:
    """Make the runs that are missing; returns the answer.

    Parameters
    ----------
    keep : bool
        Leave a host's knob at the best level, where it was proven better than the present one.
    """
    plan = plan_of(study)
    if keep and plan.server_host is not None:
        raise UsageError(
            f"--keep leaves this host at the best level, and the server is on {plan.server_host}",
            hint="hindmost knobs set there, once the trial has said what; leave out --keep",
        )
    asked = Asked.of(study, plan)
    for one in recover(FOLDER):
        talk.say(f"left by a study that was killed: {one['name']} is {one['value']} again")
    rounds = plan.runs[0]
    each = plan.duration_s + (WARM_S if plan.warmup == "auto" else plan.warmup) + BETWEEN_S
    talk.say(
        f"{plan.target} at {numbers.rate(plan.rate_per_s)}, {', '.join(asked.levels)}: {rounds} rounds,"
        f" about {numbers.seconds(rounds * len(asked.levels) * each)}; study {study.folder}"
    )
    knob, target = asked.knob(), asked.target
    if plan.server_host is None:
        for level in asked.levels:
            knob.attempt(level)
    sides: dict[str, LevelRuns] = {}

    def on_step(step: Step) -> None:
        if step.round in sides[step.side].made:
            why = f": its round does not count, made again: {step.why}" if step.why else ""
            talk.say(f"run {step.done} of {step.of}: {step.side}{why}")

    with fleet_of(plan, talk.say) as fleet:
        for place, level in enumerate(asked.levels):
            part = open_part(study, study.folder / folder_of(place), plan)
            sides[level] = LevelRuns(part, plan, target, LevelOf(asked.what, knob, level), fleet)
        interleave(sides, f"{plan.seed} trial", Remaking(rounds, plan.remake), on_step)
    result = answer(study)
    if keep:
        _kept(asked, result, talk)
    return result


def _kept(asked: Asked, result: Trial, talk: Talk) -> None:
    place = result["keep"]
    if place is None:
        talk.say("nothing is kept: no level was proven better than the present one")
        return
    level = asked.levels[place]
    if kind_of(asked.what) == "host":
        set_knob(str(asked.what["knob"]), level)
        talk.say(f"{asked.what['knob']} is {level} now; to put it back: hindmost knobs restore")
    else:
        talk.say(f"for the server's start: {asked.what} = {level}; everything else is as it was")


def publish(study: Study, result: Trial, page: Path | None = None) -> Shown:
    """Write ``trial.json`` and the page."""
    from hindmost.report.trial import render_trial, render_trial_page

    decided = result["rounds"] > 0 and result["best"] is not None
    code = Exit.DONE if decided and (result["best"] == 0 or result["keep"] is not None) else Exit.INCONCLUSIVE
    return write_answer(study, FILE, result, (render_trial_page, render_trial), code, page)


KIND = Kind("trial", run, answer, publish)
