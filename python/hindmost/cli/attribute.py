"""``hindmost attribute``: which factors cause the tail, and what to set."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hindmost.cli.options import OUTPUT, PROCEDURE, TARGET, Json, option, switch
from hindmost.errors import HindmostError, Interrupted, StudyError

if TYPE_CHECKING:
    from hindmost.store import Study
    from hindmost.studies.attribution import Trials

OPEN, INVALID = 4, 6


def attribute(
    study: Annotated[
        Path, option(TARGET, None, "A study file (TOML); or the folder of a study, to go on with it.")
    ],
    *,
    budget: Annotated[
        str | None, option(PROCEDURE, "TIME", "Time for all runs, like 30m; decides design and blocks.")
    ] = None,
    without: Annotated[
        str | None, option(PROCEDURE, "NAMES", "Factors to leave out, like 'turbo,huge pages'.")
    ] = None,
    dry_run: Annotated[
        bool, switch(PROCEDURE, "Say what would be run, how long it takes and what it can tell; run nothing.")
    ] = False,
    no_confirm: Annotated[
        bool, switch(PROCEDURE, "No fresh runs of the recommended setting.", "--no-confirm")
    ] = False,
    apply: Annotated[
        bool, switch(PROCEDURE, "Leave the host in the recommended setting, if it was confirmed.")
    ] = False,
    out: Annotated[
        Path | None, option(OUTPUT, "FOLDER", "Folder of the study; one that exists goes on.")
    ] = None,
    json_: Json = False,
    quiet: Annotated[bool, switch(OUTPUT, "No progress.", "--quiet", "-q")] = False,
) -> int:
    """Find which factors cause the tail, and what to set.

    Runs every combination of the factors' levels (or a fraction of them) at every load, each several times on
    a fresh server, in random order in blocks; says what each factor and each combination of them does to each
    quantile; recommends a setting, and confirms it with fresh runs beside the present one. Whatever was
    changed on this host is put back as it was found.
    """
    from hindmost.cli.attribution import begun, resolve, told_before

    plan, opened = resolve(study, out, budget=budget, without=without)
    print(told_before(plan), file=sys.stdout if dry_run else sys.stderr)
    if dry_run:
        return 0
    return _run(*begun(plan, opened, out), confirm=not no_confirm, apply=apply, as_json=json_, quiet=quiet)


def _run(folder: Study, trials: Trials, *, confirm: bool, apply: bool, as_json: bool, quiet: bool) -> int:
    from hindmost.cli.attribution import Talk, carry_out

    again = f"hindmost attribute {folder.folder}"
    try:
        with folder.lock():
            result = carry_out(trials, Talk(trials.plan, quiet=quiet), confirm=confirm, apply=apply)
    except (KeyboardInterrupt, Interrupted) as stop:
        raise Interrupted(
            f"{str(stop) or 'interrupted'}; finished runs are kept in {folder.folder}", hint=again
        ) from None
    except HindmostError:
        print(f"finished runs are kept: {again}", file=sys.stderr)
        raise
    return publish(folder, result, as_json=as_json, quiet=quiet)


def publish(study: Study, result: dict[str, Any], *, as_json: bool, quiet: bool = False) -> int:
    """Write the document and the page, print the answer; returns the exit code."""
    from hindmost.report import render_attribution, render_attribution_page
    from hindmost.studies.attribution import FILE

    text = json.dumps(result, allow_nan=False)
    study.write(FILE, text)
    page = study.write("report.html", render_attribution_page(result))
    print(text if as_json else render_attribution(result))
    if not quiet:
        print(f"page: {page}\nstudy: {study.folder}", file=sys.stderr)
    return {"answered": 0, "open": OPEN}.get(result["verdict"], INVALID)


def report_attribution(study: Study, *, as_json: bool) -> int:
    """``hindmost report`` of a study of factors: the answer again, from its runs."""
    from hindmost.cli.attribution import reopened
    from hindmost.studies.attribution import answer

    trials = reopened(study)
    result = answer(trials)
    if not any(cell["runs"] + cell["invalid"] for load in result["loads"] for cell in load["cells"]):
        raise StudyError(f"{study.folder} holds no finished run", hint=f"hindmost attribute {study.folder}")
    return publish(study, result, as_json=as_json)
