"""``hindmost colocate advise``: who goes where beside a server, and the files that do it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

from hindmost.cli.options import LOAD, OUTPUT, PROCEDURE, TARGET, Json, option
from hindmost.cli.streams import say
from hindmost.exits import Exit


def advise(
    server: Annotated[Path, option(TARGET, None, "The server's card (JSON).")],
    *jobs: Annotated[Path, option(TARGET, None, "Cards of jobs.")],
    within: Annotated[str, option(TARGET, "SHARE", "How much a percentile of the server may grow.")] = "10%",
    load: Annotated[str, option(LOAD, "SHARE", "How busy the server is.")] = "50%",
    server_cpus: Annotated[
        str | None,
        option(PROCEDURE, "LIST", "The server's processors. [default: as many as its load needs]"),
    ] = None,
    unit: Annotated[
        str | None, option(TARGET, "NAME.service", "The server's unit, for which a drop-in is written.")
    ] = None,
    at: Annotated[
        str, option(TARGET, "URL", "Where the server answers, for the commands.")
    ] = "memcached://127.0.0.1:11211",
    promise: Annotated[str, option(TARGET, "LIMIT", "Of its latency, for the commands.")] = "p95<1ms",
    out: Annotated[
        Path | None, option(OUTPUT, "FOLDER", "Write a slice, a drop-in and a script for cpusets here.")
    ] = None,
    json_: Json = False,
) -> int:
    """Advise where jobs may run that are to share a machine with a server, from their profile cards.

    What its promise bears runs beside it, on the processors that are left, and gets there only what nobody
    else wants; what cards cannot tell runs under `colocate supervise`; the rest elsewhere. Nothing is
    changed: --out writes files for systemd, and a script for cpusets where there is none.
    """
    from hindmost.colocation.advice import advise as advised
    from hindmost.colocation.advice import command_of, files_of
    from hindmost.colocation.bound import load_card
    from hindmost.errors import UsageError
    from hindmost.plan import parse_percent, parse_share, parse_term
    from hindmost.report.colocation.advice import render_advice
    from hindmost.store.files import install
    from hindmost.targets.cpus import parse_cpus

    if not jobs:
        raise UsageError(
            "missing-argument",
            "no job is given",
            hint="hindmost colocate advise server.json batch.json",
            name="jobs",
        )
    cpus = sorted(os.sched_getaffinity(0))
    try:
        own = None if server_cpus is None else parse_cpus(server_cpus)
    except ValueError as error:
        raise UsageError(
            "bad-value",
            f"--server-cpus {server_cpus}: {error}",
            hint="--server-cpus 0-1",
            option="--server-cpus",
            value=server_cpus,
        ) from None
    if own is not None and not set(own) <= set(cpus):
        raise UsageError(
            "bad-value",
            f"--server-cpus {server_cpus}: this machine has {', '.join(map(str, cpus))}",
            hint="lscpu -e",
            option="--server-cpus",
            value=server_cpus,
            known=cpus,
        )
    parse_term(promise, "promise")
    document = advised(
        load_card(server),
        [load_card(one) for one in jobs],
        within=parse_share(within, "--within"),
        load=parse_percent(load, "--load"),
        cpus=cpus,
        server_cpus=own,
    )
    commands = {one["job"]: command_of(one, at, promise) for one in document["jobs"]}
    texts = files_of(document, unit)
    if json_:
        print(json.dumps(document))
    else:
        print(render_advice(document, commands), end="")
    if out is not None:
        say(*(f"wrote {path}" for path in install(out, texts)))
    return Exit.DONE
