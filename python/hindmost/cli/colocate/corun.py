"""``hindmost colocate corun``: a server beside real jobs, predicted and measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from hindmost.cli.options import OUTPUT, PROCEDURE, TARGET, Json, option, whole
from hindmost.cli.outcome import put_files, refuse_files
from hindmost.cli.streams import say
from hindmost.exits import Exit


def corun(
    server: Annotated[Path, option(TARGET, None, "The server's card (JSON), of profile --probe.")],
    *jobs: Annotated[Path, option(TARGET, None, "Cards of jobs.")],
    rates: Annotated[
        str | None,
        option(TARGET, "LIST", "Further loads, above the card's: requests a second, 1k,2k."),
    ] = None,
    within: Annotated[str, option(TARGET, "SHARE", "How much its p99 may grow.")] = "10%",
    cpu: Annotated[
        int | None, whole(PROCEDURE, "The server's processor; jobs run on another. [default: the last]")
    ] = None,
    other: Annotated[
        str | None,
        option(
            PROCEDURE, "N|sibling", "Where jobs run; the other thread of its core. [default: the nearest]"
        ),
    ] = None,
    budget: Annotated[str, option(PROCEDURE, "TIME", "How long at most, each load.")] = "60s",
    seed: Annotated[int, whole(PROCEDURE, "Of the order of windows.")] = 1,
    page: Annotated[Path | None, option(OUTPUT, "FILE", "Write a page here (HTML).")] = None,
    out: Annotated[Path | None, option(OUTPUT, "FILE", "Write the document here (JSON).")] = None,
    json_: Json = False,
) -> int:
    """Start a server and jobs by their cards, and measure its tail beside each of them.

    The server is asked as it was for its card; each job runs on another processor for a window, in random
    order with an inert ruler and with nothing, round after round, four at least. How p50 and p99 grow stands
    beside what the cards predict, by several models, and under further loads (--rates) beside what was seen
    under the card's. A job that ends begins again. Exit code 3: beside some
    job p99 surely grew by more than --within.
    """
    from hindmost.colocation.bound import load_card
    from hindmost.errors import UsageError
    from hindmost.plan import parse_duration, parse_rate, parse_share
    from hindmost.report.colocation.corun import render_corun
    from hindmost.report.colocation.corun_page import render_corun_page
    from hindmost.studies.colocation.corun import corun as measured

    if not jobs:
        raise UsageError(
            "missing-argument",
            "no job is given",
            hint="hindmost colocate corun server.json batch.json",
            name="jobs",
        )
    refuse_files({"--out": out, "--page": page})
    document = measured(
        load_card(server),
        [load_card(one) for one in jobs],
        rates=[parse_rate(one) for one in rates.split(",")] if rates else (),
        within=parse_share(within, "--within"),
        cpu=cpu,
        other=other,
        budget_s=parse_duration(budget, "budget", 1.0),
        seed=seed,
        say=say,
    )
    print(json.dumps(document) if json_ else render_corun(document), end="\n" if json_ else "")
    texts = {out: json.dumps(document, indent=1) + "\n"}
    if page is not None:
        texts[page] = render_corun_page(document)
    put_files(texts)
    each = [*document["jobs"], *(job for load in document["loads"] for job in load["jobs"])]
    broken = any(one["promise"] == "broken" for one in each)
    return Exit.CROSSED if broken else Exit.DONE
