"""``hindmost trial``: one change tried against the present state."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hindmost.cli.options import (
    OUTPUT,
    PROCEDURE,
    TARGET,
    Json,
    Shared,
    Yes,
    keep_private,
    option,
    switch,
    whole,
)
from hindmost.cli.requests import takes
from hindmost.errors import UsageError
from hindmost.run.request import MeasureRequest


@takes(
    MeasureRequest,
    before={"aggregate": "rounds"},
    without=("runs", "precision", "verify_wire", "quick", "schedule"),
)
def trial(
    asked: MeasureRequest,
    *,
    knob: Annotated[
        str | None,
        option(TARGET, "KNOB", "What is changed, as a factor in a study file: 'pinning = true'."),
    ] = None,
    levels: Annotated[
        str | None,
        option(TARGET, "LIST", "Its levels, the present state first: off,on; 0,10..160 for a number."),
    ] = None,
    rounds: Annotated[
        int | None,
        whole(
            PROCEDURE,
            "Rounds that count, each with a run of every level. [default: 8 for two levels, a few more for"
            " several]",
        ),
    ] = None,
    refine: Annotated[
        int | None,
        whole(
            PROCEDURE,
            "How often levels half way between the best one and its neighbours are tried, beside it and the"
            " present state; for numbers. [default: 0]",
        ),
    ] = None,
    by: Annotated[
        str | None,
        option(PROCEDURE, "FIGURE", "What is to be low: mean, or a percentile like p99. [default: p99]"),
    ] = None,
    keep: Annotated[
        bool,
        switch(PROCEDURE, "Leave a setting of the host at the best level, if it is proven better.", "--keep"),
    ] = False,
    resume: Annotated[Path | None, option(OUTPUT, "STUDY", "Go on with a study.")] = None,
    out: Annotated[Path | None, option(OUTPUT, "STUDY", "Folder. [default: hindmost-TARGET-TIME]")] = None,
    page: Annotated[
        Path | None, option(OUTPUT, "FILE", "Write the page there. [default: into the study]")
    ] = None,
    shared: Shared = False,
    yes: Yes = False,
    json_: Json = False,
    quiet: Annotated[bool, switch(OUTPUT, "No progress.", "--quiet", "-q")] = False,
) -> int:
    """Try one change against the present state, in turns; with several levels, find the best one.

    Every level has a run in each round, in an order drawn anew, with a fresh server and the knob in force; it
    is put back after each run. `hindmost host knobs list` shows what can be a knob.
    """
    from hindmost.cli.outcome import tell
    from hindmost.cli.progress import Talk
    from hindmost.studies.begin import refuse_changes
    from hindmost.studies.kind import carry_out
    from hindmost.studies.trial import opened, reopened

    keep_private(shared=shared)
    if resume is not None:
        own = {"--knob": knob, "--levels": levels, "--refine": refine, "--by": by, "--out": out}
        refuse_changes(
            [*asked.fixed(), *(name for name, given in own.items() if given is not None)],
            f"hindmost trial --resume {resume}; --rounds may change",
        )
        study = reopened(resume, rounds)
    elif knob is None or levels is None:
        missing = "--knob" if knob is None else "--levels"
        raise UsageError(
            "missing-argument",
            f"{missing} is missing: a trial needs a knob and its levels",
            hint="hindmost trial memcached --rate 20k --knob 'option = \"threads\"' --levels 4,1",
            option=missing,
        )
    else:
        study = opened(asked, knob, levels, rounds, by or "p99", out, refine or 0)
    shown = carry_out(study, Talk(quiet=quiet, trust=yes), page, keep=keep)
    return tell(shown, as_json=json_, quiet=quiet, timed=True)
