"""``hindmost clone simulate``: predict the latency of a clone."""

from __future__ import annotations

from typing import Annotated

from hindmost.cli.options import LOAD, TARGET, Json, integer_option, option
from hindmost.commands.clone.cli.load import ArrivalsOf, Backlog, Requests, Seed
from hindmost.core.exits import Exit


def simulate(
    clone: Annotated[
        str, option(TARGET, None, "A clone document (.toml or .json), or the name of an application.")
    ],
    *,
    rate: Annotated[str | None, option(LOAD, "RATE", "Requests per second, for example 5k.")] = None,
    utilisation: Annotated[
        str | None,
        option(LOAD, "SHARE", "Load as a share of the capacity, instead of a rate. [default: 70%]"),
    ] = None,
    arrivals: ArrivalsOf = "exponential",
    backlog: Backlog = False,
    threads: Annotated[
        int | None, integer_option(TARGET, "Worker threads. [default: the document's]")
    ] = None,
    quantiles: Annotated[str, option(LOAD, "LIST", "Percentiles to predict.")] = "50,95,99,99.9",
    requests: Requests = 1_000_000,
    seed: Seed = 1,
    json_: Json = False,
) -> int:
    """Predict the latency of a clone, with intervals.

    The engine simulates the clone's queue. The result is exact where queueing theory has a closed form. With
    the same seed, `hindmost clone serve` receives the same requests.
    """
    from hindmost.commands.clone.document import load_clone
    from hindmost.commands.clone.questions import check_counts, parse_load
    from hindmost.commands.clone.simulation import Design, simulation_document
    from hindmost.commands.clone.view.simulation import view
    from hindmost.core.laws import parse_law
    from hindmost.core.plan.units import parse_quantiles
    from hindmost.core.store.estimates import encode
    from hindmost.present.terminal import render_terminal

    load = parse_load(rate, utilisation)
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
    found = simulation_document(loaded, load, design)
    if json_:
        print(encode(found))
    else:
        print(render_terminal(view(found)), end="")
    return Exit.DONE
