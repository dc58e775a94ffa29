"""The kind ``comparison``: targets measured now, one run of each in every round, in random order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hindmost.commands.compare.arms import Arm, announce, make_rounds
from hindmost.commands.compare.documents.targets import Comparison
from hindmost.commands.compare.targets.answer import answer
from hindmost.commands.compare.targets.decision import is_decided
from hindmost.commands.compare.targets.limits import exit_code
from hindmost.commands.compare.targets.request import TargetsRequest
from hindmost.commands.compare.view.targets import view
from hindmost.core.fleet.opening import fleet_of
from hindmost.core.run.readings import plan_of
from hindmost.core.store import Study
from hindmost.core.store.estimates import to_document
from hindmost.core.study.kind import Kind, PublishedAnswer, publish_view
from hindmost.core.study.part import open_part
from hindmost.core.study.talk import Talk
from hindmost.core.targets import parse_target
from hindmost.present.page import render_page
from hindmost.present.terminal import render_terminal

FILE = "comparison.json"


def run(study: Study, talk: Talk) -> Comparison:
    """Make the runs that are missing; return the answer."""
    plan, request = plan_of(study), TargetsRequest.read(study)
    announce(study, plan, " against ".join(request.labels), len(request.plans), talk)

    def is_enough(counted: int) -> bool:
        if counted not in request.looks[:-1]:
            return False
        found = answer(study, counted)
        talk.say(f"after {counted} rounds: {found.headline}")
        return is_decided(found)

    with fleet_of(plan, talk.say) as fleet:
        arms = {}
        for place, (label, one) in enumerate(zip(request.labels, request.plans, strict=True), 1):
            part, target = open_part(study, study.folder / str(place), one), parse_target(one.target)
            arms[label] = Arm(part, one, target, fleet, isolated=request.decide_on == "isolated")
        make_rounds(arms, f"{plan.seed} comparison", plan, talk, is_enough)
    return answer(study)


def publish(study: Study, result: Comparison, page: Path | None = None) -> PublishedAnswer:
    """Write ``comparison.json`` and the page."""
    written = publish_view(study, FILE, result, view(result), exit_code(result), page)
    return replace(written, said=_limit_lines(result))


def show(document: Comparison, page: Path | None = None) -> PublishedAnswer:
    """Show a comparison of stored studies, which has no folder; write its page if one is requested."""
    shown = view(document)
    notes: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    if page is not None:
        try:
            page.write_text(render_page(shown), encoding="utf-8")
            notes = (f"page: {page}",)
        except OSError as error:
            failed = (f"{page} cannot be written: {error.strerror}",)
    return PublishedAnswer(
        document,
        to_document(document),
        lambda: render_terminal(shown),
        exit_code(document),
        notes,
        said=_limit_lines(document),
        failed=failed,
    )


def _limit_lines(document: Comparison) -> tuple[str, ...]:
    # Printed even with --quiet: a build log must name the limit that failed.
    return tuple(f"{limit.result}: {limit.text}: {limit.said}" for limit in document.limits)


KIND = Kind("comparison", run, answer, publish, "hindmost.commands.compare.result:ComparisonResult")
