"""The kind ``trial``: every level of a knob has a run in each round, in an order drawn anew."""

from __future__ import annotations

import json
from pathlib import Path

from hindmost.errors import HindmostError, UsageError
from hindmost.exits import Exit
from hindmost.fleet import Fleet
from hindmost.fleet.opening import fleet_of
from hindmost.knobs import kind_of, recover
from hindmost.knobs.journal import FOLDER
from hindmost.report.common import numbers
from hindmost.run.readings import plan_of
from hindmost.run.soundness import RepeatBudget
from hindmost.store import Study
from hindmost.store.trial import Trial
from hindmost.studies.attribution.apply import set_knob
from hindmost.studies.comparison.kind import BETWEEN_S, WARM_S
from hindmost.studies.kind import Kind, Shown, write_answer
from hindmost.studies.pairs import Step, interleave
from hindmost.studies.part import open_part
from hindmost.studies.talk import Talk
from hindmost.studies.trial.answer import answer, folder_of
from hindmost.studies.trial.asked import AROUND, Asked
from hindmost.studies.trial.sides import InStage, LevelOf, LevelRuns

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
            "server-elsewhere",
            f"--keep sets this host to the best level, but the server runs on {plan.server_host}",
            hint="leave out --keep, and use `hindmost host knobs set` on that host when the trial is done",
            option="--keep",
            host=plan.server_host,
        )
    asked = Asked.of(study, plan)
    for one in recover(FOLDER):
        talk.say(f"left by a study that was killed: {one['name']} is {one['value']} again")
    rounds = plan.runs[0]
    each = plan.duration_s + (WARM_S if plan.warmup == "auto" else plan.warmup) + BETWEEN_S
    runs = len(asked.stages[0]) + (1 + AROUND) * asked.refine
    talk.say(
        f"{plan.target} at {numbers.rate(plan.rate_per_s)}, {', '.join(asked.levels)}: {rounds} rounds,"
        f" about {numbers.seconds(rounds * runs * each)}; study {study.folder}"
    )
    if plan.server_host is None:
        knob = asked.knob()
        for level in asked.levels:
            knob.attempt(level)
    with fleet_of(plan, talk.say) as fleet:
        for stage in range(1 + asked.refine):
            if stage == len(asked.stages):
                more = _refined(study, asked, talk)
                if more is None:
                    break
                asked = more
            _make(study, asked, stage, talk, fleet)
    result = answer(study)
    if keep:
        _kept(asked, result, talk)
    return result


def _make(study: Study, asked: Asked, stage: int, talk: Talk, fleet: Fleet) -> None:
    """The rounds of one stage."""
    plan, knob, target = asked.plan, asked.knob(), asked.target
    sides: dict[str, InStage] = {}
    for place in asked.stages[stage]:
        level = asked.levels[place]
        part = open_part(study, study.folder / folder_of(place), plan)
        sides[level] = InStage(
            LevelRuns(part, plan, target, [LevelOf(asked.what, knob, level)], fleet), stage
        )

    def on_step(step: Step) -> None:
        side = sides[step.side]
        if side.numbered(step.round) in side.runs.made:
            why = f": its round is excluded and repeated: {step.why}" if step.why else ""
            talk.say(f"run {step.done} of {step.of}: {step.side}{why}")

    seed = f"{plan.seed} trial" + (f" {stage}" if stage else "")
    interleave(sides, seed, RepeatBudget(plan.runs[0], plan.remake), on_step)


def _refined(study: Study, asked: Asked, talk: Talk) -> Asked | None:
    """One more stage, about the best level so far; None where there is nothing between it and others."""
    knob = asked.knob()

    def fits(level: str) -> bool:
        if asked.plan.server_host is not None:  # that host says whether it can be had
            return True
        try:
            knob.check(level)
            knob.attempt(level)
        except HindmostError as error:
            talk.say(f"{level} is left out: {error}")
            return False
        return True

    best = answer(study)["best"]
    more = None if best is None else asked.refined(best, fits)
    if best is None or more is None:
        talk.say("not refined further: no level lies between the best one and its neighbours")
        return None
    new = more.levels[len(asked.levels) :]
    talk.say(f"best so far is {asked.levels[best]}: next to it now {' and '.join(new)}")
    # Who goes on tries the same levels, whatever rounds are added to the first.
    study.manifest["trial"] = more.manifest()
    study.write("manifest.json", json.dumps(study.manifest, indent=1))
    return more


def _kept(asked: Asked, result: Trial, talk: Talk) -> None:
    place = result["keep"]
    if place is None:
        talk.say("nothing is kept: no level was proven better than the present one")
        return
    level = asked.levels[place]
    if kind_of(asked.what) == "host":
        set_knob(str(asked.what["knob"]), level)
        talk.say(f"{asked.what['knob']} is {level} now; to put it back: hindmost host knobs restore")
    else:
        talk.say(f"for the server's start: {asked.what} = {level}; everything else is as it was")


def publish(study: Study, result: Trial, page: Path | None = None) -> Shown:
    """Write ``trial.json`` and the page."""
    from hindmost.report.trial import render_trial, render_trial_page

    code = Exit.INCONCLUSIVE if result["verdict"] == "undecided" else Exit.DONE
    return write_answer(study, FILE, result, (render_trial_page, render_trial), code, page)


KIND = Kind("trial", run, answer, publish)
