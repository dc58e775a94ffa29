"""``hindmost clone fit``: fit a clone to measured service times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from hindmost.cli.options import OUTPUT, PROCEDURE, TARGET, Json, integer_option, option, switch
from hindmost.cli.streams import say
from hindmost.commands.clone.cli.load import need_folder
from hindmost.core.exits import Exit
from hindmost.core.progress import step
from hindmost.errors import UsageError


def fit(
    log: Annotated[
        list[Path],
        option(
            TARGET,
            None,
            "Server logs (CSV, Parquet) at several loads, or with 1, 2 and 4 threads; or a study.",
        ),
    ],
    *,
    column: Annotated[
        str | None,
        option(TARGET, "NAME", "Column with the service times, for files that are not a server's log."),
    ] = None,
    unit: Annotated[
        Literal["ns", "us", "ms", "s"] | None,
        option(TARGET, "UNIT", "Unit of the column, if its name does not end in a unit."),
    ] = None,
    threads: Annotated[
        int | None, integer_option(TARGET, "Worker threads of the clone. [default: those in the log]")
    ] = None,
    demand: Annotated[
        Literal["auto", "cpu", "wall"],
        option(PROCEDURE, "TIME", "Which time in a server's log is the service demand."),
    ] = "auto",
    same_host: Annotated[
        bool,
        switch(
            PROCEDURE,
            "Exclude the host's interference from the model, because the clone will run on the same host.",
        ),
    ] = False,
    name: Annotated[str | None, option(OUTPUT, "NAME", "Name of the server.")] = None,
    out: Annotated[Path | None, option(OUTPUT, "CLONE.toml", "Write the clone to this file.")] = None,
    page: Annotated[
        Path | None, option(OUTPUT, "PAGE.html", "Write a page with charts to this file.")
    ] = None,
    json_: Json = False,
) -> int:
    """Fit a clone to measured service times.

    Hindmost chooses the distribution that best predicts the latency of held-out requests. Without --out, the
    clone goes to standard output and the report to standard error.
    """
    from hindmost.commands.clone.fit import account, fit_clone, read_logs
    from hindmost.commands.clone.view.fit import view
    from hindmost.commands.clone.writing import clone_text
    from hindmost.core.store.estimates import encode
    from hindmost.present.page import render_page
    from hindmost.present.terminal import render_terminal

    if threads is not None and not 1 <= threads <= 1024:
        raise UsageError(
            "bad-value",
            f"--threads {threads} is not between 1 and 1,024",
            option="--threads",
            value=threads,
            least=1,
            most=1024,
        )
    for flag, place in (("--out", out), ("--page", page)):
        if place is not None:
            need_folder(flag, place)
    with step("reading the logs"):
        logs, way = read_logs(log, column, unit)
    with step("fitting the clone"):
        fitted = fit_clone(
            *logs,
            name=name,
            threads=threads,
            of=demand,
            disturbed=not same_host,
            way=way,
        )
        result = account(fitted)
    shown = view(result)
    text = clone_text(fitted.clone)
    if out is not None:
        out.write_text(json.dumps(fitted.clone.document) if out.suffix == ".json" else text, encoding="utf-8")
    if page is not None:
        page.write_text(render_page(shown), encoding="utf-8")
    if json_:
        print(encode(result))
    elif out is None:
        print(text, end="")
        say(render_terminal(shown), end="")
    else:
        print(render_terminal(shown), end="")
    for place, what in ((out, "clone"), (page, "page")):
        if place is not None:
            say(f"{what}: {place}")
    return Exit.DONE
