"""The kind ``attribution``: runs of a design's cells at every load, and the effects of its factors."""

from __future__ import annotations

from pathlib import Path

import msgspec

from hindmost.commands.attribute.answer import FILE, answer
from hindmost.commands.attribute.apply import apply_recommendation
from hindmost.commands.attribute.confirm import find_recommended
from hindmost.commands.attribute.course import Course
from hindmost.commands.attribute.document import Attribution
from hindmost.commands.attribute.planning import plan_to_read, plan_to_run
from hindmost.commands.attribute.runner import Runner
from hindmost.commands.attribute.stopping import should_stop
from hindmost.core.exits import Exit
from hindmost.core.fleet.opening import fleet_of
from hindmost.core.knobs import recover
from hindmost.core.knobs.journal import FOLDER
from hindmost.core.store import Study
from hindmost.core.study.kind import Kind, PublishedAnswer, publish_view
from hindmost.core.study.talk import Talk
from hindmost.errors import StudyError, UsageError

EXITS = {"answered": Exit.DONE, "open": Exit.INCONCLUSIVE}
"""Exit code for each verdict; any other verdict means that the runs show nothing."""


def run(study: Study, talk: Talk, *, confirm: bool = True, apply: bool = False) -> Attribution:
    """Make the missing runs (rehearsal, blocks, confirmation), and return the answer.

    Parameters
    ----------
    confirm : bool
        Make fresh runs of the recommended setting.
    apply : bool
        Leave the host in the recommended setting, if it was confirmed.

    Raises
    ------
    HostUnfit
        A level cannot be set on this host; nothing was measured.
    TargetError, StudyError
        The server does not start at all; a run cannot be stored.
    """
    plan = plan_to_run(study)
    if apply and plan.measure.server_host is not None:
        raise UsageError(
            "server-elsewhere",
            f"--apply sets this host as recommended, but the server runs on {plan.measure.server_host}",
            hint="leave out --apply, and use `hindmost host knobs set` on that host when the study is done",
            option="--apply",
            host=plan.measure.server_host,
        )
    with fleet_of(plan.measure, talk.say) as fleet:
        return _make_runs(Runner(study, plan, fleet=fleet), talk, confirm=confirm, apply=apply)


def _make_runs(runner: Runner, talk: Talk, *, confirm: bool, apply: bool) -> Attribution:
    plan = runner.plan
    for one in recover(FOLDER):
        failed = f": could not be restored: {one.failure}" if one.failure else ""
        talk.say(f"restored after a killed study: {one.name} is {one.value} again{failed}")
    course = Course(runner, talk.cells(), lambda made: should_stop(runner, made))
    talk.say("rehearsal: every level once")
    course.rehearse()
    blocks = course.blocks()
    talk.say(f"{blocks} blocks are complete; computing the answer")
    result = answer(runner)
    after = find_recommended(plan, result.recommendation)
    if confirm and not plan.file.confirm.skip and after is not None:
        for load in plan.loads:
            course.confirm(load, plan.control, after)
        result = answer(runner)
    if apply:
        return msgspec.structs.replace(result, applied=apply_recommendation(plan, result, talk.say))
    return result


def read(study: Study) -> Attribution:
    """Return the answer of a stored study, computed from its runs."""
    result = answer(Runner(study, plan_to_read(study)))
    if not any(cell.runs + cell.invalid for load in result.loads for cell in load.cells):
        raise StudyError(
            "no-finished-runs",
            f"{study.folder} contains no finished run",
            hint=study.resume_command,
            path=str(study.folder),
        )
    return result


def publish(study: Study, result: Attribution, page: Path | None = None) -> PublishedAnswer:
    """Write ``attribution.json`` and the page."""
    from hindmost.commands.attribute.view import view

    code = EXITS.get(result.verdict, Exit.INVALID)
    return publish_view(study, FILE, result, view(result), code, page)


KIND = Kind("attribution", run, read, publish, "hindmost.commands.attribute.result:AttributionResult")
