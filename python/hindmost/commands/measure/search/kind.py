"""The kind ``search``: the highest rate that still meets an objective."""

from __future__ import annotations

import math
from pathlib import Path

from msgspec import structs

from hindmost.commands.measure.search.document import Search, Step
from hindmost.commands.measure.search.findings import (
    OUTCOMES,
    SearchFindings,
    brief_reason,
    format_figure,
    format_rate,
    format_runs,
    load_findings,
)
from hindmost.commands.measure.search.options import RUNS
from hindmost.commands.measure.search.rates import RATIO, RateSearch
from hindmost.core.exits import Exit
from hindmost.core.fleet.opening import fleet_of
from hindmost.core.plan import Objective, parse_objective
from hindmost.core.run.readings import plan_of
from hindmost.core.store import Study, manifest
from hindmost.core.store.estimates import to_document
from hindmost.core.store.measure import Estimates, Measure
from hindmost.core.store.reading import load
from hindmost.core.study.kind import Kind, PublishedAnswer
from hindmost.core.study.talk import Talk
from hindmost.core.targets import parse_target


def run(study: Study, talk: Talk) -> Search:
    """Make the missing steps and return the answer."""
    plan, objective = plan_of(study), objective_of(study)
    talk.say(
        f"{plan.target}: the highest rate with {objective.text}, from {plan.rate_per_s:,.10g} requests/s;"
        f" {plan.clients} client(s), {plan.connections} connections, {plan.runs[0]}..{plan.runs[1]} runs of"
        f" {plan.duration_s:g} s a step; study {study.folder}"
    )

    def on_step(step: Step) -> None:
        findings = f"{objective.leading.key} {format_figure(step)} over {format_runs(step)} runs"
        has_reason = step.outcome in ("unmet", "spoiled")
        talk.say(
            f"{format_rate(step)}: {OUTCOMES[step.outcome]}: {brief_reason(step) if has_reason else findings}"
        )

    with fleet_of(plan, talk.say) as fleet:
        target = parse_target(plan.target)
        search = RateSearch(study, plan, target, objective, talk.runs, on_step, fleet)
        return search.run().document()


def read(study: Study) -> Search:
    """Return the answer of a stored search."""
    return load_findings(study).document()


def objective_of(study: Study) -> Objective:
    """Return the objective of a search.

    Raises
    ------
    StudyError
        The manifest does not contain it.
    """
    return parse_objective(study.part("search", manifest.Objective).objective)


def publish(study: Study, doc: Search, page: Path | None = None) -> PublishedAnswer:
    """Write the page. The search has stored its steps after each of them."""
    from hindmost.commands.measure.search.view import view
    from hindmost.present.page import render_page
    from hindmost.present.terminal import render_terminal

    code = Exit.INCONCLUSIVE if doc.rate_per_s is None else Exit.DONE
    shown = view(doc, latencies(study, doc))
    notes = (f"page: {study.write_page(render_page(shown), page)}", *_notes(study, doc))
    return PublishedAnswer(doc, to_document(doc), lambda: render_terminal(shown), code, notes)


def latencies(study: Study, doc: Search) -> dict[str, Estimates]:
    """Return the latency of the steps with a finished run, by folder.

    The objective's percentile is the judged one: the median over the counted runs. The others come from the
    step's own answer, which gives a mean over few runs.
    """
    judged = parse_objective(doc.objective).leading.key
    found: dict[str, Estimates] = {}
    for step in doc.steps:
        path = study.folder / step.study / "result.json"
        if step.runs and path.is_file():
            one = load(path, Measure).latency_us
            if judged in one and step.value_us is not None:
                one[judged] = structs.replace(
                    one[judged], value=step.value_us, low=step.low_us, high=step.high_us
                )
            found[step.study] = one
    return found


def _notes(study: Study, doc: Search) -> list[str]:
    findings = SearchFindings.from_steps(doc.objective, doc.steps, finished=doc.finished)
    notes = []
    shown = findings.holds or findings.fails
    if shown is not None and shown.runs:
        notes.append(f"page of a step: hindmost study report {study.folder / shown.study}")
    if not findings.finished:
        notes.append(f"to resume: {study.resume_command}")
    elif findings.holds is not None and RATIO < findings.span.ratio < math.inf:
        more = 2 * study.manifest["plan"]["runs"][1]
        notes.append(
            "the span could be narrower with more runs per step, because runs differ:"
            f" {study.resume_command} --runs {RUNS[0]}..{more}"
        )
    return [*notes, f"study: {study.folder}"]


KIND = Kind("search", run, read, publish, "hindmost.commands.measure.search.result:SearchResult")
