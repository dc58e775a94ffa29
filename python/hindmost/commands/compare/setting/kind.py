"""The kind ``trial``: levels of a setting, one run of each in every round, in random order."""

from __future__ import annotations

from pathlib import Path

from hindmost.commands.attribute.apply import set_knob
from hindmost.commands.compare.arms import Arm, Level, announce, make_rounds
from hindmost.commands.compare.documents.setting import Trial
from hindmost.commands.compare.figures import decides_isolated
from hindmost.commands.compare.setting.answer import STAGE, answer, folder_name
from hindmost.commands.compare.setting.request import NEAR_BEST, SettingRequest
from hindmost.commands.compare.view.setting import view
from hindmost.core.exits import Exit
from hindmost.core.fleet import Fleet
from hindmost.core.fleet.opening import fleet_of
from hindmost.core.knobs import kind_of, recover
from hindmost.core.knobs.journal import FOLDER
from hindmost.core.run.readings import plan_of
from hindmost.core.store import Study
from hindmost.core.study.kind import Kind, PublishedAnswer, publish_view
from hindmost.core.study.part import open_part
from hindmost.core.study.talk import Talk
from hindmost.errors import HindmostError, UsageError
from hindmost.present import numbers

FILE = "trial.json"


def run(study: Study, talk: Talk, *, keep: bool = False) -> Trial:
    """Make the runs that are missing; return the answer.

    Parameters
    ----------
    keep : bool
        Leave a host setting at its best level if that is proven better than the present one.
    """
    plan = plan_of(study)
    if keep and plan.server_host is not None:
        raise UsageError(
            "server-elsewhere",
            f"--keep sets this host to the best level, but the server runs on {plan.server_host}",
            hint="leave out --keep, and run `hindmost host knobs set` on that host afterwards",
            option="--keep",
            host=plan.server_host,
        )
    request = SettingRequest.read(study)
    for one in recover(FOLDER):
        talk.say(f"restored after a study that was killed: {one.name} is {one.value} again")
    text = f"{plan.target} at {numbers.rate(plan.rate_per_s)}, {', '.join(request.levels)}"
    announce(study, plan, text, len(request.stages[0]) + (1 + NEAR_BEST) * request.refine, talk)
    if plan.server_host is None:
        knob = request.knob()
        for level in request.levels:
            knob.attempt(level)
    with fleet_of(plan, talk.say) as fleet:
        for stage in range(1 + request.refine):
            if stage == len(request.stages):
                more = _add_stage(study, request, talk)
                if more is None:
                    break
                request = more
            _make_stage(study, request, stage, talk, fleet)
    result = answer(study)
    if keep:
        _keep_best(request, result, talk)
    return result


def _make_stage(study: Study, request: SettingRequest, stage: int, talk: Talk, fleet: Fleet) -> None:
    plan, knob, target = request.plan, request.knob(), request.target
    arms: dict[str, Arm] = {}
    for place in request.stages[stage]:
        level = request.levels[place]
        part = open_part(study, study.folder / folder_name(place), plan)
        arms[level] = Arm(
            part,
            plan,
            target,
            fleet,
            [Level(request.what, knob, level)],
            first=stage * STAGE,
            isolated=decides_isolated(plan, request.by),
        )
    make_rounds(arms, f"{plan.seed} trial" + (f" {stage}" if stage else ""), plan, talk)


def _add_stage(study: Study, request: SettingRequest, talk: Talk) -> SettingRequest | None:
    """Add a stage near the best level so far; None if no level lies between it and its neighbours."""
    knob = request.knob()

    def fits(level: str) -> bool:
        if request.plan.server_host is not None:  # that host checks the level
            return True
        try:
            knob.check(level)
            knob.attempt(level)
        except HindmostError as error:
            talk.say(f"{level} is left out: {error}")
            return False
        return True

    best = answer(study).best
    more = None if best is None else request.add_stage(best, fits)
    if best is None or more is None:
        talk.say("no further stage: no level lies between the best one and its neighbours")
        return None
    new = more.levels[len(request.levels) :]
    talk.say(f"best so far is {request.levels[best]}; next stage: {' and '.join(new)}")
    # Stored at once: a resumed study must try the same levels, even if it adds rounds to the first stage.
    study.update(trial=more.manifest())
    return more


def _keep_best(request: SettingRequest, result: Trial, talk: Talk) -> None:
    place = result.keep
    if place is None:
        talk.say("nothing is kept: no level was proven better than the present one")
        return
    level = request.levels[place]
    if kind_of(request.what) == "host":
        set_knob(str(request.what["knob"]), level)
        talk.say(f"{request.what['knob']} is {level} now; to restore it: hindmost host knobs restore")
    else:
        talk.say(f"to keep it, start the server with {request.what} = {level}; this host is unchanged")


def publish(study: Study, result: Trial, page: Path | None = None) -> PublishedAnswer:
    """Write ``trial.json`` and the page."""
    code = Exit.INCONCLUSIVE if result.verdict == "undecided" else Exit.DONE
    return publish_view(study, FILE, result, view(result), code, page)


KIND = Kind("trial", run, answer, publish, "hindmost.commands.compare.result:TrialResult")
