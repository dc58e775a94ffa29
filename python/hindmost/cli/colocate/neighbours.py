"""``hindmost colocate neighbours``: which job is the best neighbour of a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from hindmost.cli.colocate.may import EXITS
from hindmost.cli.options import LOAD, PROCEDURE, TARGET, Json, option


def neighbours(
    server: Annotated[Path, option(TARGET, None, "The server's card (JSON).")],
    *jobs: Annotated[Path, option(TARGET, None, "Cards of jobs.")],
    within: Annotated[str, option(TARGET, "SHARE", "How much a percentile of the server may grow.")] = "10%",
    load: Annotated[str, option(LOAD, "SHARE", "How busy the server is.")] = "50%",
    pairs: Annotated[
        Path | None, option(TARGET, "FILE", "Pairs that were measured: learn from them, with a margin.")
    ] = None,
    violations: Annotated[
        str, option(PROCEDURE, "SHARE", "Of those told yes, how many may break the limit; with --pairs.")
    ] = "5%",
    json_: Json = False,
) -> int:
    """Rank jobs as neighbours of a server, the best first: what `may` says of each, side by side.

    Without --pairs the loss expected is Eq 3.3 with coefficients of 1: what the job takes of each ruler,
    times what the server loses beside it. The exit code is that of `may` for the best job.
    """
    from hindmost.colocation.asking import load_pairs
    from hindmost.colocation.asking import neighbours as ranked
    from hindmost.colocation.bound import load_card
    from hindmost.errors import UsageError
    from hindmost.plan import parse_percent, parse_share
    from hindmost.report.colocation.profile import render_neighbours

    if not jobs:
        raise UsageError(
            "missing-argument",
            "no job is given",
            hint="hindmost colocate neighbours server.json a.json b.json",
            name="jobs",
        )
    document = ranked(
        load_card(server),
        [load_card(one) for one in jobs],
        within=parse_share(within, "--within"),
        load=parse_percent(load, "--load"),
        pairs=None if pairs is None else load_pairs(pairs),
        violations=parse_percent(violations, "--violations"),
    )
    print(json.dumps(document) if json_ else render_neighbours(document), end="\n" if json_ else "")
    return int(EXITS[document["jobs"][0]["answer"]])
