"""``hindmost measure --find-rate``: the highest rate under an objective, its steps and its exit code."""

from __future__ import annotations

import json
import math
import shutil
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hindmost.errors import HindmostError, Interrupted, UsageError

if TYPE_CHECKING:
    from hindmost.plan import MeasurePlan
    from hindmost.store import Study
    from hindmost.studies.search import Found, Step

RUNS = (3, 8)
"""Runs of a step where ``--runs`` says nothing. Simulated with runs that scatter by 5 % (15 %), a search then
takes 32 (45) runs in the mean and its span is 9 % (16 %) wide; with 12 at most it takes a quarter more."""
UNDECIDED = 4
IN_WORDS = {
    "holds": "holds",
    "fails": "does not hold",
    "undecided": "undecided",
    "unmet": "not measurable",
    "spoiled": "disturbed",
}
CONTRADICTIONS = {
    "closed": "a closed loop waits for replies, so it has no rate that could be searched for",
    "require": "a search has an objective of its own, and measures it at many rates",
    "precision": "the runs of a step end when its interval lies on one side of the limit",
    "verify_wire": "its steps are judged by latency alone",
}


def refuse_contradictions(asked: Mapping[str, Any]) -> None:
    """Refuse options that mean nothing beside ``--find-rate``.

    Raises
    ------
    UsageError
        Naming the first of them and why.
    """
    for name, why in CONTRADICTIONS.items():
        if asked[name]:
            option = name.replace("_", "-")
            raise UsageError(
                f"--{option} does not go with --find-rate: {why}", hint=f"leave out --{option} or --find-rate"
            )


def plan_of_search(asked: Mapping[str, Any], objective_text: str) -> MeasurePlan:
    """The plan of a search's steps; its rate is where the search starts.

    Parameters
    ----------
    asked : mapping
        As for `plan_asked_for`.
    objective_text : str
        Such as ``p99<500us,errors<0.1%``; its percentiles are added to those that are reported.

    Raises
    ------
    UsageError
        If something of it cannot be meant.
    """
    from hindmost.cli.asked import plan_asked_for
    from hindmost.plan import parse_objective
    from hindmost.studies.search import HIGHEST, LOWEST

    refuse_contradictions(asked)
    levels = parse_objective(objective_text).levels
    plan = plan_asked_for({**asked, "runs": asked["runs"] or RUNS})
    enough_runs(plan)
    if plan.rate_per_s is None or not LOWEST <= plan.rate_per_s <= HIGHEST:
        raise UsageError(
            f"--rate {asked['rate']} is not between {LOWEST:g} and {HIGHEST / 1e6:g}M,"
            " where --find-rate searches",
            hint="--rate 10k",
        )
    if not set(levels) <= set(plan.quantiles):
        plan = plan.model_copy(update={"quantiles": tuple(sorted({*plan.quantiles, *levels}))})
    return plan


def enough_runs(plan: MeasurePlan) -> None:
    """Refuse bounds under which no step could ever be decided."""
    from hindmost.stats.runs.objective import FIRST_LOOK

    if plan.runs[1] < FIRST_LOOK:
        raise UsageError(
            f"--runs {plan.runs[1]} decides nothing: a step of --find-rate needs {FIRST_LOOK} runs or more",
            hint=f"--runs {RUNS[0]}..{RUNS[1]}",
        )


def find_rate(
    plan: MeasurePlan,
    study: Study | None,
    out: Path | None,
    objective_text: str,
    *,
    as_json: bool,
    quiet: bool,
) -> int:
    """Search, print the answer, and return the exit code: 0 when a rate was found, 4 when none was.

    Parameters
    ----------
    plan : MeasurePlan
        What each step does; its rate is where the search starts.
    study : Study or None
        A search to go on with.
    out : Path or None
        Folder of a new one.
    objective_text : str
        Such as ``p99<500us``.
    """
    from hindmost.cli.begin import begin
    from hindmost.cli.progress import Progress
    from hindmost.plan import parse_objective
    from hindmost.studies.search import RateSearch, at, brief, counted, figures

    objective = parse_objective(objective_text)
    study, target = begin(plan, study, out, search={"objective": objective.text})
    talk = Progress(plan, quiet=quiet)
    talk.say(
        f"{plan.target}: the highest rate with {objective.text}, from {plan.rate_per_s:,.10g} requests/s;"
        f" {plan.clients} client(s), {plan.connections} connections, {plan.runs[0]}..{plan.runs[1]} runs of"
        f" {plan.duration_s:g} s a step; study {study.folder}"
    )

    def told(step: Step) -> None:
        found = f"{objective.leading.name} {figures(step)} over {counted(step)} runs"
        told_why = step.outcome in ("unmet", "spoiled")
        talk.say(f"{at(step)}: {IN_WORDS[step.outcome]}: {brief(step) if told_why else found}")

    again = f"hindmost measure --resume {study.folder}"
    search = RateSearch(study, plan, target, objective, lambda one: Progress(one, quiet=quiet), told)
    try:
        with study.lock():
            found = search.run()
    except (KeyboardInterrupt, Interrupted) as stop:
        raise Interrupted(
            f"{str(stop) or 'interrupted'}; {len(search.steps)} finished step(s) are kept in {study.folder}",
            hint=again,
        ) from None
    except HindmostError as error:
        if (study.folder / "steps").exists():
            print(f"{len(search.steps)} finished step(s) are kept: {again}", file=sys.stderr)
        raise error
    return publish(found, study, as_json=as_json, quiet=quiet)


def publish(found: Found, study: Study, *, as_json: bool, quiet: bool = False) -> int:
    """Print what a search found; returns the exit code."""
    from hindmost.studies.search import RATIO

    if as_json:
        print(json.dumps(found.document(), allow_nan=False))
    else:
        print(render(found))
    if not quiet:
        shown = found.holds or found.fails
        if shown is not None and shown.runs:
            print(f"page of a step: hindmost report {study.folder / shown.study}", file=sys.stderr)
        if not found.finished:
            print(f"go on: hindmost measure --resume {study.folder}", file=sys.stderr)
        elif found.holds is not None and RATIO < found.span.ratio < math.inf:
            more = 2 * study.manifest["plan"]["runs"][1]
            again = f"hindmost measure --resume {study.folder} --runs {RUNS[0]}..{more}"
            print(f"runs differ too much for a narrower span; with more of them: {again}", file=sys.stderr)
        print(f"study: {study.folder}", file=sys.stderr)
    return 0 if found.holds is not None else UNDECIDED


def report_search(study: Study, *, as_json: bool) -> int:
    """Print the table of a stored search again."""
    from hindmost.studies.search import stored

    publish(stored(study), study, as_json=as_json)
    return 0


def render(found: Found, width: int | None = None) -> str:
    """Write a search for the terminal: the sentence, then its steps by rate.

    >>> from hindmost.studies.search import Found, Step
    >>> from hindmost.stats import Span
    >>> low = Step(1e4, "holds", 250.0, 240.0, 260.0, 3, 9999.0, "the interval of p99 lies below 300 us", "s")
    >>> high = Step(2e4, "unmet", None, None, None, 0, None, "synth was killed", "s")
    >>> print(render(Found("p99<300us", low, high, Span(9_800.0, 20_000.0), (low, high)), 78))
    p99<300us holds up to 10,000 requests/s: 250 us [240 us, 260 us] over 3 runs;
    20,000 requests/s could not be measured: synth was killed; the highest rate
    that holds lies between 9,800 and 20,000 with 90 % confidence
    <BLANKLINE>
    rate/s  outcome         p99                      runs  why
    20,000  not measurable  no finished run             0  synth was killed
    10,000  holds           250 us [240 us, 260 us]     3  the interval of p99
                                                           lies below 300 us
    """
    from hindmost.plan import parse_objective
    from hindmost.studies.search import counted, figures

    if width is None:
        width = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100
    rows = [("rate/s", "outcome", parse_objective(found.objective).leading.name, "runs", "why")]
    for step in sorted(found.steps, key=lambda step: -step.rate_per_s):
        rate = f"{step.rate_per_s:,.10g}"
        rows.append((rate, IN_WORDS[step.outcome], figures(step), counted(step), step.why))
    sizes = [max(len(row[i]) for row in rows) for i in range(4)]
    left = sum(sizes) + 2 * len(sizes)
    room = max(20, width - left)
    lines = [textwrap.fill(found.headline, max(40, width), break_long_words=False), ""]
    for rate, outcome, value, runs, why in rows:
        head = f"{rate:>{sizes[0]}}  {outcome:<{sizes[1]}}  {value:<{sizes[2]}}  {runs:>{sizes[3]}}  "
        first, *rest = textwrap.wrap(why, room, break_long_words=False) or [""]
        lines += [(head + first).rstrip(), *(" " * left + line for line in rest)]
    return "\n".join(lines)
