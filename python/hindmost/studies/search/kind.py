"""The kind ``search``: the highest rate that still meets an objective."""

from __future__ import annotations

import math
from pathlib import Path

from hindmost.errors import StudyError
from hindmost.exits import Exit
from hindmost.fleet.opening import fleet_of
from hindmost.plan import Objective, parse_objective
from hindmost.run.readings import plan_of
from hindmost.store import Study
from hindmost.store.measure import Estimates
from hindmost.store.reading import read_document
from hindmost.store.search import Search
from hindmost.studies.kind import Kind, Shown
from hindmost.studies.search.asked import RUNS
from hindmost.studies.search.found import Found, Step, at, brief, counted, figures, stored
from hindmost.studies.search.rates import RATIO, RateSearch
from hindmost.studies.talk import Talk
from hindmost.targets import parse_target


def run(study: Study, talk: Talk) -> Found:
    """Make the steps that are missing; returns what was found."""
    from hindmost.report.search.terminal import IN_WORDS

    plan, objective = plan_of(study), objective_of(study)
    talk.say(
        f"{plan.target}: the highest rate with {objective.text}, from {plan.rate_per_s:,.10g} requests/s;"
        f" {plan.clients} client(s), {plan.connections} connections, {plan.runs[0]}..{plan.runs[1]} runs of"
        f" {plan.duration_s:g} s a step; study {study.folder}"
    )

    def on_step(step: Step) -> None:
        found = f"{objective.leading.key} {figures(step)} over {counted(step)} runs"
        told_why = step.outcome in ("unmet", "spoiled")
        talk.say(f"{at(step)}: {IN_WORDS[step.outcome]}: {brief(step) if told_why else found}")

    with fleet_of(plan, talk.say) as fleet:
        return RateSearch(study, plan, parse_target(plan.target), objective, talk.runs, on_step, fleet).run()


def objective_of(study: Study) -> Objective:
    """What a search holds rates against.

    Raises
    ------
    StudyError
        If the manifest does not say it.
    """
    search = study.manifest.get("search")
    text = search.get("objective") if isinstance(search, dict) else None
    if not isinstance(text, str):
        path = study.folder / "manifest.json"
        raise StudyError(
            "bad-file",
            f"{path} has a search without an objective",
            hint=f"head -c 2000 {path}",
            path=str(path),
            key="search.objective",
        )
    return parse_objective(text)


def publish(study: Study, found: Found, page: Path | None = None) -> Shown:
    """Write the page; the search stored its answer after each step."""
    from hindmost.report.search.page import render_search_page
    from hindmost.report.search.terminal import render_search

    document = found.document()
    code = Exit.DONE if found.holds is not None else Exit.INCONCLUSIVE
    where = study.write_page(render_search_page(document, latencies(study, document)), page)
    notes = (f"page: {where}", *_notes(study, found))
    return Shown(document, lambda: render_search(document), code, notes)


def latencies(study: Study, document: Search) -> dict[str, Estimates]:
    """Latency of the steps that have a finished run, by their folders.

    The objective's percentile is as it was judged, the median over the runs that count; the others are
    those of the step's own answer, whose few runs give a mean.
    """
    judged = parse_objective(document["objective"]).leading.key
    found: dict[str, Estimates] = {}
    for step in document["steps"]:
        path = study.folder / step["study"] / "result.json"
        if step["runs"] and path.is_file():
            one = read_document(path)["latency_us"]
            if judged in one and step["value_us"] is not None:
                ends = {"low": step["low_us"], "high": step["high_us"]}
                one[judged] |= {"value": step["value_us"], **ends}
            found[step["study"]] = one
    return found


def _notes(study: Study, found: Found) -> list[str]:
    notes = []
    shown = found.holds or found.fails
    if shown is not None and shown.runs:
        notes.append(f"page of a step: hindmost study report {study.folder / shown.study}")
    if not found.finished:
        notes.append(f"go on: {study.resume_command}")
    elif found.holds is not None and RATIO < found.span.ratio < math.inf:
        more = 2 * study.manifest["plan"]["runs"][1]
        notes.append(
            "runs differ too much for a narrower span; with more of them:"
            f" {study.resume_command} --runs {RUNS[0]}..{more}"
        )
    return [*notes, f"study: {study.folder}"]


KIND = Kind("search", run, stored, publish)
