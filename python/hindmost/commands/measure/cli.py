"""``hindmost measure``: measure tail latency, with confidence intervals."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from hindmost.cli.options import (
    LOAD,
    OUTPUT,
    PROCEDURE,
    Json,
    Page,
    Shared,
    Verbose,
    Yes,
    keep_private,
    option,
    switch,
)
from hindmost.cli.requests import add_request_options
from hindmost.cli.streams import say
from hindmost.commands.measure.gate import Junit, Markdown, Require
from hindmost.core.run.request import MeasureRequest
from hindmost.errors import ClientError, TargetError


@add_request_options(MeasureRequest, before={"workload": "find_rate", "samples": "out"})
def measure(
    asked: MeasureRequest,
    *,
    find_rate: Annotated[
        str | None,
        option(
            LOAD,
            "OBJECTIVE",
            "Find the highest rate at which this holds, for example 'p99<500us'. The search starts at"
            " --rate.",
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        option(
            PROCEDURE,
            "STUDY",
            "Continue this study or search. Only --runs, --precision and --remake may change.",
        ),
    ] = None,
    out: Annotated[
        Path | None, option(OUTPUT, "STUDY", "Folder of the study. [default: hindmost-TARGET-TIME]")
    ] = None,
    require: Require = (),
    junit: Junit = None,
    markdown: Markdown = None,
    page: Page = None,
    shared: Shared = False,
    yes: Yes = False,
    json_: Json = False,
    verbose: Verbose = False,
    quiet: Annotated[bool, switch(OUTPUT, "Do not show progress.", "--quiet", "-q")] = False,
) -> int:
    """Measure a server's tail latency by Treadmill's procedure.

    Several light clients send open-loop load through warm-up, calibration and measurement. Runs are repeated,
    each on a freshly started server, until the interval of every percentile is narrow enough. A verdict
    states whether the figures can be trusted.
    """
    from hindmost.cli.outcome import print_answer, refuse_files
    from hindmost.cli.progress import Talk
    from hindmost.commands.measure.gate import refuse_unwritable, render_files, report_unmeasured
    from hindmost.commands.measure.search.options import plan_search, refuse_contradictions
    from hindmost.core.plan.limits import check_limits, parse_limits
    from hindmost.core.store import name_of
    from hindmost.core.study.begin import begin, continue_study, resume_measurement
    from hindmost.core.study.kind import carry_out

    keep_private(shared=shared)
    refuse_files({"--page": page})
    limits = parse_limits(require)
    gate = {"require": require, "junit": junit, "markdown": markdown}
    texts = list(require)
    try:
        if resume is not None:
            study, plan = resume_measurement(resume, asked, find_rate=find_rate, out=out)
            if name_of(study.manifest) == "search":
                refuse_contradictions(asked, gate)
            texts = texts or study.manifest.get("require", [])
            refuse_unwritable(junit=junit, markdown=markdown, limits=bool(texts))
            study = continue_study(study, check_limits(plan, limits), **({"require": texts} if texts else {}))
        elif find_rate is not None:
            plan, objective = plan_search(asked, find_rate, gate)
            study = begin(plan, out, "search", search={"objective": objective.text})
        else:
            refuse_unwritable(junit=junit, markdown=markdown, limits=bool(limits))
            more = {"require": texts} if limits else {}
            study = begin(check_limits(asked.plan(), limits), out, "measure", **more)
        if os.geteuid() == 0 and "://" in (asked.target or "") and not (asked.verify_wire or quiet):
            say("note[root-not-needed]: measuring a server at a URL does not need root")
        shown = carry_out(study, Talk(quiet=quiet, trust=yes), page)
    except (TargetError, ClientError) as error:
        from hindmost.core.targets.resolve import without_password

        name = without_password(asked.target) if asked.target else f"the server of {resume}"
        return report_unmeasured(name, texts, error, junit=junit, markdown=markdown)
    written = render_files(shown.answer, junit=junit, markdown=markdown)
    return print_answer(shown, as_json=json_, quiet=quiet, verbose=verbose, files=written, timed=True)
