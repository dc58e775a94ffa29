"""``hindmost batching``: the interval at which requests are best batched at a rate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hindmost.cli.options import (
    CLIENTS,
    OUTPUT,
    PROCEDURE,
    Json,
    Shared,
    Yes,
    keep_private,
    option,
    switch,
    whole,
)
from hindmost.cli.requests import takes
from hindmost.run.request import MeasureRequest


@takes(
    MeasureRequest,
    before={"aggregate": "rounds"},
    without=("runs", "precision", "verify_wire", "batching", "quick", "schedule"),
)
def batching(
    asked: MeasureRequest,
    *,
    intervals: Annotated[
        str | None,
        option(
            CLIENTS,
            "LIST",
            "Intervals to try, like 50us,100us,200us. [default: those that batch 2 to 32 requests]",
        ),
    ] = None,
    rounds: Annotated[
        int | None,
        whole(PROCEDURE, "Rounds that count, each with a run of every way. [default: 11 for the usual ways]"),
    ] = None,
    by: Annotated[
        str | None,
        option(PROCEDURE, "FIGURE", "What is to be low: mean, or a percentile like p99. [default: mean]"),
    ] = None,
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
    """Find the interval at which requests are best batched, beside no batching and Nagle's algorithm.

    Every way has a run in each round, in an order drawn anew. --rate may name several rates, like 20k,40k.
    The page draws the figures that the variability paper has of it (section 6) for the server at hand.
    """
    from hindmost.cli.outcome import tell
    from hindmost.cli.progress import Talk
    from hindmost.studies.batching import opened, reopened
    from hindmost.studies.begin import refuse_changes
    from hindmost.studies.kind import carry_out

    keep_private(shared=shared)
    if resume is not None:
        own = {"--intervals": intervals, "--by": by, "--out": out}
        refuse_changes(
            [*asked.fixed(), *(name for name, given in own.items() if given is not None)],
            f"hindmost batching --resume {resume}; --rounds may change",
        )
        study = reopened(resume, rounds)
    else:
        study = opened(asked, intervals, rounds, by or "mean", out)
    return tell(carry_out(study, Talk(quiet=quiet, trust=yes), page), as_json=json_, quiet=quiet, timed=True)
