"""``hindmost attribute``: find which factors cause the tail, and the best setting."""

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
from hindmost.core.exits import Exit


def attribute(
    study: Annotated[
        Path, option(TARGET, None, "A study file (TOML), or the folder of a study to continue.")
    ],
    *,
    budget: Annotated[
        str | None,
        option(
            PROCEDURE,
            "TIME",
            "Time for all runs, for example 30m. It determines the design and the number of blocks.",
        ),
    ] = None,
    without: Annotated[
        str | None, option(PROCEDURE, "NAMES", "Factors to leave out, for example 'turbo,huge pages'.")
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
        bool,
        switch(PROCEDURE, "Print the planned runs, their duration and the expected precision, and exit."),
    ] = False,
    no_confirm: Annotated[
        bool, switch(PROCEDURE, "Do not confirm the recommended setting with new runs.", "--no-confirm")
    ] = False,
    apply: Annotated[
        bool, switch(PROCEDURE, "Leave the host in the recommended setting if it is confirmed.")
    ] = False,
    out: Annotated[
        Path | None, option(OUTPUT, "FOLDER", "Folder of the study. An existing study is continued.")
    ] = None,
    page: Page = None,
    shared: Shared = False,
    yes: Yes = False,
    json_: Json = False,
    quiet: Annotated[bool, switch(OUTPUT, "Do not show progress.", "--quiet", "-q")] = False,
) -> int:
    """Find which factors cause the tail, and the best setting.

    The command runs every combination of the factors' levels, or a fraction of them, at every load. Each
    combination runs several times on a fresh server, in random order within blocks. The report states the
    effect of each factor and of each interaction on each quantile. It recommends a setting, which fresh runs
    compare with the current one. Every change to this host is undone at the end.
    """
    from hindmost.cli.outcome import print_answer, refuse_files
    from hindmost.cli.progress import Talk
    from hindmost.commands.attribute.resolve import note_untried, open_attribution, preview, resolve
    from hindmost.core.study.kind import carry_out

    keep_private(shared=shared)
    refuse_files({"--page": page})
    plan, before = resolve(study, out, budget=budget, without=without, remake=remake, dry=dry_run)
    (print if dry_run else say)(preview(plan))
    if dry_run:
        if left_open := note_untried(plan):
            print(left_open)
        return Exit.DONE
    folder = open_attribution(plan, before, out)
    shown = carry_out(folder, Talk(quiet=quiet, trust=yes), page, confirm=not no_confirm, apply=apply)
    return print_answer(shown, as_json=json_, quiet=quiet, timed=True)
