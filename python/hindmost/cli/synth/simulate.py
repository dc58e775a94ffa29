"""``hindmost synth simulate``: the latency that a clone document predicts."""

from __future__ import annotations

import json
from typing import Annotated

from hindmost.cli.options import LOAD, TARGET, Json, option, whole
from hindmost.cli.synth.load import ArrivalsOf, Backlog, Requests, Seed, check_counts
from hindmost.errors import UsageError
from hindmost.exits import Exit


def simulate(
    clone: Annotated[str, option(TARGET, None, "A document (.toml or .json), or an application's name.")],
    *,
    rate: Annotated[str | None, option(LOAD, "RATE", "Requests a second, like 5k.")] = None,
    utilisation: Annotated[
        str | None, option(LOAD, "SHARE", "Instead: share of the capacity. [default: 70%]")
    ] = None,
    arrivals: ArrivalsOf = "exponential",
    backlog: Backlog = False,
    threads: Annotated[int | None, whole(TARGET, "Worker threads, instead of the document's.")] = None,
    quantiles: Annotated[str, option(LOAD, "LIST", "Percentiles.")] = "50,95,99,99.9",
    requests: Requests = 1_000_000,
    seed: Seed = 1,
    json_: Json = False,
) -> int:
    """Print the latency that a clone document predicts, with its intervals.

    A queue simulator in the engine: exact where theory has an answer. Requests of one seed are the same ones
    that `hindmost synth serve` meets.
    """
    from hindmost.models import load_clone
    from hindmost.models.simulation import SCHEMA, Design
    from hindmost.models.simulation import simulate as run
    from hindmost.plan.units import parse_percent, parse_quantiles, parse_rate
    from hindmost.report.simulation.terminal import render_prediction

    if rate is not None and utilisation is not None:
        raise UsageError("--rate and --utilisation say the same thing twice", hint="leave out one of them")
    check_counts(requests, seed)
    loaded = load_clone(clone)
    if threads is not None:
        loaded = loaded.with_changes(threads=threads)
    share = None if rate else parse_percent(utilisation or "70%", "utilisation")
    design = Design(
        requests=requests, seed=seed, arrivals=arrivals, quantiles=parse_quantiles(quantiles), backlog=backlog
    )
    found = run(loaded, rate_per_s=parse_rate(rate) if rate else None, utilisation=share, design=design)
    if json_:
        head = {"schema": SCHEMA, "clone": loaded.name, "seed": seed, "arrivals": arrivals}
        print(json.dumps({**head, **found}, allow_nan=False))
    else:
        print(render_prediction(loaded.name, found), end="")
    return Exit.DONE
