"""The kind ``measure``: runs of one configuration until the figures are precise enough."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hindmost.commands.measure.answer import answer
from hindmost.commands.measure.limits import exit_code
from hindmost.commands.measure.procedure import Procedure
from hindmost.core.exits import Exit
from hindmost.core.fleet.opening import fleet_of
from hindmost.core.plan import MeasurePlan
from hindmost.core.run.clean_up import is_cleaned_up, leaves_keys
from hindmost.core.run.readings import plan_of
from hindmost.core.store import Study
from hindmost.core.store.measure import Measure
from hindmost.core.study.kind import Kind, PublishedAnswer, publish_view
from hindmost.core.study.talk import Talk
from hindmost.core.targets import Attached, Managed, parse_target
from hindmost.errors import StudyError

EXITS = {"valid": Exit.DONE, "inconclusive": Exit.INCONCLUSIVE, "invalid": Exit.INVALID}
"""Exit code for each verdict of a study without limits."""


def run(study: Study, talk: Talk) -> Measure:
    """Make the missing runs and return the answer."""
    plan = plan_of(study)
    target = parse_target(plan.target)
    talk.say(
        f"{plan.target}: {plan.clients} client(s), {plan.connections} connections,"
        f" {'flat out' if plan.rate_per_s is None else f'{plan.rate_per_s:g} requests/s'},"
        f" {plan.runs[0]}..{plan.runs[1]} runs of {plan.duration_s:g} s; study {study.folder}"
    )
    _report_missing_capture(plan, talk, target)
    _report_stored_keys(study, plan, talk, target)
    with fleet_of(plan, talk.say) as fleet:
        Procedure(study, plan, target, talk.runs(plan), fleet=fleet).run()
    _report_left_keys(study, talk)
    return answer(study)


def read(study: Study) -> Measure:
    """Return the answer of a stored study, computed from its runs."""
    if not any(study.folder.glob("runs/[0-9]*")):
        raise StudyError(
            "no-finished-runs",
            f"{study.folder} has no finished run",
            hint=study.resume_command,
            path=str(study.folder),
        )
    return answer(study)


def publish(study: Study, result: Measure, page: Path | None = None) -> PublishedAnswer:
    """Write ``result.json`` and the page."""
    from hindmost.commands.measure.view import render_terminal, view
    from hindmost.commands.measure.view.limits import limit_lines

    limits = result.limits or []
    code = exit_code(limits) if limits else EXITS[result.verdict]
    shown = publish_view(study, "result.json", result, view(result), code, page)
    return replace(shown, account=lambda: render_terminal(result, verbose=True), said=limit_lines(limits))


def _report_missing_capture(plan: MeasurePlan, talk: Talk, target: Attached | Managed) -> None:
    """Report before the first run why there will be no packet capture; the measurement continues."""
    if not plan.verify_wire:
        return
    from hindmost.core.capture import find_capture_fault, interface_for

    address = "127.0.0.1:0" if target.managed else target.address
    if fault := find_capture_fault(interface_for(address)):
        talk.say(
            f"note[{fault.code}]: continuing without --verify-wire: {fault.message}\n  hint: {fault.hint}"
        )


def _report_stored_keys(study: Study, plan: MeasurePlan, talk: Talk, target: Attached | Managed) -> None:
    """Report which keys the workload stores on a server that Hindmost did not start, and for how long."""
    if not leaves_keys(plan, target):
        return
    count = f"{plan.workload['keys']:,} keys"
    keys = f"the workload stores {count} on {plan.target}"
    if is_cleaned_up(plan, target):
        talk.say(
            f"note[keys-removed]: {keys} and removes them after each run"
            f"\n  hint: if it is killed: hindmost load --clean-up {study.folder}"
        )
    elif plan.workload.get("clean_up") is False:
        talk.say(f"note[keys-kept]: {keys} and leaves them there (clean_up is false in the workload)")
    else:
        talk.say(
            f"note[keys-kept]: the workload stores up to {count} on {plan.target} and leaves them there,"
            " because some of them may belong to others"
            '\n  hint: to remove all of them after each run: "clean_up": true in the workload'
        )


def _report_left_keys(study: Study, talk: Talk) -> None:
    left = [clean_up.left for run in study.runs() if (clean_up := run.record.clean_up) and clean_up.left]
    if left:
        talk.warn(
            f"note[keys-left]: stored keys may still be on the server: {left[-1]}"
            f"\n  hint: hindmost load --clean-up {study.folder}"
        )


KIND = Kind("measure", run, read, publish, "hindmost.commands.measure.result:MeasureResult")
