"""``hindmost explain``: why the tail is slow, and what reduces it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from hindmost.cli.options import OUTPUT, PROCEDURE, Json, Page, Shared, Yes, keep_private, option, switch
from hindmost.cli.requests import add_request_options
from hindmost.commands.explain.request import WITHOUT
from hindmost.core.run.request import MeasureRequest


@add_request_options(MeasureRequest, before={"workload": "budget", "batching": "by"}, without=WITHOUT)
def explain(
    asked: MeasureRequest,
    *,
    budget: Annotated[
        str | None,
        option(PROCEDURE, "TIME", "Time for all runs; may grow when a study is resumed. [default: 5m]"),
    ] = None,
    by: Annotated[
        str, option(PROCEDURE, "FIGURE", "Figure that should be low: mean or a percentile.")
    ] = "p99",
    apply: Annotated[
        bool,
        switch(PROCEDURE, "Keep confirmed settings of this host; `hindmost host knobs restore` undoes it."),
    ] = False,
    out: Annotated[
        Path | None, option(OUTPUT, "STUDY", "Folder of the study. [default: hindmost-TARGET-TIME]")
    ] = None,
    page: Page = None,
    shared: Shared = False,
    yes: Yes = False,
    json_: Json = False,
    quiet: Annotated[bool, switch(OUTPUT, "No progress.", "--quiet", "-q")] = False,
) -> int:
    """Explain the tail of a server, and confirm by experiment what reduces it.

    Hindmost traces the server's requests once. The trace and a catalogue of settings give candidate changes,
    which are tried in interleaved rounds. The worst are dropped early, and fresh pairs of runs confirm the
    best. Exit code 0: a gain is confirmed, or a gain of more than 5 % is ruled out; 4: undecided. To resume a
    study, give only its folder.
    """
    from hindmost.cli.outcome import print_answer, refuse_files
    from hindmost.cli.progress import Talk
    from hindmost.commands.explain.request import create_study, resume_study
    from hindmost.core.study.begin import refuse_changes
    from hindmost.core.study.kind import carry_out

    keep_private(shared=shared)
    refuse_files({"--page": page})
    if asked.target is not None and (Path(asked.target) / "manifest.json").exists():
        refuse_changes(
            [*replace(asked, target=None).fixed_options(), *(["--out"] if out is not None else [])],
            f"hindmost explain {asked.target}; --budget may change",
        )
        study = resume_study(Path(asked.target), budget)
    else:
        study = create_study(asked, budget or "5m", by, out)
    shown = carry_out(study, Talk(quiet=quiet, trust=yes), page, apply=apply)
    return print_answer(shown, as_json=json_, quiet=quiet, timed=True)
