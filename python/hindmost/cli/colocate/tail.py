"""``hindmost colocate tail``: what a loss of rate does to percentiles of a loaded server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from hindmost.cli.options import LOAD, PROCEDURE, TARGET, Json, option, whole
from hindmost.exits import Exit


def tail(
    *,
    load: Annotated[str, option(LOAD, "SHARE", "How busy each worker is, alone.")] = "50%",
    lost: Annotated[str, option(LOAD, "SHARE", "Of its rate, that the server loses.")] = "10%",
    workers: Annotated[int, whole(LOAD, "Of the server: who is free takes the next request.")] = 1,
    service: Annotated[
        Path | None,
        option(TARGET, "FILE", "Service times alone, a number a line, in order. [default: exponential]"),
    ] = None,
    beside: Annotated[
        Path | None, option(TARGET, "FILE", "Service times beside a job, for the map of quantiles.")
    ] = None,
    quantiles: Annotated[str, option(PROCEDURE, "LIST", "Percentiles.")] = "50,90,99",
    seed: Annotated[int, whole(PROCEDURE, "Of arrivals and draws.", least=0)] = 1,
    json_: Json = False,
) -> int:
    """Predict how percentiles of latency grow when a server becomes slower, by several models of its queue.

    Eq 3.6 (M/M/1) holds for exponential service only; the others simulate the queue with the service times
    that were seen: all slower alike, each as its quantile became slower (--beside), and with slow spells
    kept together. With --workers one queue feeds several.
    """
    from hindmost.colocation.slower import grown, read_services
    from hindmost.errors import UsageError
    from hindmost.plan import parse_share
    from hindmost.report.colocation.tail import render_tail

    try:
        levels = [float(one) / 100 for one in quantiles.split(",")]
    except ValueError:
        raise UsageError(
            "bad-value",
            f"--quantiles {quantiles}: use numbers separated by commas",
            hint="--quantiles 50,99",
            option="--quantiles",
            value=quantiles,
        ) from None
    document = grown(
        None if service is None else read_services(service),
        levels=levels,
        load=parse_share(load, "--load", most=1.0),
        lost=parse_share(lost, "--lost", most=1.0),
        workers=workers,
        beside=None if beside is None else read_services(beside),
        seed=seed,
    )
    print(json.dumps(document) if json_ else render_tail(document), end="\n" if json_ else "")
    return Exit.DONE
