"""``hindmost colocate steer``: what a cluster gains where predictions steer it, and what that saves."""

from __future__ import annotations

import json
from typing import Annotated

from hindmost.cli.options import LOAD, PROCEDURE, Json, option, whole
from hindmost.exits import Exit


def steer(
    *,
    servers: Annotated[int, whole(PROCEDURE, "Servers of six workers each.")] = 4000,
    programs: Annotated[int, whole(PROCEDURE, "Random programs on the twin.")] = 28,
    load: Annotated[
        str, option(LOAD, "SHARE", "How busy latency-sensitive servers are, for the tail.")
    ] = "50%",
    seed: Annotated[int, whole(PROCEDURE, "Of programs and arrivals.")] = 1,
    json_: Json = False,
) -> int:
    """Simulate a cluster under four policies (none, random, steered, oracle) at 20 levels of service.

    Losses are those of the twin, predictions learned on it. Violations are told as a share of servers and as
    a magnitude, apart; savings by instances, as the paper counts, and by batch work done.
    """
    from hindmost.plan import parse_share
    from hindmost.report.colocation.twin import render_steering
    from hindmost.studies.colocation.twin import steering

    document = steering(programs, servers=servers, seed=seed, load=parse_share(load, "load"))
    print(json.dumps(document) if json_ else render_steering(document), end="\n" if json_ else "")
    return Exit.DONE
