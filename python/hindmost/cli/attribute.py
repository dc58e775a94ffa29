"""``hindmost attribute``: which factors cause the tail, and what to set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hindmost.cli.options import (
    OUTPUT,
    PROCEDURE,
    TARGET,
    Json,
    Page,
    Shared,
    Yes,
    keep_private,
    option,
    switch,
)
from hindmost.cli.streams import say
from hindmost.exits import Exit


def attribute(
    study: Annotated[
        Path, option(TARGET, None, "A study file (TOML), or the folder of a study to continue.")
    ],
    *,
    budget: Annotated[
        str | None, option(PROCEDURE, "TIME", "Time for all runs, like 30m. It determines design and blocks.")
    ] = None,
    without: Annotated[
        str | None, option(PROCEDURE, "NAMES", "Factors to leave out, like 'turbo,huge pages'.")
    ] = None,
    remake: Annotated[
        str | None,
        option(
            PROCEDURE,
            "SHARE",
            "Exclude runs with interference and repeat up to this share of all runs. 0 counts all runs."
            " [default: the study file's, or 50%]",
        ),
    ] = None,
    dry_run: Annotated[
        bool, switch(PROCEDURE, "Print the runs, their duration and their precision; run nothing.")
    ] = False,
    no_confirm: Annotated[
        bool, switch(PROCEDURE, "Do not confirm the recommended setting by new runs.", "--no-confirm")
    ] = False,
    apply: Annotated[
        bool, switch(PROCEDURE, "Leave the host in the recommended setting if it is confirmed.")
    ] = False,
    out: Annotated[
        Path | None, option(OUTPUT, "FOLDER", "Folder of the study. An existing study continues.")
    ] = None,
    page: Page = None,
    shared: Shared = False,
    yes: Yes = False,
    json_: Json = False,
    quiet: Annotated[bool, switch(OUTPUT, "No progress.", "--quiet", "-q")] = False,
) -> int:
    """Find which factors cause the tail, and what to set.

    Runs every combination of the factors' levels (or a fraction of them) at every load, each several times on
    a fresh server, in random order in blocks; says what each factor and each combination of them does to each
    quantile; recommends a setting, and confirms it with fresh runs next to the present one. Whatever was
    changed on this host is put back as it was found.
    """
    from hindmost.cli.outcome import refuse_files, tell
    from hindmost.cli.progress import Talk
    from hindmost.studies.attribution.resolve import opened, resolve, told_before, untried
    from hindmost.studies.kind import carry_out

    keep_private(shared=shared)
    refuse_files({"--page": page})
    plan, before = resolve(study, out, budget=budget, without=without, remake=remake, dry=dry_run)
    (print if dry_run else say)(told_before(plan))
    if dry_run:
        if left_open := untried(plan):
            print(left_open)
        return Exit.DONE
    folder = opened(plan, before, out)
    shown = carry_out(folder, Talk(quiet=quiet, trust=yes), page, confirm=not no_confirm, apply=apply)
    return tell(shown, as_json=json_, quiet=quiet, timed=True)
