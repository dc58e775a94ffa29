"""``hindmost colocate may``: may this job run beside that server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from hindmost.cli.options import LOAD, OUTPUT, PROCEDURE, TARGET, Json, option
from hindmost.cli.outcome import written
from hindmost.exits import Exit

EXITS = {"yes": Exit.DONE, "no": Exit.CROSSED, "unknown": Exit.INCONCLUSIVE}


def may(
    job: Annotated[Path, option(TARGET, None, "The job's card (JSON).")],
    server: Annotated[Path, option(TARGET, None, "The server's card (JSON).")],
    *,
    within: Annotated[str, option(TARGET, "SHARE", "How much a percentile of the server may grow.")] = "10%",
    load: Annotated[str, option(LOAD, "SHARE", "How busy the server is.")] = "50%",
    pairs: Annotated[
        Path | None, option(TARGET, "FILE", "Pairs that were measured: learn from them, with a margin.")
    ] = None,
    violations: Annotated[
        str, option(PROCEDURE, "SHARE", "Of those told yes, how many may break the limit; with --pairs.")
    ] = "5%",
    prometheus: Annotated[
        Path | None, option(OUTPUT, "FILE", "Write the answer for Prometheus, as text, here.")
    ] = None,
    json_: Json = False,
) -> int:
    """Say whether a job may run beside a server: yes, no, or that two cards cannot tell.

    The server loses at most the sum of its losses to each resource that the job uses (Eq 3.3). The growth of
    p50 and p99 in its card counts as well; Eq 3.6 converts it to --load. Cards of different processors are
    refused. With --pairs (of `colocate pairs`) a measured pair answers for itself, and for others a model
    that learned from all, with a margin so wide that no more than --violations of those told yes break it.
    """
    from hindmost.colocation.asking import ask, load_pairs
    from hindmost.colocation.bound import load_card
    from hindmost.errors import HindmostError
    from hindmost.plan import parse_percent, parse_share
    from hindmost.report.colocation.profile import prometheus_text, render_answer

    found = ask(
        load_card(job),
        load_card(server),
        within=parse_share(within, "--within"),
        load=parse_percent(load, "--load"),
        pairs=None if pairs is None else load_pairs(pairs),
        violations=parse_percent(violations, "--violations"),
    )
    failure = None if prometheus is None else written(prometheus, prometheus_text(found))
    print(json.dumps(found) if json_ else render_answer(found), end="\n" if json_ else "")
    if failure is not None:
        raise HindmostError(
            "unwritable-file",
            failure,
            hint="--prometheus FILE in a folder that you may write to",
            option="--prometheus",
            path=str(prometheus),
        )
    return int(EXITS[str(found["answer"])])
