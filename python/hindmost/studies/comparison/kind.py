"""The kind ``comparison``: targets measured now, one run of each in every round, in an order drawn anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hindmost.fleet.opening import fleet_of
from hindmost.report.common import numbers
from hindmost.run.readings import plan_of
from hindmost.run.soundness import RepeatBudget
from hindmost.store import Study
from hindmost.store.comparison import Comparison
from hindmost.studies.comparison.answer import answer
from hindmost.studies.comparison.asked import Asked
from hindmost.studies.comparison.limits import exit_of
from hindmost.studies.comparison.runs import SideRuns
from hindmost.studies.kind import Kind, Shown, write_answer
from hindmost.studies.pairs import Step, interleave
from hindmost.studies.part import open_part
from hindmost.studies.talk import Talk
from hindmost.targets import parse_target

FILE = "comparison.json"
BETWEEN_S = 1.5
"""What a run takes next to warm-up and measurement: starting a server, calibrating, writing files."""
WARM_S = 3.0
"""What ``--warmup auto`` takes usually."""


def run(study: Study, talk: Talk) -> Comparison:
    """Make the runs that are missing; returns the answer."""
    plan, asked = plan_of(study), Asked.of(study)
    pairs = plan.runs[0]
    each = plan.duration_s + (WARM_S if plan.warmup == "auto" else plan.warmup) + BETWEEN_S
    talk.say(
        f"{' against '.join(asked.labels)}: {pairs} rounds of {plan.duration_s:g} s each, about"
        f" {numbers.seconds(pairs * len(asked.plans) * each)}; study {study.folder}"
    )
    sides: dict[str, SideRuns] = {}

    def on_step(step: Step) -> None:
        if step.round in sides[step.side].made:
            why = f": its round is excluded and repeated: {step.why}" if step.why else ""
            talk.say(f"run {step.done} of {step.of}: {step.side}{why}")

    with fleet_of(plan, talk.say) as fleet:
        for place, (label, one) in enumerate(zip(asked.labels, asked.plans, strict=True), 1):
            part = open_part(study, study.folder / str(place), one)
            sides[label] = SideRuns(part, one, parse_target(one.target), fleet)
        interleave(sides, f"{plan.seed} comparison", RepeatBudget(pairs, plan.remake), on_step)
    return answer(study)


def publish(study: Study, result: Comparison, page: Path | None = None) -> Shown:
    """Write ``comparison.json`` and the page."""
    from hindmost.report.comparison import render_comparison, render_comparison_page

    renderers = (render_comparison_page, render_comparison)
    written = write_answer(study, FILE, result, renderers, exit_of(result), page)
    return replace(written, said=limits_said(result))


def shown(document: Comparison, page: Path | None = None) -> Shown:
    """A comparison of stored studies, which belongs to none of them; its page, if one is asked for."""
    from hindmost.report.comparison import render_comparison, render_comparison_page

    notes: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    if page is not None:
        try:
            page.write_text(render_comparison_page(document), encoding="utf-8")
            notes = (f"page: {page}",)
        except OSError as error:
            failed = (f"{page} cannot be written: {error.strerror}",)
    return Shown(
        document,
        lambda: render_comparison(document),
        exit_of(document),
        notes,
        said=limits_said(document),
        failed=failed,
    )


def limits_said(document: Comparison) -> tuple[str, ...]:
    """What is told of limits, whoever asks for how little."""
    return tuple(f"{limit['result']}: {limit['text']}: {limit['said']}" for limit in document["limits"])


KIND = Kind("comparison", run, answer, publish)
