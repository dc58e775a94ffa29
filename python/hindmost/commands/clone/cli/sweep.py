"""``hindmost clone sweep``: predict latency against load for many designs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hindmost.cli.options import LOAD, OUTPUT, TARGET, Json, option, switch
from hindmost.cli.streams import say
from hindmost.commands.clone.cli.load import ArrivalsOf, Requests, Seed, need_folder
from hindmost.core.exits import Exit
from hindmost.core.progress import step

if TYPE_CHECKING:
    from hindmost.commands.clone.batch import Elsewhere


def sweep(
    clone: Annotated[
        str, option(TARGET, None, "A clone document (.toml or .json), or the name of an application.")
    ],
    *,
    vary: Annotated[
        list[str] | None,
        option(TARGET, "PATH=VALUES", "Parameter and its values. May be repeated."),
    ] = None,
    together: Annotated[
        bool,
        switch(TARGET, "Vary the parameters together instead of in all combinations.", "--together"),
    ] = False,
    rate: Annotated[
        str | None, option(LOAD, "RATES", "Requests per second, for example 1k,2k or 1k..9k:5.")
    ] = None,
    utilisation: Annotated[
        str | None,
        option(LOAD, "SHARES", "Loads as shares of the capacity, instead of rates. [default: 10%..90%:9]"),
    ] = None,
    arrivals: ArrivalsOf = "exponential",
    find: Annotated[
        str | None,
        option(LOAD, "OBJECTIVE", "Find the last value at which this limit holds, for example p99<500us."),
    ] = None,
    by: Annotated[
        str | None,
        option(
            LOAD,
            "PARAMETER",
            "With --find: parameter to vary: rate, threads, service (a factor) or a path. [default: rate]",
        ),
    ] = None,
    between: Annotated[
        str | None, option(LOAD, "LOW..HIGH", "With --find: range of values to search.")
    ] = None,
    requests: Requests = 100_000,
    fleet: Annotated[
        str | None,
        option(
            LOAD, "HOSTS", "Hosts that run the simulations: a TOML file, or the address of a Dask scheduler."
        ),
    ] = None,
    seed: Seed = 1,
    out: Annotated[Path | None, option(OUTPUT, "PAGE.html", "Write the page to this file.")] = None,
    json_: Json = False,
) -> int:
    """Predict latency against load for many designs of a clone.

    All designs receive the same requests, so differences come from the designs and not from chance.
    """
    from hindmost.commands.clone.document import load_clone
    from hindmost.commands.clone.parameters import parse_vary
    from hindmost.commands.clone.questions import check_counts, sweep_from_text
    from hindmost.commands.clone.simulation import Design
    from hindmost.commands.clone.view.sweep import view
    from hindmost.core.laws import parse_law
    from hindmost.core.store.estimates import encode
    from hindmost.present.page import render_page
    from hindmost.present.terminal import render_terminal

    check_counts(requests, seed)
    if out is not None:
        need_folder("--out", out)
    with _remote_hosts(fleet) as hosts, step("simulating design points") as shown:

        def progress(done: int, count: int) -> None:
            shown.done, shown.total = done, count

        document = sweep_from_text(
            load_clone(clone),
            [parse_vary(one) for one in vary or []],
            together=together,
            rate=rate,
            utilisation=utilisation,
            find=find,
            by=by,
            between=between,
            design=Design(requests=requests, seed=seed, arrivals=parse_law(arrivals)),
            progress=progress,
            elsewhere=hosts,
        )
    if out is not None:
        out.write_text(render_page(view(document)), encoding="utf-8")
    if json_:
        print(encode(document))
    else:
        print(render_terminal(view(document)), end="")
    if out is not None:
        say(f"page: {out}")
    return Exit.DONE


@contextmanager
def _remote_hosts(fleet: str | None) -> Iterator[Elsewhere | None]:
    """Connect to the hosts that simulate. Yield None if this host does."""
    if fleet is None:
        yield None
        return
    from hindmost.commands.clone.batch import WORK
    from hindmost.core.fleet.dask.compute import computing

    with computing(fleet, WORK, lambda note: say(f"note[{note.code}]: {note}")) as machines:
        yield machines
