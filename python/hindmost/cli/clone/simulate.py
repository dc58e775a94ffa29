"""``hindmost clone simulate``: the latency that a clone document predicts."""

from __future__ import annotations

from typing import Annotated

from hindmost.cli.clone.load import ArrivalsOf, Backlog, Requests, Seed
from hindmost.cli.options import LOAD, TARGET, Json, option, whole
from hindmost.exits import Exit


def simulate(
    clone: Annotated[
        str, option(TARGET, None, "A clone document (.toml or .json), or the name of an application.")
    ],
    *,
    rate: Annotated[str | None, option(LOAD, "RATE", "Requests per second, like 5k.")] = None,
    utilisation: Annotated[
        str | None, option(LOAD, "SHARE", "Share of the capacity, instead of a rate. [default: 70%]")
    ] = None,
    arrivals: ArrivalsOf = "exponential",
    backlog: Backlog = False,
    threads: Annotated[int | None, whole(TARGET, "Worker threads. [default: the document's]")] = None,
    quantiles: Annotated[str, option(LOAD, "LIST", "Percentiles.")] = "50,95,99,99.9",
    requests: Requests = 1_000_000,
    seed: Seed = 1,
    json_: Json = False,
) -> int:
    """Predict the latency of a clone, with intervals.

    A queue simulator in the engine: exact where theory has an answer. Requests of one seed are the same ones
    that `hindmost clone serve` meets.
    """
    from hindmost.laws import parse_law
    from hindmost.models import load_clone
    from hindmost.models.asked import check_counts, one_load
    from hindmost.models.simulation import Design, simulated
    from hindmost.plan.units import parse_quantiles
    from hindmost.report.simulation.terminal import render_prediction
    from hindmost.store.estimates import encode

    load = one_load(rate, utilisation)
    check_counts(requests, seed)
    loaded = load_clone(clone)
    if threads is not None:
        loaded = loaded.with_changes(threads=threads)
    design = Design(
        requests=requests,
        seed=seed,
        arrivals=parse_law(arrivals),
        quantiles=parse_quantiles(quantiles),
        backlog=backlog,
    )
    found = simulated(loaded, load, design)
    if json_:
        print(encode(found))
    else:
        print(render_prediction(loaded.name, found), end="")
    return Exit.DONE
