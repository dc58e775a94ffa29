"""``hindmost clone serve``: run a real server with the timing of a clone document."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from hindmost.cli.options import LOAD, OUTPUT, PROCEDURE, TARGET, Json, integer_option, option, switch
from hindmost.cli.streams import say
from hindmost.commands.clone.cli.load import ArrivalsOf
from hindmost.core.exits import Exit
from hindmost.errors import UsageError


def serve(
    clone: Annotated[
        str, option(TARGET, None, "A clone document (.toml or .json), or the name of an application.")
    ],
    *,
    protocol: Annotated[Literal["memcached", "http"], option(TARGET, None, "Protocol.")] = "memcached",
    address: Annotated[str, option(TARGET, "HOST:PORT", "Address to listen on. Port 0 uses a free port.")] = (
        "127.0.0.1:0"
    ),
    threads: Annotated[
        int | None, integer_option(TARGET, "Worker threads. [default: the document's]")
    ] = None,
    cpus: Annotated[
        str | None, option(TARGET, "LIST", "CPUs to pin the threads to, in turn, for example 0-3.")
    ] = None,
    idle: Annotated[
        Literal["block", "spin"], option(TARGET, None, "How an idle thread waits: block sleeps, spin polls.")
    ] = "block",
    occupy: Annotated[
        Literal["wall", "cpu"], option(TARGET, None, "Whether a service takes wall-clock time or CPU time.")
    ] = "wall",
    seed: Annotated[int, integer_option(PROCEDURE, "Random seed.")] = 1,
    integrated: Annotated[
        bool, switch(LOAD, "Generate requests inside the process, without sockets.", "--integrated")
    ] = False,
    rate: Annotated[
        str | None,
        option(LOAD, "RATE", "With --integrated: requests per second. [default: as fast as possible]"),
    ] = None,
    arrivals: ArrivalsOf = "exponential",
    requests: Annotated[int, integer_option(LOAD, "With --integrated: number of requests.")] = 100_000,
    log: Annotated[
        Path | None, option(OUTPUT, "FILE", "Write the true times of each request to this CSV file.")
    ] = None,
    certificate: Annotated[
        bool, switch(OUTPUT, "Only measure how accurately this host can spin, and exit.", "--certificate")
    ] = False,
    json_: Json = False,
) -> int:
    """Serve a clone: run a real server whose timing follows the document.

    Ctrl-C ends the server, which then prints its account: the true service and queueing times, and the
    interference from this host. Use it to check what a client measures. With --json, the account and the
    certificate are one JSON object.
    """
    from hindmost.commands.clone.document import load_clone
    from hindmost.commands.clone.documents.serving import Serving as Served
    from hindmost.commands.clone.questions import check_counts
    from hindmost.commands.clone.serving import Serving
    from hindmost.commands.clone.view.serving import certificate_lines, view
    from hindmost.core.laws import parse_law
    from hindmost.core.plan.units import parse_rate
    from hindmost.core.store.estimates import encode, to_document
    from hindmost.present.terminal import render_terminal

    check_counts(requests, seed)
    if rate is not None and not integrated:
        raise UsageError(
            "missing-argument",
            "--rate needs --integrated; over sockets, the client sets the rate",
            hint=f"hindmost measure 'synth?clone={clone}' --rate {rate}",
            option="--integrated",
            needed_by="--rate",
        )
    loaded = load_clone(clone)
    if threads is not None:
        loaded = loaded.with_changes(threads=threads)
    serving = Serving(loaded, protocol, address, _processors(cpus), idle, occupy, seed, log)
    found = serving.certificate()
    if certificate and json_:
        print(encode({"schema": "hindmost.certificate/1", **to_document(found)}))
        return Exit.DONE
    say(*certificate_lines(found, loaded.mean_busy_us))
    if certificate:
        return Exit.DONE
    if outside := loaded.document["outside_us"]:
        say(
            f"note[outside-not-served]: outside_us = {outside:g} is not served: kernel and network add their"
            " own time; simulate includes it"
        )
    if integrated:
        account = serving.inside(requests, None if rate is None else parse_rate(rate), parse_law(arrivals))
    else:
        where = f"{loaded.name}, {loaded.threads} thread(s), {protocol}"
        account = serving.over_sockets(lambda at: say(f"{where} at {at}; Ctrl-C ends it"))
    document = Served(
        schema="hindmost.serve/1",
        clone=loaded.name,
        seed=seed,
        outside_us=outside,
        account=account,
        certificate=found,
    )
    if json_:
        print(encode(document))
    else:
        print(render_terminal(view(document)), end="")
    return Exit.DONE


def _processors(cpus: str | None) -> list[int] | None:
    from hindmost.core.targets.cpus import parse_cpus

    try:
        return None if cpus is None else parse_cpus(cpus)
    except ValueError as error:
        raise UsageError(
            "bad-value", f"--cpus {cpus}: {error}", hint="like 0-3 or 0,2", option="--cpus", value=cpus
        ) from None
