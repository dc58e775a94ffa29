"""``hindmost colocate steer``: what a cluster gains where predictions steer it, and what that saves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from hindmost.cli.options import LOAD, PROCEDURE, Json, option, whole
from hindmost.documents import read_text
from hindmost.exits import Exit


def steer(
    *,
    servers: Annotated[int, whole(PROCEDURE, "Servers of six workers each.", least=1)] = 4000,
    programs: Annotated[int, whole(PROCEDURE, "Random programs on the twin.", least=1)] = 28,
    load: Annotated[
        str, option(LOAD, "SHARE", "How busy latency-sensitive servers are, for the tail.")
    ] = "50%",
    pods: Annotated[
        Path | None,
        option(
            LOAD, "FILE", "Who serves and what is offered, from a list of pods (CSV). [default: generated]"
        ),
    ] = None,
    seed: Annotated[int, whole(PROCEDURE, "Of programs and arrivals.", least=0)] = 1,
    json_: Json = False,
) -> int:
    """Simulate a cluster under four policies (none, random, steered, oracle) at 20 levels of service.

    Losses are those of the twin, predictions learned on it. Violations are told as a share of servers and as
    a magnitude, apart; savings by instances, as the paper counts, and by batch work done. --pods takes a
    list in the layout of Alibaba's cluster-trace-gpu-v2023: its LS pods serve, its BE pods are batch work.
    """
    from hindmost.errors import UsageError
    from hindmost.plan import parse_percent
    from hindmost.report.colocation.twin import render_steering
    from hindmost.studies.colocation.twin import steering

    try:
        listed = None if pods is None else read_text(pods)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            "no-such-file" if isinstance(error, FileNotFoundError) else "unreadable-file",
            f"--pods {pods} cannot be read: {error}",
            hint=f"ls -l {pods}",
            option="--pods",
            path=str(pods),
        ) from None
    document = steering(programs, servers=servers, seed=seed, load=parse_percent(load, "--load"), pods=listed)
    print(json.dumps(document) if json_ else render_steering(document), end="\n" if json_ else "")
    return Exit.DONE
