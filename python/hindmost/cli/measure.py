"""``hindmost measure``: how slow the tail is, and how sure we are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from hindmost.cli.options import LOAD, OUTPUT, PROCEDURE, Json, Verbose, option, switch
from hindmost.cli.requests import takes
from hindmost.run.request import MeasureRequest


@takes(MeasureRequest, before={"workload": "find_rate", "samples": "out"})
def measure(
    asked: MeasureRequest,
    *,
    find_rate: Annotated[
        str | None,
        option(
            LOAD,
            "OBJECTIVE",
            "Search for the highest rate at which this holds, like 'p99<500us'; starts at --rate.",
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        option(
            PROCEDURE,
            "STUDY",
            "Go on with this study or search; only --runs, --precision and --remake may change.",
        ),
    ] = None,
    out: Annotated[
        Path | None, option(OUTPUT, "STUDY", "Folder of the study. [default: hindmost-TARGET-TIME]")
    ] = None,
    require: Annotated[
        tuple[str, ...],
        Parameter(
            group=OUTPUT,
            metavar="LIMIT",
            negative="",
            help="Exit with 3 unless this holds, like 'p99<500us'; may be repeated.",
        ),
    ] = (),
    json_: Json = False,
    verbose: Verbose = False,
    quiet: Annotated[bool, switch(OUTPUT, "No progress.", "--quiet", "-q")] = False,
) -> int:
    """Measure a server's tail latency with the whole Treadmill procedure.

    Open-loop load from several light clients; warm-up, calibration, measurement; runs against a freshly
    started server until the interval of every percentile is narrow enough; a verdict on whether the figures
    can be believed.
    """
    from hindmost.cli.outcome import tell
    from hindmost.cli.progress import Talk
    from hindmost.cli.require import exit_code, measured
    from hindmost.plan import parse_threshold
    from hindmost.store import name_of
    from hindmost.studies.begin import begin, go_on, reopened
    from hindmost.studies.kind import carry_out
    from hindmost.studies.search.asked import refuse_contradictions, searching

    thresholds = [parse_threshold(text, calm_too=True) for text in require]
    if resume is not None:
        study, plan = reopened(resume, asked, find_rate=find_rate, out=out)
        if name_of(study.manifest) == "search":
            refuse_contradictions(asked, require)
        study = go_on(study, measured(plan, thresholds))
    elif find_rate is not None:
        plan, objective = searching(asked, find_rate, require)
        study = begin(plan, out, "search", search={"objective": objective.text})
    else:
        study = begin(measured(asked.plan(), thresholds), out, "measure")
    shown = carry_out(study, Talk(quiet=quiet))
    code = tell(shown, as_json=json_, quiet=quiet, verbose=verbose)
    return exit_code(shown.document, thresholds, study.folder) if thresholds else code
